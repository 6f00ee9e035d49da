package console

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/store"
)

// htmxConfig stops htmx from doing what the policy forbids, and from closing what a reader has opened.
const htmxConfig = `{"includeIndicatorCSS": false, "history": false, "extensions": "sse", "morphIgnore": ["data-htmx-powered", "open"]}`

// pageTime limits how long a page may take: the store serves calls, too.
const pageTime = 5 * time.Second

// A view is the content of a page within the frame.
type view struct {
	title  string
	status int    // 0: 200
	search string // content of the search box
	to     string // "": show the page; otherwise the browser is redirected there
	bare   bool   // without the navigation
	body   templ.Component

	path, under string // of the route
}

// A frame is what all pages share.
type frame struct {
	*view

	entries  []navLink
	operator string // "": there is no sign-in
}

// A navLink is a link in the navigation.
type navLink struct {
	name, path string
	here       bool
}

// A problem is an error whose page says what to do.
type problem struct {
	status     int
	what, hint string
}

// Error implements error.
func (p *problem) Error() string { return p.what }

func (*Console) missing(*http.Request) (*view, error) {
	return nil, &problem{http.StatusNotFound, "There is no such page.", "The pages are at the top."}
}

// page serves a page in its frame.
func (c *Console) page(at route) http.HandlerFunc {
	_, path, _ := strings.Cut(at.pattern, " ")
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pageTime)
		defer cancel()
		v, err := at.serve(c, r.WithContext(ctx))
		if err != nil {
			v = c.trouble(r, err)
		}
		v.path, v.under = path, at.under
		c.show(w, r, v)
	}
}

// bare shows an error to someone who was not let in.
func (c *Console) bare(w http.ResponseWriter, r *http.Request, err error) {
	v := c.trouble(r, err)
	v.bare = true
	c.show(w, r, v)
}

// show answers with a page in its frame.
func (c *Console) show(w http.ResponseWriter, r *http.Request, v *view) {
	if v.to != "" {
		http.Redirect(w, r, v.to, http.StatusSeeOther)
		return
	}
	f := frame{view: v, operator: operatorOf(r)}
	for _, other := range routes() {
		if other.name != "" && !v.bare {
			_, to, _ := strings.Cut(other.pattern, " ")
			f.entries = append(f.entries, navLink{other.name, to, to == v.path || to == v.under})
		}
	}
	var page bytes.Buffer
	if err := layout(&f).Render(r.Context(), &page); err != nil {
		c.log.LogAttrs(r.Context(), slog.LevelError, "a page of the console cannot be shown", slog.String("cause", err.Error()))
		http.Error(w, "This page cannot be shown: the gateway's log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if v.status != 0 {
		w.WriteHeader(v.status)
	}
	_, _ = w.Write(page.Bytes()) // a browser that has gone needs no page
}

// trouble returns the page about an error.
func (c *Console) trouble(r *http.Request, err error) *view {
	p, told := errors.AsType[*problem](err)
	switch {
	case told:
	case errors.Is(err, context.DeadlineExceeded):
		p = &problem{http.StatusGatewayTimeout, "The store did not answer in time.", "Try again, or choose a shorter time."}
	case errors.Is(err, store.ErrNone):
		p = &problem{http.StatusNotFound, "There is no such call.", ""}
	default:
		c.log.LogAttrs(r.Context(), slog.LevelWarn, "the console cannot read the store", slog.String("cause", redact.Log(err.Error())))
		p = &problem{
			http.StatusServiceUnavailable, "The store cannot be read.",
			"Calls go on. /readyz names what does not work, and the gateway's log says why.",
		}
	}
	return &view{title: p.what, status: p.status, body: problemPage(p)}
}
