package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/store"
)

// A timeSpan is the time that a chart covers, and the length of its bars.
type timeSpan struct {
	name, title string
	length, bar time.Duration
}

var spans = []timeSpan{
	{"1h", "1 h", time.Hour, time.Minute},
	{"24h", "24 h", 24 * time.Hour, 30 * time.Minute},
	{"7d", "7 d", 7 * 24 * time.Hour, 4 * time.Hour},
}

// spanOf returns the span of that name; a day by default.
func spanOf(name string) timeSpan {
	if i := slices.IndexFunc(spans, func(s timeSpan) bool { return s.name == name }); i >= 0 {
		return spans[i]
	}
	return spans[1]
}

// began returns when the span that ends now began: with its first bar.
func (s timeSpan) began(now time.Time) time.Time {
	return now.UTC().Truncate(s.bar).Add(s.bar - s.length)
}

// The drawing of a chart, in its own units.
const (
	chartWidth  = 960
	chartHeight = 160
	maxKinds    = 6 // with a colour of their own
)

// otherKinds stands for the kinds beyond [maxKinds].
const otherKinds = "others"

// A chart is failures by kind over time.
type chart struct {
	span  timeSpan
	began time.Time
	kinds []kindTotal // the most frequent first
	bars  []bar
	most  int64 // in a bar
	total int64
}

// A kindTotal is how often a kind of failure occurs in a chart.
type kindTotal struct {
	kind     string
	failures int64
}

// A bar is the failures in a stretch of time.
type bar struct {
	began    time.Time
	failures []int64 // in the order of the chart's kinds
	total    int64
}

// historyChart draws the counts from the journal.
func historyChart(bars []*store.Bar, s timeSpan, now time.Time) *chart {
	return newChart(bars, s, s.began(now))
}

// minutesChart draws what the process has counted in the last hour.
func minutesChart(minutes []minute, now time.Time) *chart {
	s := spans[0]
	began := s.began(now)
	var bars []*store.Bar
	for _, m := range minutes {
		for kind, n := range m.failures {
			if !m.began.Before(began) {
				bars = append(bars, &store.Bar{Began: m.began, Kind: string(kind), Failures: n})
			}
		}
	}
	return newChart(bars, s, began)
}

func newChart(counted []*store.Bar, s timeSpan, began time.Time) *chart {
	c := &chart{span: s, began: began, bars: make([]bar, s.length/s.bar)}
	byKind := map[string]int64{}
	for _, n := range counted {
		byKind[n.Kind] += n.Failures
		c.total += n.Failures
	}
	for kind, n := range byKind {
		c.kinds = append(c.kinds, kindTotal{kind, n})
	}
	slices.SortFunc(c.kinds, func(a, b kindTotal) int {
		return cmp.Or(cmp.Compare(b.failures, a.failures), cmp.Compare(a.kind, b.kind))
	})
	if len(c.kinds) > maxKinds {
		others := kindTotal{kind: otherKinds}
		for _, k := range c.kinds[maxKinds-1:] {
			others.failures += k.failures
		}
		c.kinds = append(c.kinds[:maxKinds-1:maxKinds-1], others)
	}
	for i := range c.bars {
		c.bars[i] = bar{began: began.Add(time.Duration(i) * s.bar), failures: make([]int64, len(c.kinds))}
	}
	for _, n := range counted {
		at := min(max(int(n.Began.Sub(began)/s.bar), 0), len(c.bars)-1)
		kind := slices.IndexFunc(c.kinds, func(k kindTotal) bool { return k.kind == n.Kind })
		if kind < 0 {
			kind = len(c.kinds) - 1
		}
		c.bars[at].failures[kind] += n.Failures
		c.bars[at].total += n.Failures
		c.most = max(c.most, c.bars[at].total)
	}
	return c
}

// A box is a rectangle in the drawing.
type box struct {
	kind                string // its class
	x, y, width, height string
}

// boxes returns the bar as a stack of rectangles.
func (c *chart) boxes(i int) (boxes []box) {
	width := float64(chartWidth) / float64(len(c.bars))
	gap := min(width/4, 3)
	top := float64(chartHeight)
	for k, n := range c.bars[i].failures {
		if n == 0 {
			continue
		}
		height := float64(chartHeight) * float64(n) / float64(c.most)
		top -= height
		boxes = append(boxes, box{
			colour(k), decimals(float64(i)*width + gap/2), decimals(top), decimals(width - gap), decimals(height),
		})
	}
	return boxes
}

// colour returns the class of the k-th kind.
func colour(k int) string { return fmt.Sprintf("kind-%d", k) }

func decimals(f float64) string { return fmt.Sprintf("%.2f", f) }

// said returns a bar in words: "5: 3 timeout, 2 unreachable".
func (c *chart) said(b *bar) string {
	var parts []string
	for k, n := range b.failures {
		if n > 0 {
			parts = append(parts, grouped(n)+" "+c.kinds[k].kind)
		}
	}
	return strings.Join(parts, ", ")
}

// label returns when a bar began.
func (c *chart) label(at time.Time) string {
	if c.span.length > 24*time.Hour {
		return at.UTC().Format("2 Jan 15:04")
	}
	return at.UTC().Format("15:04")
}

// summary describes the chart to those who cannot see it.
func (c *chart) summary() string {
	parts := make([]string, len(c.kinds))
	for i, k := range c.kinds {
		parts[i] = grouped(k.failures) + " " + k.kind
	}
	return fmt.Sprintf("%s since %s UTC: %s", counted(c.total, "failure", "failures"), c.label(c.began), strings.Join(parts, ", "))
}
