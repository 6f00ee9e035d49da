package console

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/recoursehq/recourse/internal/store"
)

// Sources are the parts of the program that the console shows. Those that are nil do not exist.
type Sources struct {
	Journal *store.Journal
	Once    *store.Once
	Pins    *store.Pins
	// Gateway is the gateway to show, and Tally an observer of it.
	Gateway  Gateway
	Tally    *Tally
	Accounts Accounts
}

// Console serves the pages. It is safe for concurrent use.
type Console struct {
	Sources

	log     *slog.Logger
	now     func() time.Time
	readers chan struct{} // holds a token for each page that reads the store
	streams chan struct{} // and for each page that is informed of new failures
	login   *signIns      // nil: there is no sign-in
}

// maxReaders limits how many pages read the store at a time: calls need it, too.
const maxReaders = 2

// New returns the console of a gateway.
func New(from Sources, log *slog.Logger) *Console {
	return &Console{
		Sources: from, log: log, now: time.Now, readers: make(chan struct{}, maxReaders), streams: make(chan struct{}, maxStreams),
	}
}

// reading waits for its turn to read the store, which lasts until done is called. Nobody may wait for a
// second turn during the first.
func (c *Console) reading(ctx context.Context) (done func(), err error) {
	select {
	case c.readers <- struct{}{}:
		return func() { <-c.readers }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A route is a page.
type route struct {
	pattern string // of [http.ServeMux]
	name    string // in the navigation; "": not shown there
	under   string // the path of the navigation entry that it belongs to
	serve   func(c *Console, r *http.Request) (*view, error)
}

// routes are the pages, in navigation order.
func routes() []route {
	return []route{
		{pattern: "GET " + failuresPath, name: "Failures", serve: (*Console).failures},
		{pattern: "GET /calls/{id}", under: failuresPath, serve: (*Console).call},
		{pattern: "POST /calls/{id}" + settlePath, under: failuresPath, serve: (*Console).settle},
		{pattern: "GET " + serversPath, name: "Servers", serve: (*Console).serverList},
		{pattern: "GET " + serversPath + "/{name}", under: serversPath, serve: (*Console).server},
		{pattern: "POST " + serversPath + "/{name}" + acceptPath, under: serversPath, serve: (*Console).accept},
		{pattern: "POST " + serversPath + "/{name}" + closePath, under: serversPath, serve: (*Console).closeBreaker},
		{pattern: "GET " + contractsPath, name: "Contracts", serve: (*Console).contractList},
		{pattern: "GET " + contractsPath + "/{name}", under: contractsPath, serve: (*Console).contract},
		{pattern: "GET " + contractsPath + "/{name}/codes/{code}", under: contractsPath, serve: (*Console).code},
		{pattern: "GET " + connectionsPath, name: "Connections", serve: (*Console).connections},
		{pattern: "GET " + disconnectPath, under: connectionsPath, serve: (*Console).disconnecting},
		{pattern: "POST " + disconnectPath, under: connectionsPath, serve: (*Console).disconnect},
		{pattern: "POST " + linkPath, under: connectionsPath, serve: (*Console).link},
		{pattern: "GET " + actionsPath, name: "Actions", serve: (*Console).actions},
		{pattern: "GET " + searchPath, serve: (*Console).search},
		{pattern: "POST " + searchPath, serve: (*Console).search},
	}
}

// Handler returns the handler for the pages, at paths from the root.
func (c *Console) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler("/failures", http.StatusSeeOther))
	mux.HandleFunc("GET "+staticPrefix+"{name}", serveStatic)
	mux.HandleFunc("GET "+failuresPath+"/live", c.live)
	mux.HandleFunc("GET "+loginPath, c.page(route{serve: (*Console).loginForm}))
	mux.HandleFunc("POST "+loginPath, c.signIn)
	mux.HandleFunc("POST "+logoutPath, c.signOut)
	for _, at := range routes() {
		mux.HandleFunc(at.pattern, c.page(at))
	}
	mux.HandleFunc("/", c.page(route{serve: (*Console).missing}))
	return guard(c.admit(mux))
}
