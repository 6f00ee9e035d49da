package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/backend"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/policy/auth/grant"
	"github.com/recoursehq/recourse/internal/policy/pin"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/api"
	"github.com/recoursehq/recourse/internal/upstream/many"
	"github.com/recoursehq/recourse/retry"
)

// An endpoint is where clients reach a server: a path, with its contract and masking, how the server is reached, and how
// its answers are read. It is immutable.
type endpoint struct {
	g     *Gateway
	entry *config.Server

	backend  *backend.Backend // what is kept of the server across reloads
	guard    guard
	up       upstream.Connection
	reader   *failures.Reader
	policy   retry.Policy
	timedOut func(within time.Duration) error // makes the failure for a call without an answer

	contract  *contract.Contract
	mode      mode
	passes    func(header string) bool // reports whether a header of the server's answer is passed on
	work      next                     // the stages that carry a call out
	checks    bool                     // headers that mirror arguments are compared with them, and states are bound to their callers
	redact    redact.Mode
	secrets   func() []string // from the entry: headers, URL, command, environment
	forward   []string        // canonical names of the client's headers that are forwarded
	asked     []string        // headers that must hold credentials
	userParam string          // the path's placeholder for the user; "": none
	many      *manyServers    // that it offers; nil: it has a single one
	source    *many.Source    // as its last answers are kept; nil: they are not
	pins      *pin.Guardian   // of its tools; nil: they are not pinned
	limits    *limits.Limits  // nil: there are none
	access    *access.Access  // who may call; nil: everybody
	users     *access.Users   // whom callers may be; nil: anybody
	grants    grant.Grants    // what they may do; nil: everything
}

// newEndpoint returns an entry's endpoint in t. old is the endpoint of that name from before the reload, or
// nil, and is returned itself if nothing has changed.
func newEndpoint(g *Gateway, t *table, entry *config.Server, old *endpoint) (*endpoint, error) {
	on := &endpoint{entry: entry, g: g}
	err := on.begin(t, old)
	if err != nil {
		return nil, err
	}
	if old != nil && on.access == old.access && old.entry.Same(entry) && old.reader.Same(on.reader) {
		return old, nil
	}
	if on.redact, err = redact.ParseMode(string(entry.Redact)); err != nil {
		return nil, err
	}
	if on.pins, err = g.pinsOf(entry); err != nil {
		return nil, err
	}
	on.secrets = sync.OnceValue(func() []string {
		return slices.Concat(redact.Environ(backend.Environ(entry)), redact.Headers(entry.Headers),
			redact.URL(entry.URL), redact.Command(entry.Command), redact.Headers(entry.Query), beside(entry))
	})
	if err := on.connect(old); err != nil {
		return nil, err
	}
	on.limits = limits.New(entry)
	if entry.Mode == config.ModeObserve {
		on.take(observing{}, answer.PassesUnchanged, observed, observedSteps)
		if entry.API == nil { // which speaks one era only
			on.up = on.backend.Direct
		}
		return on, nil
	}
	on.take(enforcing{}, answer.PassesBack, enforced, steps)
	on.checks = true
	on.ask()
	on.source = on.newSource()
	return on, nil
}

// take has calls take the stages of a mode.
func (on *endpoint) take(mode mode, passes func(header string) bool, work []stage, steps []step) {
	on.mode, on.passes, on.work = mode, passes, pipeline(work, steps)
}

// beside returns the secrets that stand beside the place for the user, as in `Bearer SECRET-{user_id}`.
func beside(entry *config.Server) (secrets []string) {
	if entry.UserPlace == "" {
		return nil
	}
	const least = 8 // so that no word is taken for one
	for _, values := range []map[string]string{entry.Headers, entry.Query} {
		for name, value := range values {
			for part := range strings.SplitSeq(value, entry.UserPlace) {
				if len(part) >= least && part != value {
					secrets = append(secrets, redact.Headers(map[string]string{name: part})...)
				}
			}
		}
	}
	return secrets
}

