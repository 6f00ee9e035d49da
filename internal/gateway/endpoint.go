package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/auth/grant"
	"github.com/recoursehq/recourse/internal/config"
	door "github.com/recoursehq/recourse/internal/endpoint"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/redact"
	"github.com/recoursehq/recourse/internal/wire"
)

// An endpoint is where clients reach a server: a path, with its contract and masking. It does not
// change.
type endpoint struct {
	*config.Server

	target *target

	contract  *contract.Contract
	manner    manner
	redact    redact.Mode
	secrets   func() []string // from the entry: headers, URL, command, environment
	forward   []string        // canonical names of the client's headers that are forwarded
	asked     []string        // headers that must hold credentials
	userParam string          // the path's placeholder for the user; "": none
	many      *manyServers    // that it offers; nil: it has a single one
	limits    *limits.Limits  // nil: there are none
	access    *access.Access  // who may call; nil: everybody
	grants    grant.Grants    // what they may do; nil: everything
}

// newEndpoint returns an entry's endpoint in t. old is the endpoint of that name from before the reload, or
// nil, and is returned itself if nothing has changed.
func newEndpoint(g *Gateway, t *table, entry *config.Server, old *endpoint) (*endpoint, error) {
	on := &endpoint{Server: entry, manner: enforcing{}}
	to, err := on.begin(g, t, old)
	if err != nil {
		return nil, err
	}
	if old != nil && on.access == old.access && old.Same(entry) && old.target.reader.Same(to.reader) {
		return old, nil
	}
	if on.redact, err = redact.ParseMode(string(entry.Redact)); err != nil {
		return nil, err
	}
	on.secrets = sync.OnceValue(func() []string {
		return slices.Concat(redact.Environ(environ(entry)), redact.Headers(entry.Headers),
			redact.URL(entry.URL), redact.Command(entry.Command), redact.Headers(entry.Query))
	})
	if err := to.connect(g, on, old); err != nil {
		return nil, err
	}
	on.target, on.limits = to, limits.New(entry)
	if entry.Mode == config.ModeObserve {
		if on.manner = (observing{}); entry.API == nil { // which speaks one era only
			to.up = to.direct
		}
		return on, nil
	}
	on.ask()
	return on, nil
}

// begin sets what every endpoint has: its contract, who may call it, and what they may do. It returns the
// target, which is not connected yet.
func (on *endpoint) begin(g *Gateway, t *table, old *endpoint) (*target, error) {
	on.forward = canonical(on.Forward)
	var ok bool
	if on.contract, ok = t.contracts.Get(on.Contract); !ok {
		return nil, fmt.Errorf("there is no contract %s", on.Contract)
	}
	var before *access.Access
	if old != nil {
		before = old.access
	}
	var err error
	if on.access, err = access.New(t.config, on.Access, access.Sources{Issuers: g.issuers, Keys: g.reach.Keys}, before); err != nil {
		return nil, err
	}
	if on.grants, err = config.Grants(on.Grants); err != nil {
		return nil, err
	}
	return newTarget(g, on, t.contracts)
}

// ask sets what a request must contain: a user in its path, and headers with credentials. If access asks for
// credentials of its own, the contract's are only required if they are forwarded.
func (on *endpoint) ask() {
	path, _ := door.NewUserPath(on.Path)
	on.userParam, on.asked = path.Param, on.contract.Session.Credentials
	if on.access != nil {
		on.asked = slices.DeleteFunc(slices.Clone(on.asked), func(name string) bool { return !on.forwards(http.CanonicalHeaderKey(name)) })
	}
}

// canonical returns header names as net/http stores them.
func canonical(names []string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = http.CanonicalHeaderKey(name)
	}
	return keys
}

// forwards reports whether the client's own header is sent to the server.
func (on *endpoint) forwards(header string) bool { return slices.Contains(on.forward, header) }

// find returns the endpoint at the path of a URL, and the user in the path. A path that begins like an
// endpoint's but continues differently belongs to that endpoint as well: its contract says what to answer if
// the user is invalid.
func (t *table) find(u *url.URL) (on *endpoint, user string, ok bool) {
	escaped := u.EscapedPath()
	plain := !strings.Contains(u.Path, "{") && !strings.Contains(strings.ToLower(escaped), "%2f") // an escaped slash is not a separator
	if on, ok = t.endpoints[u.Path]; ok && plain {
		return on, "", true
	}
	on = nil
	for i := range t.userPaths {
		named, fit := t.userPaths[i].User(escaped)
		switch {
		case fit == door.Fits:
			return t.userPaths[i].endpoint, named, true
		case fit == door.Begins && on == nil:
			on, user = t.userPaths[i].endpoint, named+"/"
		}
	}
	return on, user, on != nil
}

// An Entrance is what a client needs to call a tool.
type Entrance struct {
	URL    string
	Access config.Access      // the entry by which the caller was let in; its zero value: there is none
	Params []wire.ParamHeader // arguments that are repeated in headers, as far as the server's tools are known
}

// Entrance returns that of a server's or an endpoint's tool, for a caller whom an entry of access control has
// let in. ok is false if clients reach the server through other endpoints only.
func (g *Gateway) Entrance(name, tool, letInBy string) (e Entrance, ok bool) {
	t := g.table.Load()
	on := t.named[name]
	if on == nil || on.Path == config.PathNone {
		return e, false
	}
	e.URL = g.URL() + on.Path
	e.Access, _ = t.config.Access.Get(letInBy)
	if on.target.tools != nil {
		e.Params = on.target.tools.Params(tool)
	}
	return e, true
}
