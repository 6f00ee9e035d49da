package commerce

import (
	"time"

	"github.com/recoursehq/recourse"
)

const (
	// maxPage limits Page.PageSize, and defaultPage is its default.
	maxPage, defaultPage = 100, 10
	// maxSkip limits Page.Skip.
	maxSkip = 1_000_000
)

// A query holds the search arguments of a tool.
type query interface {
	page() Page
	period() Period
}

func (p Page) page() Page { return p }

// size returns the maximum number of items on the page.
func (p Page) size() int {
	if p.PageSize == nil {
		return defaultPage
	}
	return *p.PageSize
}

// period is the period of a query without one: all time.
func (Page) period() Period { return Period{} }

func (q OrderQuery) period() Period       { return q.Period }
func (q FulfillmentQuery) period() Period { return q.Period }
func (q ReturnQuery) period() Period      { return q.Period }

// checkQuery checks what a schema cannot express.
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

// holds reports whether the period covers something that was created and changed at these times.
func (t Period) holds(created, updated time.Time) bool {
	return between(t.CreatedAtMin, created, t.CreatedAtMax) && between(t.UpdatedAtMin, updated, t.UpdatedAtMax)
}

// between reports whether a time lies between two, if they are given. They have already been checked.
func between(from string, at time.Time, to string) bool {
	least, err := time.Parse(time.RFC3339, from)
	if err == nil && at.Before(least) {
		return false
	}
	most, err := time.Parse(time.RFC3339, to)
	return err != nil || !at.After(most)
}