// begin sets what every endpoint has: its contract, who may call it, what they may do, and how the server's answers are read.
func (on *endpoint) begin(t *table, old *endpoint) error {
	on.forward = canonical(on.entry.Forward)
	path, _ := door.NewUserPath(on.entry.Path)
	on.userParam = path.Param
	var ok bool
	if on.contract, ok = t.contracts.Get(on.entry.Contract); !ok {
		return fmt.Errorf("there is no contract %s", on.entry.Contract)
	}
	var before *access.Access
	var usersBefore *access.Users
	if old != nil {
		before, usersBefore = old.access, old.users
	}
	var err error
	if on.access, err = access.New(t.config, on.entry.Access, on.entry.Users, on.g.issuers, on.g.reach.Keys, before); err != nil {
		return err
	}
	on.users = access.NewUsers(on.entry.Users, on.g.checks, on.g.log.With(slog.String("server", on.entry.Name)), usersBefore)
	if on.grants, err = config.Grants(on.entry.Grants); err != nil {
		return err
	}
	on.policy = retry.Policy{Attempts: attempts, Start: on.g.reach.Pause, Factor: 2, Jitter: 0.5}
	on.timedOut = func(within time.Duration) error {
		return recourse.Timeout(on.entry.Title, within).WithOrigin(recourse.OriginGateway).WithProvider(on.entry.Title)
	}
	on.reader, err = failures.New(on.entry, on.contract, t.contracts, on.forwards)
	return err
}

// attempts limits what one call costs the server; the contract's own rule is for clients, who see the outcome
// of all attempts.
const attempts = 3

// connect gives the endpoint a backend: that of old, the previous endpoint, if the server is reached in the same
// way.
func (on *endpoint) connect(old *endpoint) error {
	userHeader := on.userHeader()
	sameFormat := old != nil && (on.entry.API == nil || old.contract.Same(on.contract))
	if sameFormat && old.entry.SameReach(on.entry) && old.userHeader() == userHeader {
		on.backend, on.guard = old.backend, newGuard(on.entry, old)
		on.up = on.backend.Bridged
		return nil
	}
	var err error
	if on.backend, err = on.g.backends.Connect(on.entry, on.forward, userHeader, formatOf(on.contract)); err != nil {
		return err
	}
	if old != nil && slices.Equal(on.entry.Forward, old.entry.Forward) {
		on.backend.Sessions = old.backend.Sessions // they are reopened, at another place
		if on.entry.URL != "" && on.entry.URL == old.entry.URL {
			on.backend.Place = old.backend.Place // the server still knows them
		}
	}
	on.up, on.guard = on.backend.Bridged, newGuard(on.entry, nil)
	return nil
}

// formatOf returns the argument by which the calls of some tools select the form of their failures.
func formatOf(c *contract.Contract) api.Format {
	return api.Format{Argument: c.FormatArgument(), Tools: c.FormatTools(), Values: contract.Formats()}
}

// broken turns an error in reaching the server, or in reading its answer, into the corresponding Error.
func (on *endpoint) broken(ctx context.Context, err error) *recourse.Error {
	return upstream.Broken(ctx, on.entry.Title, err)
}

// removed is the failure for requests that arrive when the server has been removed from the configuration.
func (on *endpoint) removed() *recourse.Error {
	return recourse.Unavailable(on.entry.Title).WithMessage("%s is no longer served.", on.entry.Title).
		WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
}

// userHeader returns the header in which the connection is told the user of the path: the contract's. If that names none although
// the entry has a place for the user, it is one that is not sent on; "": it is not told.
func (on *endpoint) userHeader() string {
	name := on.contract.Session.UserHeader
	if name == "" && on.entry.UserPlace != "" {
		return upstream.HeaderUser
	}
	return name
}

// ask sets which headers with credentials a request must contain. If access asks for
// credentials of its own, the contract's are only required if they are forwarded.
func (on *endpoint) ask() {
	on.asked = on.contract.Session.Credentials
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

// An Entrance is what a client needs to call a tool.
type Entrance struct {
	URL    string
	Access config.Access      // the entry by which the caller was let in; its zero value: there is none
	Params []wire.ParamHeader // arguments that are repeated in headers, as far as the server's tools are known
}

// Entrance returns what a caller needs to call a tool of a server or an endpoint. letInBy is the entry of access control
// that let the caller in. ok is false if clients reach the server only through other endpoints.
func (g *Gateway) Entrance(name, tool, letInBy string) (e Entrance, ok bool) {
	t := g.table.Load()
	on := t.named[name]
	if on == nil || on.entry.Path == config.PathNone {
		return e, false
	}
	e.URL = g.URL() + on.entry.Path
	e.Access, _ = t.config.Access.Get(letInBy)
	if on.backend.Lists != nil {
		e.Params = on.backend.Lists.Params(tool)
	}
	return e, true
}
