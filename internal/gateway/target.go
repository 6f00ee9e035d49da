package gateway

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/bridge"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/gateway/toollist"
	"github.com/recoursehq/recourse/internal/many"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/api"
	"github.com/recoursehq/recourse/retry"
)

// A target is a server behind the gateway: how it is reached, how its answers are read, and how far it is
// trusted. It does not change.
type target struct {
	*config.Server
	*backend
	guard

	up       upstream.Connection
	reader   *failures.Reader
	policy   retry.Policy
	timedOut func(within time.Duration) error // makes the failure for a call without an answer
}

// broken turns an error in reaching the server, or in reading its answer, into the corresponding Error.
func (to *target) broken(ctx context.Context, err error) *recourse.Error {
	return upstream.Broken(ctx, to.Title, err)
}

// newConnection returns the connection to an entry's server for clients of both eras, and the part of it that
// passes messages on unchanged. Closing the first closes both.
func (g *Gateway) newConnection(entry *config.Server, userHeader string) (bridged, direct upstream.Connection, err error) {
	direct, err = g.newDirect(entry)
	if err != nil {
		return nil, nil, err
	}
	options := bridge.Options{Forward: credentialHeaders(entry)}
	if len(entry.Command) > 0 {
		options.Program, options.Silent = true, entry.Share != config.ShareClient
	} else if userHeader != "" {
		options.Forward = append(options.Forward, canonical([]string{userHeader})...)
	}
	return bridge.New(direct, options), direct, nil
}

func (g *Gateway) newDirect(entry *config.Server) (upstream.Connection, error) {
	switch {
	case entry.API != nil:
		return api.New(api.Options{
			Name: entry.Title, API: entry.API, Headers: entry.Headers, Query: entry.Query,
			Forward: credentialHeaders(entry), Dial: g.reach.Dial,
		})
	case entry.URL != "":
		return upstream.NewHTTP(entry.Title, entry.URL, entry.Headers, g.reach.Dial)
	}
	command := upstream.Command{
		Path: entry.Command[0], Args: entry.Command[1:], Env: environ(entry),
		Dir: entry.Cwd, Idle: entry.Idle, Local: entry.Local, Patience: g.reach.Patience,
	}
	if entry.Share == config.ShareClient {
		command.Share = upstream.ShareClient
	}
	return upstream.NewStdio(entry.Title, command, g.log.With(slog.String("server", entry.Name)))
}

// credentialHeaders returns the headers in which the caller's own credentials are sent to the server.
func credentialHeaders(entry *config.Server) []string {
	names := canonical(entry.Forward)
	if entry.AccountHeader != "" {
		names = append(names, entry.AccountHeader)
	}
	return names
}

// environ returns the environment for the entry's program.
func environ(entry *config.Server) []string {
	if len(entry.Command) == 0 {
		return nil
	}
	return upstream.Environ(os.LookupEnv, entry.Env)
}

// attempts limits what one call costs the server; the contract's own rule is for clients, who see the outcome
// of all attempts.
const attempts = 3

// newTarget returns an endpoint's target, before it is connected.
func newTarget(g *Gateway, on *endpoint, set *contract.Set) (*target, error) {
	to := &target{Server: on.Server, policy: retry.Policy{Attempts: attempts, Start: g.reach.Pause, Factor: 2, Jitter: 0.5}}
	var err error
	if to.reader, err = failures.New(on.Server, on.contract, set, on.forwards); err != nil {
		return nil, err
	}
	to.timedOut = func(within time.Duration) error {
		return recourse.Timeout(to.Title, within).WithOrigin(recourse.OriginGateway).WithProvider(to.Title)
	}
	return to, nil
}

// unserved is the failure for requests that arrive when the server has been removed from the configuration.
func (to *target) unserved() *recourse.Error {
	return recourse.Unavailable(to.Title).WithMessage("%s is no longer served.", to.Title).
		WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
}

// A backend is what the gateway holds of a server besides its entry. It survives changes to the entry that do
// not affect how the server is reached.
type backend struct {
	g        *Gateway
	bridged  upstream.Connection
	direct   upstream.Connection // the same without the bridge
	sessions *session.Store
	place    *session.Place // where sessions were opened that need not be reopened
	tools    *toollist.Lists
	many     *many.Conn // for an endpoint with several servers
	budget   retry.Budget

	// streams ends the streams that have no end of their own. They do not hold the backend, but end after its
	// last call: a server may ask its client something on them for that call.
	streams    context.Context //nolint:containedctx // the life of the streams, not of a call
	endStreams context.CancelFunc

	holds atomic.Int64 // number of calls in progress and of the table; at zero it is closed
}

// newBackend returns a backend held by its table.
func newBackend(g *Gateway, server string, bridged, direct upstream.Connection) *backend {
	b := &backend{
		g: g, bridged: bridged, direct: direct,
		sessions: session.NewStore(), place: &session.Place{}, tools: toollist.New(server, g.log),
	}
	b.streams, b.endStreams = context.WithCancel(g.streams)
	b.holds.Store(1)
	return b
}

// connect gives the target a backend, held by its table: that of old, the previous endpoint, if the server is
// reached in the same way.
func (to *target) connect(g *Gateway, on, old *endpoint) error {
	userHeader := on.contract.Session.UserHeader
	if old != nil && old.SameReach(to.Server) && old.contract.Session.UserHeader == userHeader {
		to.backend, to.up = old.target.backend, old.target.bridged
		to.guard = newGuard(to.Server, old.target)
		return nil
	}
	bridged, direct, err := g.newConnection(to.Server, userHeader)
	if err != nil {
		return err
	}
	b := newBackend(g, to.Name, bridged, direct)
	if old != nil && slices.Equal(to.Forward, old.Forward) {
		b.sessions = old.target.sessions // they are reopened, at another place
		if to.URL != "" && to.URL == old.URL {
			b.place = old.target.place // the server still knows them
		}
	}
	to.backend, to.up = b, bridged
	to.guard = newGuard(to.Server, nil)
	return nil
}

// hold keeps the backend open until leave is called. It reports false when the
// backend is closed already.
func (b *backend) hold() bool {
	for n := b.holds.Load(); n > 0; n = b.holds.Load() {
		if b.holds.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// leave releases a hold. The last one closes the backend.
func (b *backend) leave() {
	if b.holds.Add(-1) == 0 {
		b.g.retire(b)
	}
}

// close ends what is left of the backend and waits until it has ended.
func (b *backend) close() {
	b.endStreams()
	b.bridged.Close()
}
