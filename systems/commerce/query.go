package commerce

import (
	"time"

	"github.com/recoursehq/recourse"
)

const (
	// maxPage bounds Page.PageSize, and defaultPage is what it is unless said otherwise.
	maxPage, defaultPage = 100, 10
	// maxSkip bounds Page.Skip.
	maxSkip = 1_000_000
)

// A query is what a tool finds things by.
type query interface {
	page() Page
	period() Period
}

func (p Page) page() Page { return p }

// size returns how many items the page has at most.
func (p Page) size() int {
	if p.PageSize == nil {
		return defaultPage
	}
	return *p.PageSize
}

// period is that of a query without one: all the time.
func (Page) period() Period { return Period{} }

func (q OrderQuery) period() Period       { return q.Period }
func (q FulfillmentQuery) period() Period { return q.Period }
func (q ReturnQuery) period() Period      { return q.Period }

// checkQuery finds what no schema of a query says.
func checkQuery(q query) error {
	var c checker
	p := q.page()
	c.within("pageSize", p.size(), 1, maxPage)
	c.within("skip", p.Skip, 0, maxSkip)
	t := q.period()
	for _, at := range []struct{ param, value string }{
		{"createdAtMin", t.CreatedAtMin},
		{"createdAtMax", t.CreatedAtMax},
		{"updatedAtMin", t.UpdatedAtMin},
		{"updatedAtMax", t.UpdatedAtMax},
	} {
		if _, err := time.Parse(time.RFC3339, at.value); at.value != "" && err != nil {
			c.add(recourse.InvalidValue(at.param, "a date and time in the form of RFC 3339, such as 2026-02-01T00:00:00Z", nil), "format")
		}
	}
	return c.err()
}

// holds reports whether something that was created and changed then is of the period.
func (t Period) holds(created, updated time.Time) bool {
	return between(t.CreatedAtMin, created, t.CreatedAtMax) && between(t.UpdatedAtMin, updated, t.UpdatedAtMax)
}

// between reports whether a time lies between two, where those are given. They were
// checked.
func between(from string, at time.Time, to string) bool {
	least, err := time.Parse(time.RFC3339, from)
	if err == nil && at.Before(least) {
		return false
	}
	most, err := time.Parse(time.RFC3339, to)
	return err != nil || !at.After(most)
}
