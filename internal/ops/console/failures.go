package console

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/ops/journal"
)

const failuresPath = "/failures"

// A failureList is the page about calls that have failed.
type failureList struct {
	*query

	now    time.Time
	calls  []*journal.Row  // the latest first
	groups []*failureGroup // of equal failures, if these are asked for
	many   int             // how many groups there are
	more   bool
	total  int64 // that match
	looked int64 // that were counted
	facets []facet
	kept   bool  // there are failures, selected or not
	seen   int64 // the Seq of the latest failure that the reader has seen; 0: none is marked as new
	news   int   // how many are new since then

	back  time.Time // only failures since then were counted, and searched for the text; zero: all were
	depth int64     // the Seq down to which failures were compared with the filters; 0: all were
}

// failures lists failed calls.
func (c *Console) failures(r *http.Request) (*view, error) {
	if c.Journal == nil {
		return &view{title: "Failures", body: noJournal()}, nil
	}
	q, err := readQuery(r, c.now())
	if err != nil {
		return nil, err
	}
	list, err := c.list(r.Context(), q)
	if err != nil {
		return nil, err
	}
	return &view{title: "Failures", body: failuresPage(list), search: q.Text}, nil
}

// list reads the failures that match a query.
func (c *Console) list(ctx context.Context, q *query) (*failureList, error) {
	done, err := c.reading(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	page, err := journal.Failures(ctx, c.Journal, &q.Filter)
	if err != nil {
		return nil, err
	}
	l := &failureList{
		query: q, now: c.now(), calls: page.Calls, more: page.More, kept: len(page.Counts) > 0, back: page.Since, depth: page.Back,
	}
	if q.grouped {
		if l.groups, l.many, err = c.groups(ctx, &q.Filter); err != nil {
			return nil, err
		}
	}
	l.facets, l.total = q.facets(page.Counts)
	for i := range page.Counts {
		l.looked += page.Counts[i].Failures
	}
	return l, nil
}

// latest returns the Seq of the latest failure on the page.
func (l *failureList) latest() int64 {
	if len(l.calls) == 0 {
		return 0
	}
	return l.calls[0].Seq
}

// older returns the URL of the next page.
func (l *failureList) older() templ.SafeURL {
	return l.at(failuresPath, paramBefore, strconv.FormatInt(l.calls[len(l.calls)-1].Seq, 10))
}

// ends reports whether older failures have not been looked at.
func (l *failureList) ends() bool { return l.Text != "" && !l.back.IsZero() || l.depth != 0 }

// furtherBack returns the URL that looks at older failures.
func (l *failureList) furtherBack() templ.SafeURL {
	if l.depth != 0 {
		return l.at(failuresPath, paramBefore, strconv.FormatInt(l.depth, 10))
	}
	return l.at(failuresPath, paramUntil, l.back.Format(time.RFC3339Nano))
}

// follows reports whether new failures appear on the page.
func (l *failureList) follows() bool { return l.Before == 0 && l.until == "" && !l.grouped }

// liveURL returns where the page is informed of new failures.
func (l *failureList) liveURL() string {
	return string(l.at(failuresPath+"/live", "seen", strconv.FormatInt(max(l.latest(), 1), 10)))
}

// A period is a time to which a list can be limited.
type period struct{ since, name, text string }

var periods = []period{
	{"15m", "15 min", "in the last 15 minutes"},
	{"1h", "1 h", "in the last hour"},
	{"24h", "24 h", "in the last 24 hours"},
	{"7d", "7 d", "in the last 7 days"},
	{"", "All", "in the journal"},
}

// counted says how many failures match, or how many of the latest do.
func (l *failureList) counted() string {
	switch {
	case l.back.IsZero() || l.Text != "":
		return counted(l.total, "failure", "failures")
	case l.narrowed():
		return grouped(l.total) + " of the latest " + counted(l.looked, "failure", "failures")
	default:
		return "The latest " + counted(l.looked, "failure", "failures")
	}
}

// when describes the time that the counts cover.
func (l *failureList) when() string {
	since := l.back
	if since.IsZero() {
		for _, p := range periods {
			if p.since == l.since && l.until == "" {
				return p.text
			}
		}
		since = l.Since
	}
	var said []string
	if !since.IsZero() {
		said = append(said, "since "+since.UTC().Format("2006-01-02 15:04 UTC"))
	}
	if !l.Until.IsZero() {
		said = append(said, "until "+l.Until.UTC().Format("2006-01-02 15:04 UTC"))
	}
	return strings.Join(said, " ")
}

// formTime formats an instant for a browser's form.
func formTime(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04")
}

// callURL returns the page about a call.
func callURL(id string) templ.SafeURL { return templ.SafeURL("/calls/" + url.PathEscape(id)) }

// subject says what was called.
func subject(c *journal.Row) string { return cmp.Or(c.Tool, c.Name, c.Method, "a request") }

// counted formats a number of things.
func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + many
}

// grouped formats a number with separated thousands.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// tone returns the severity of a failure, for its colour.
func tone(e *recourse.Error) string {
	switch {
	case e.Effect == recourse.EffectUnknown:
		return "grave"
	case e.Kind.Class() == recourse.ClassInput, e.Kind.Class() == recourse.ClassResource, e.Origin == recourse.OriginCaller:
		return "mild"
	default:
		return "bad"
	}
}
