package gateway

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
)

// A table is a configuration, ready to be looked up in. It does not change.
type table struct {
	config    *config.Config
	servers   map[string]*server // by path
	userPaths []userPath         // those with a place for the user, the longest first
	hosts     map[string]bool    // the names under which the gateway answers
	origins   map[string]bool
}

// newTable returns the table for a configuration. What has not changed since old is
// taken over from it. Backends that were made for a table that comes to nothing are
// closed again.
func (g *Gateway) newTable(cfg *config.Config, set *contract.Set, old *table) (*table, error) {
	t := &table{config: cfg, servers: map[string]*server{}, hosts: map[string]bool{}, origins: map[string]bool{}}
	before := old.byName()
	for _, entry := range cfg.Servers {
		s, err := newServer(g, entry, set, before[entry.Name])
		if err != nil {
			g.abandon(t)
			return nil, err
		}
		t.servers[entry.Path] = s
		if path, ok := userPathOf(entry.Path); ok {
			path.server = s
			t.userPaths = append(t.userPaths, path)
		}
	}
	slices.SortStableFunc(t.userPaths, func(a, b userPath) int { return len(b.before+b.after) - len(a.before+a.after) })
	if err := t.names(); err != nil {
		g.abandon(t)
		return nil, err
	}
	return t, nil
}

// abandon closes the backends that were made for t alone.
func (g *Gateway) abandon(t *table) {
	for _, s := range t.servers {
		if !g.backends[s.backend] {
			s.close()
		}
	}
}

// byName returns the servers by name. There are none in a nil table.
func (t *table) byName() map[string]*server {
	if t == nil {
		return nil
	}
	servers := make(map[string]*server, len(t.servers))
	for _, s := range t.servers {
		servers[s.Name] = s
	}
	return servers
}

// names collects the hosts and origins that requests may name.
func (t *table) names() error {
	for _, name := range []string{"localhost", "127.0.0.1", "::1"} {
		t.hosts[name] = true
	}
	if host, _, err := net.SplitHostPort(t.config.Listen); err == nil && host != "" {
		t.hosts[strings.ToLower(host)] = true
	}
	if t.config.PublicURL != "" {
		u, err := url.Parse(t.config.PublicURL)
		if err != nil {
			return fmt.Errorf("public_url: %w", err)
		}
		t.hosts[strings.ToLower(u.Hostname())] = true
		t.origins[strings.ToLower(u.Scheme+"://"+u.Host)] = true
	}
	for _, host := range t.config.Hosts {
		t.hosts[strings.ToLower(host)] = true
	}
	for _, origin := range t.config.Origins {
		t.origins[strings.ToLower(origin)] = true
	}
	return nil
}

// enter finds the server that the request is for, and holds it until the exchange
// is over. It reports false when there is none.
func (x *exchange) enter() bool {
	for {
		s, user, ok := x.table.find(x.r.URL)
		if !ok {
			return false
		}
		if s.hold() {
			x.s, x.user, x.holds = s, user, true
			return true
		}
		x.table = x.g.table.Load() // the server was closed after its table had been replaced
	}
}

// leave ends the hold of the server, once: with the exchange, or when it becomes a
// stream without an end of its own.
func (x *exchange) leave() {
	if x.holds {
		x.holds = false
		x.s.leave()
	}
}
