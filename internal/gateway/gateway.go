package gateway

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/gateway/account"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/backend"
	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/gateway/intake"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/policy/auth"
	claims "github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/policy/pin"
	"github.com/recoursehq/recourse/internal/privacy/seal"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/many"
	"github.com/recoursehq/recourse/internal/work"
)

// Gateway serves the MCP servers of a configuration. It is an http.Handler and safe for concurrent use.
// Create one with [New] and end it with [Gateway.Close].
type Gateway struct {
	log   *slog.Logger
	reach Reach
	table atomic.Pointer[table] // the table in use

	life  context.Context
	end   context.CancelFunc
	drain context.CancelFunc // ends the streams that have no end of their own
	work  *work.Group        // in the background, and calls that are made for others

	observers []observe.Observer // the log, and others
	calls     calls
	inFlight  intake.InFlight
	states    *seal.Sealer // seals states that servers hand to clients, if there are no keys for sessions
	counting  *limits.Counting
	ledger    *claims.Ledger // of calls that are made once; nil: there is no store
	lists     *many.Conn     // what servers that clients reach by themselves have last said
	pins      sync.Map       // *pin.Server by name
	late      atomic.Int64   // servers that are listened to although their calls have ended

	http    front.HTTP
	issuers *auth.Issuers          // of callers' tokens
	checks  *access.Checks         // of the users whom callers may be
	listens atomic.Pointer[string] // the address, once it serves

	large   pause.Turn // of failures larger than the decision window
	notices account.Notices

	backends *backend.Set

	mu sync.Mutex // held while the table is replaced, or the gateway ends
}

var _ http.Handler = (*Gateway)(nil)

// A Reach is how a gateway reaches its servers. Zero values mean the defaults, which only tests have a reason
// to change.
type Reach struct {
	Dial     upstream.Dial     // opens connections; the default is the operating system's
	Patience upstream.Patience // with programs
	Pause    time.Duration     // before the first repetition of a call; 100 ms
	Redis    time.Duration     // for an answer from Redis; 100 ms
	Keys     auth.KeyStore     // of callers; nil: only those in the configuration
	// Connections are the accounts of callers at providers; nil: there are none.
	Connections *connection.Manager
	Lists       string       // the file that keeps what servers have last said; "": nothing does
	Once        claims.Store // remembers the calls that are made once; nil: there are none
	OnceTimes   claims.Times
	Pins        pin.Records // keeps the tools of servers as they were first seen; nil: they are not
}

// New returns the gateway for a configuration whose contracts are in set. Nothing may be added to set
// afterwards. Failures are logged to log.
func New(cfg *config.Config, set *contract.Set, log *slog.Logger) (*Gateway, error) {
	return NewReaching(Reach{}, cfg, set, log)
}

// NewReaching is [New] for a gateway with its own way of reaching servers.
func NewReaching(reach Reach, cfg *config.Config, set *contract.Set, log *slog.Logger) (*Gateway, error) {
	reach.Pause, reach.Redis = cmp.Or(reach.Pause, 100*time.Millisecond), cmp.Or(reach.Redis, 100*time.Millisecond)
	g := &Gateway{
		log: log, reach: reach,
		large: pause.NewTurn(answer.LargeFailures), notices: account.NewNotices(),
		observers: []observe.Observer{observe.Log{To: log}}, states: seal.New(),
		counting: limits.NewCounting(reach.Redis, log),
	}
	if reach.Once != nil {
		g.ledger = claims.New(reach.Once, reach.OnceTimes, log)
	}
	g.lists = many.New(reach.Lists, &many.Options{Time: manyListTimeout}, func(text string) { log.Warn(text) })
	g.http = front.HTTP{Handler: g, Log: log, Drain: g.Drain}
	outside := upstream.NewTransport(reach.Dial) // to issuers, and the checks of users
	g.issuers = auth.NewIssuers(outside)
	g.life, g.end = context.WithCancel(context.Background())
	g.work = work.Within(g.life)
	g.checks = access.NewChecks(g.life, outside)
	var streams context.Context
	streams, g.drain = context.WithCancel(g.life)
	g.backends = backend.NewSet(backend.Reach{Dial: reach.Dial, Patience: reach.Patience, Streams: streams, Log: log})
	t, err := g.newTable(cfg, set, nil)
	if err != nil {
		g.Close()
		return nil, err
	}
	g.adopt(t)
	g.table.Store(t)
	if reach.Pins != nil {
		g.work.Go(g.watchPins)
	}
	return g, nil
}

// Drain ends the streams that have no end of their own, so that only the calls in progress remain. New
// requests are still served: stopping them is up to the listener.
func (g *Gateway) Drain() { g.drain() }

