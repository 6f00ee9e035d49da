package admin

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// What an answer of /metrics may take, in bytes, at most about 5 MB. Series come first, and stay: while there is room, each call
// counts with all its labels. After that, those that name a server, a tool, a policy or a reason are other; and when even their room
// is used up, all labels are.
const (
	forSeries  = 3 << 20
	forOthers  = 512 << 10
	forFigures = 1 << 20 // what is read from its sources: see [scrape]
)

// open are the labels whose values are many.
var open = []string{"server", "gen_ai_tool_name", "policy", "reason", "tools"}

func isOpen(label string) bool { return slices.Contains(open, label) }

// A room bounds the series. It is safe for concurrent use.
type room struct {
	mu             sync.RWMutex
	series, others int // bytes that are left
	known          map[string]bool
}

func newRoom() *room {
	return &room{series: forSeries, others: forOthers, known: map[string]bool{}}
}

// A family is a metric whose series are bounded.
type family struct {
	*room

	name    string
	labels  []string
	buckets int
}

// within returns the values of the labels with which something counts: its own ones, if there is room.
func (f *family) within(values []string) []string {
	key := f.key(values)
	f.mu.RLock()
	known := f.known[key]
	f.mu.RUnlock()
	if known {
		return values
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.admit(&f.series, values) {
		return values
	}
	values = slices.Clone(values)
	for i, label := range f.labels {
		if isOpen(label) {
			values[i] = other
		}
	}
	if f.admit(&f.others, values) {
		return values
	}
	return slices.Repeat([]string{other}, len(values))
}

func (f *family) key(values []string) string { return f.name + "\xff" + strings.Join(values, "\xff") }

// admit reports whether a series is known, or there is room for it.
func (f *family) admit(left *int, values []string) bool {
	key, size := f.key(values), f.size(values)
	if !f.known[key] && *left >= size {
		*left -= size
		f.known[strings.Clone(key)] = true
	}
	return f.known[key]
}

// size returns about how many bytes a series takes.
func (f *family) size(values []string) int {
	line := len(f.name) + len(" 1.2345678e+09\n")
	for i, label := range f.labels {
		line += len(label) + len(values[i]) + len(`="",`)
	}
	if f.buckets == 0 {
		return line
	}
	return (f.buckets + 3) * (line + len(`_bucket,le="0.005"`)) // with +Inf, the sum and the number
}

// A histogram is bounded, and so is a counted.
type histogram struct {
	*prometheus.HistogramVec
	family
}

func (h *histogram) of(values ...string) prometheus.Observer {
	return h.WithLabelValues(h.within(values)...)
}

type counted struct {
	*prometheus.CounterVec
	family
}

func (c *counted) of(values ...string) prometheus.Counter {
	return c.WithLabelValues(c.within(values)...)
}
