package console

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/store"
)

// A query says which failures a page shows. It is encoded in the page's URL.
type query struct {
	store.Filter

	since, until string // as in the URL
	grouped      bool   // equal failures are one
}

// perPage is how many failures a page lists.
const perPage = 50

// Parameters of a URL.
const (
	paramServer = "server"
	paramTool   = "tool"
	paramKind   = "kind"
	paramOrigin = "origin"
	paramCaller = "caller"
	paramText   = "text"
	paramSince  = "since"
	paramUntil  = "until"
	paramBefore = "before"
	paramState  = "state"
	paramSort   = "sort"
	paramGroup  = "group"
)

// readQuery reads a URL.
func readQuery(r *http.Request, now time.Time) (*query, error) {
	from := r.URL.Query()
	q := &query{
		since: from.Get(paramSince), until: from.Get(paramUntil), grouped: from.Get(paramGroup) == byEqual,
		Filter: store.Filter{
			Server: from.Get(paramServer), Tool: from.Get(paramTool), Kind: from.Get(paramKind), Origin: from.Get(paramOrigin),
			Caller: from.Get(paramCaller), Text: from.Get(paramText), Limit: perPage,
		},
	}
	for _, at := range []struct {
		text string
		to   *time.Time
	}{{q.since, &q.Since}, {q.until, &q.Until}} {
		if at.text == "" {
			continue
		}
		when, ok := instantOf(at.text, now)
		if !ok {
			return nil, &problem{
				http.StatusBadRequest, `"` + shown(at.text) + `" is not a time.`, "Write it as 30m, 12h, 7d or 2026-11-23T10:00:00Z.",
			}
		}
		*at.to = when
	}
	if before := from.Get(paramBefore); before != "" {
		seq, err := strconv.ParseInt(before, 10, 64)
		if err != nil {
			return nil, &problem{http.StatusBadRequest, "There is no such page of the list.", "Start at the first page."}
		}
		q.Before = seq
	}
	return q, nil
}

// instantOf parses a time in UTC, as people write it or as a browser's form sends it.
func instantOf(text string, now time.Time) (time.Time, bool) {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return journal.When(text, now)
}

// A param is a parameter of a URL.
type param struct{ name, value string }

// params returns the parameters of the query's URL, except for paging.
func (q *query) params() []param {
	all := []param{
		{paramServer, q.Server},
		{paramTool, q.Tool},
		{paramKind, q.Kind},
		{paramOrigin, q.Origin},
		{paramCaller, q.Caller},
		{paramText, q.Text},
		{paramSince, q.since},
		{paramUntil, q.until},
		{paramGroup, q.group()},
	}
	return slices.DeleteFunc(all, func(p param) bool { return p.value == "" })
}

// at returns the URL of a path for the query with some parameters changed, given as pairs of name and value;
// an empty value removes one.
func (q *query) at(path string, changes ...string) templ.SafeURL {
	values := url.Values{}
	for _, p := range q.params() {
		values.Set(p.name, p.value)
	}
	for i := 0; i+1 < len(changes); i += 2 {
		if changes[i+1] == "" {
			values.Del(changes[i])
		} else {
			values.Set(changes[i], changes[i+1])
		}
	}
	if len(values) == 0 {
		return templ.SafeURL(path)
	}
	return templ.SafeURL(path + "?" + values.Encode())
}

// group is the view, as in the URL.
func (q *query) group() string {
	if q.grouped {
		return byEqual
	}
	return ""
}

// narrowed reports whether the query limits anything but the time.
func (q *query) narrowed() bool {
	return q.Server != "" || q.Tool != "" || q.Kind != "" || q.Origin != "" || q.Caller != "" || q.Text != ""
}
