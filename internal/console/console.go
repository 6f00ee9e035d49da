package console

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/recoursehq/recourse/internal/store"
)

// Sources are the parts of the program that the console shows. What is nil is not there.
type Sources struct {
	Journal *store.Journal
}

// Console is the pages. It is safe for concurrent use.
type Console struct {
	Sources

	log *slog.Logger
	now func() time.Time
}

// New returns the console of a gateway.
func New(from Sources, log *slog.Logger) *Console {
	return &Console{Sources: from, log: log, now: time.Now}
}

// A route is a page.
type route struct {
	pattern string // of [http.ServeMux]
	name    string // in the navigation; "": it is not there
	serve   func(c *Console, r *http.Request) (*view, error)
}

// routes are the pages, in the order of the navigation.
func routes() []route {
	return []route{
		{"GET /failures", "Failures", (*Console).failures},
	}
}

// Handler returns what serves the pages, at paths from the root.
func (c *Console) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler("/failures", http.StatusSeeOther))
	mux.HandleFunc("GET "+staticPrefix+"{name}", serveStatic)
	for _, at := range routes() {
		mux.HandleFunc(at.pattern, c.page(at))
	}
	mux.HandleFunc("/", c.page(route{serve: (*Console).missing}))
	return guard(mux)
}
