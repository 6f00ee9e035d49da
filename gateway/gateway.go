package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
)

// Gateway serves the MCP servers of a configuration. It is an http.Handler and
// safe for concurrent use. Make one with [New] and end it with [Gateway.Close].
type Gateway struct {
	config  *config.Config
	log     *slog.Logger
	servers map[string]*server // by path
	hosts   map[string]bool    // the names under which it answers
	origins map[string]bool

	// life ends when the gateway is closed; streams ends already when it drains.
	life    context.Context //nolint:containedctx // the life of the background work, not of a call
	end     context.CancelFunc
	streams context.Context //nolint:containedctx // the life of the streams that have no end of their own
	drain   context.CancelFunc
	work    sync.WaitGroup // background work

	mu     sync.Mutex
	closed bool
}

var _ http.Handler = (*Gateway)(nil)

// New returns the gateway for a configuration, whose contracts are in set. Its
// failures are logged to log.
func New(cfg *config.Config, set *contract.Set, log *slog.Logger) (*Gateway, error) {
	g := &Gateway{
		config: cfg, log: log,
		servers: map[string]*server{}, hosts: map[string]bool{}, origins: map[string]bool{},
	}
	g.life, g.end = context.WithCancel(context.Background())
	g.streams, g.drain = context.WithCancel(g.life)
	for _, entry := range cfg.Servers {
		s, err := newServer(g, entry, set)
		if err != nil {
			g.end()
			return nil, err
		}
		g.servers[entry.Path] = s
	}
	if err := g.names(); err != nil {
		g.end()
		return nil, err
	}
	return g, nil
}

// names collects the hosts and origins that requests may name.
func (g *Gateway) names() error {
	for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
		g.hosts[name] = true
	}
	if host, _, err := net.SplitHostPort(g.config.Listen); err == nil && host != "" {
		g.hosts[strings.ToLower(host)] = true
	}
	if g.config.PublicURL != "" {
		u, err := url.Parse(g.config.PublicURL)
		if err != nil {
			return fmt.Errorf("public_url: %w", err)
		}
		g.hosts[strings.ToLower(u.Hostname())] = true
		g.origins[strings.ToLower(u.Scheme+"://"+u.Host)] = true
	}
	for _, host := range g.config.Hosts {
		g.hosts[strings.ToLower(host)] = true
	}
	for _, origin := range g.config.Origins {
		g.origins[strings.ToLower(origin)] = true
	}
	return nil
}

// Drain ends the streams that have no end of their own, so that the calls under
// way are all that is left. New requests are still served: stopping them is the
// listener's part.
func (g *Gateway) Drain() { g.drain() }

// Close ends everything that the gateway still does and waits for the end.
func (g *Gateway) Close() {
	g.end()
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.work.Wait()
	for _, s := range g.servers {
		s.up.Close()
	}
}

// ServeHTTP answers one request of a client.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := newExchange(g, w, r)
	defer x.release()
	if !x.admit() {
		return
	}
	switch r.Method {
	case http.MethodPost:
		x.post()
	case http.MethodGet:
		x.listen()
	case http.MethodDelete:
		x.endSession()
	}
}

// background runs f as work that Close waits for. f ends when its context does: at once
// where the gateway has been closed, so that only those wait who have asked for it.
func (g *Gateway) background(timeout time.Duration, f func(ctx context.Context)) {
	run := func() {
		ctx, cancel := context.WithTimeout(g.life, timeout)
		defer cancel()
		f(ctx)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		go run()
		return
	}
	g.work.Go(run)
}