// Close ends all work of the gateway and waits until it has ended.
func (g *Gateway) Close() {
	g.mu.Lock()
	g.end()
	g.mu.Unlock()
	g.issuers.Close()
	g.checks.Close()
	g.work.End()
	g.lists.Close()
	g.backends.Close()
	g.counting.Close()
	if g.ledger != nil {
		g.ledger.Close()
	}
}

// Serve answers requests on ln until ctx ends, and for the configuration's shutdown_delay after that. It then
// accepts no new ones, ends the streams, and gives the calls in progress up to grace to finish. It closes ln,
// but not the gateway. After the end of ctx, the error is nil unless calls had to be aborted.
//
// There is no time limit for an answer: each call has its own deadline. But clients must read: one that takes
// nothing for a minute is disconnected, or after 5 s once ctx has ended.
func (g *Gateway) Serve(ctx context.Context, ln net.Listener, grace time.Duration) error {
	in := g.http
	cfg := g.table.Load().config
	if cfg.TLS != nil {
		in.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: g.certificate}
	}
	at := ln.Addr().String()
	g.listens.Store(&at)
	in.Delay = func() time.Duration { return g.table.Load().config.ShutdownDelay }
	return in.Serve(ctx, ln, grace)
}

func (g *Gateway) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if t := g.table.Load().config.TLS; t != nil {
		return t.Certificate, nil
	}
	return nil, errors.New("the configuration no longer has a certificate")
}

// ServeStdio serves one host, over a pair of streams, at path: see [front.Stdio.Serve].
func (g *Gateway) ServeStdio(ctx context.Context, path string, in io.Reader, out io.Writer) error {
	t := g.table.Load()
	if t.endpoints[path] == nil {
		return fmt.Errorf("serve stdio: there is no server at %q", path)
	}
	return front.Stdio{Handler: g, Path: path, Limit: int(t.config.MaxRequest), Log: g.log}.Serve(ctx, in, out)
}

// ServeHTTP answers one client request. How long a client may take to read the answer is up to the HTTP
// server that calls it: see [Gateway.Serve].
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if t := g.table.Load(); t.pages != nil && strings.HasPrefix(r.URL.Path, connection.PathPrefix) && t.answersTo(r.Host) {
		t.pages.ServeHTTP(w, r)
		return
	}
	g.inFlight.Requests.Add(1)
	defer g.inFlight.Requests.Add(-1)
	c := g.callOver(w, r)
	defer c.release()
	c.serve()
	if c.reply.Broken {
		panic(http.ErrAbortHandler)
	}
}

// callOver returns the call for a request over HTTP.
func (g *Gateway) callOver(w http.ResponseWriter, r *http.Request) *call {
	c := g.newCall()
	c.req.come(r.Context(), r.Method, r.Header, r)
	c.reply.HTTP.ResponseWriter = w
	c.reply.W = &c.reply.HTTP
	c.req.intake = intake.Intake{From: r, To: w}
	return c
}

// Answer implements [front.Handler].
func (g *Gateway) Answer(w front.Writer, r *front.Request) (whole bool, effect recourse.Effect) {
	g.inFlight.Requests.Add(1)
	defer g.inFlight.Requests.Add(-1)
	c := g.newCall()
	defer c.release()
	c.req.come(r.Context, r.Method, r.Header, r.From)
	c.req.stdio, c.req.parsed, c.req.overLimit = true, r.Message, r.Excess
	c.req.intake = intake.Intake{From: r.From}
	if r.Method == http.MethodPost {
		c.req.intake.Line = &r.Line
	}
	c.reply.W = w
	c.serve()
	if e := c.out.Record; c.reply.Broken && e != nil {
		effect = e.Effect
	}
	return !c.reply.Broken, effect
}

// URL returns the gateway's own URL, as people on its machine reach it if nothing else is known.
func (g *Gateway) URL() string {
	cfg := g.table.Load().config
	if cfg.PublicURL != "" {
		return strings.TrimSuffix(cfg.PublicURL, "/")
	}
	at := cfg.Listen
	if bound := g.listens.Load(); bound != nil {
		at = *bound // the port may have been 0
	}
	host, port, err := net.SplitHostPort(at)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		at = net.JoinHostPort("127.0.0.1", port)
	}
	if cfg.TLS != nil {
		return "https://" + at
	}
	return "http://" + at
}

// background runs f as work that Close waits for. Its context ends with the gateway. Once the gateway is
// closed, f runs with an ended context, and only its caller waits for it.
func (g *Gateway) background(timeout time.Duration, f func(ctx context.Context)) {
	g.work.Anyway(func(life context.Context) {
		ctx, cancel := context.WithTimeout(life, timeout)
		defer cancel()
		f(ctx)
	})
}
