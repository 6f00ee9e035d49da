package console

import (
	"maps"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/observe"
)

// A Tally counts calls by server since the process began: an observer of the gateway.
type Tally struct {
	began time.Time

	mu      sync.Mutex
	servers map[string]*tally
}

var _ observe.Observer = (*Tally)(nil)

// NewTally returns an empty tally.
func NewTally() *Tally { return &Tally{began: time.Now(), servers: map[string]*tally{}} }

// A tally counts the calls of one server.
type tally struct {
	calls, failures int64
	seeming         int64     // calls that said success and look failed
	line            string    // of the configuration that would have had the last of them told
	took            histogram // for calls that were sent
	answers         answering
	minutes         [60]minute
}

// answering says whether a server answered its last call.
type answering struct {
	called bool
	does   bool
	since  time.Time     // it has been so
	why    recourse.Kind // it does not
}

// A minute counts the failures in one of the last sixty minutes.
type minute struct {
	began    time.Time
	failures map[recourse.Kind]int64
}

// Ended implements [observe.Observer].
func (t *Tally) Ended(o *observe.Outcome) {
	if o.Server == "" || o.Method == "" {
		return
	}
	ended := o.Began.Add(o.Took)
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.servers[o.Server]
	if s == nil {
		s = new(tally)
		t.servers[o.Server] = s
	}
	s.calls++
	if o.Sent > 0 {
		s.took.add(o.Took)
	}
	if n := len(o.Attempts); n > 0 {
		s.answers.note(&o.Attempts[n-1], ended)
	}
	if o.Seeming != nil {
		s.seeming++
		s.line = o.Seeming.Line
	}
	if o.Record == nil {
		return
	}
	s.failures++
	began := ended.Truncate(time.Minute)
	m := &s.minutes[began.Unix()/60%int64(len(s.minutes))]
	if m.failures == nil || !m.began.Equal(began) {
		*m = minute{began, map[recourse.Kind]int64{}}
	}
	m.failures[o.Record.Kind]++
}

// note learns from an attempt whether the server answers.
func (a *answering) note(last *observe.Attempt, at time.Time) {
	does := last.Status != 0 || last.Failure == ""
	if !a.called || a.does != does {
		*a = answering{called: true, does: does, since: at}
	}
	a.why = last.Failure
}

// of returns a copy of what is known about a server.
func (t *Tally) of(server string) tally {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.servers[server]
	if s == nil {
		return tally{}
	}
	now := *s
	for i := range now.minutes {
		now.minutes[i].failures = maps.Clone(now.minutes[i].failures)
	}
	return now
}

// A histogram counts durations in buckets, each an eighth wider than the one before.
type histogram struct {
	counts [parts * 32]int64
	total  int64
}

// parts is how many buckets there are for each power of two of microseconds.
const parts = 8

func (h *histogram) add(d time.Duration) {
	us := uint64(max(d.Microseconds(), 1))
	power := bits.Len64(us) - 1
	part := us<<3>>power - parts // the three bits behind the first
	h.counts[min(power*parts+int(part), len(h.counts)-1)]++
	h.total++
}

// quantile returns the approximate duration that this share of all does not exceed.
func (h *histogram) quantile(q float64) time.Duration {
	rank := int64(q * float64(h.total))
	i := slices.IndexFunc(h.counts[:], func(n int64) bool { rank -= n; return rank < 0 })
	if i < 0 {
		return 0
	}
	power, part := i/parts, i%parts
	return time.Duration(float64(int64(1)<<power)*(1+(float64(part)+.5)/parts)) * time.Microsecond
}
