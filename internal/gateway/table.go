package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/gateway/account"
	"github.com/recoursehq/recourse/internal/gateway/backend"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/policy/limit"
	"github.com/recoursehq/recourse/internal/privacy/seal"
)

// A table is a configuration, prepared for lookups. It does not change.
type table struct {
	config    *config.Config
	contracts *contract.Set
	serve     next                   // the chain of stages
	nested    next                   // the chain for a call that another endpoint has let in
	counter   limit.Counter          // of calls, for limits
	sealer    *seal.Sealer           // of session ids; nil: they are known in this process only
	states    *seal.Sealer           // of states that servers hand to clients
	redis     *limit.Shared          // seals what is too long for a session id; nil: nothing does
	all       []*endpoint            // in the file's order: the servers', then those with several servers
	named     map[string]*endpoint   // all of them
	endpoints map[string]*endpoint   // by path
	userPaths []userPath             // the longest first
	providers account.Providers      // where callers have accounts
	logins    map[string]*auth.Login // by entry of access control: where its callers sign in on pages
	pages     http.Handler           // for connecting accounts; nil: none
	hosts     map[string]bool        // the names by which the gateway is addressed
	origins   map[string]bool
	proxies   door.Proxies
	lockout   *door.Lockout // of addresses; nil: none
}

// A userPath is an endpoint's path with a placeholder for the user.
type userPath struct {
	door.UserPath

	endpoint *endpoint
}

// newTable returns the table for a configuration. What has not changed since old is taken over from it. On an
// error, the backends made for the table are closed again.
func (g *Gateway) newTable(cfg *config.Config, set *contract.Set, old *table) (*table, error) {
	if old == nil {
		old = new(table)
	}
	t := &table{
		config: cfg, contracts: set, serve: chain(stages), nested: chain(nested), states: g.states,
		named: map[string]*endpoint{}, endpoints: map[string]*endpoint{},
		hosts: map[string]bool{}, origins: map[string]bool{},
	}
	t.proxies, t.lockout = cfg.Proxies(), lockoutOf(cfg.LockoutRule(), old)
	if len(cfg.SessionKeys) > 0 {
		t.sealer = seal.New(cfg.SessionKeys...)
		t.states = t.sealer // any replica can open them
	}
	t.providers, t.logins = account.NewProviders(cfg), access.NewLogins(cfg, g.issuers)
	var err error
	if t.counter, err = g.counting.Counter(cfg, old.config, old.counter); err != nil {
		return nil, err
	}
	t.redis, _ = t.counter.(*limit.Shared)
	callers := account.Callers{Config: cfg, Lockout: t.lockout, Logins: t.logins, By: t.lettingIn}
	if t.pages, err = account.NewPages(t.providers, g.reach.Connections, callers, g.log); err != nil {
		return nil, err
	}
	if err = g.fill(t, old); err == nil {
		err = t.names()
	}
	if err != nil {
		g.abandon(t)
		return nil, err
	}
	return t, nil
}

func (g *Gateway) fill(t, old *table) error {
	for _, entry := range t.config.Servers {
		on, err := newEndpoint(g, t, entry, old.named[entry.Name])
		if err != nil {
			return fmt.Errorf("server %s: %w", entry.Name, err)
		}
		t.add(on)
	}
	for _, entry := range t.config.Endpoints {
		on, err := newManyEndpoint(g, t, entry, old.named[entry.Name])
		if err != nil {
			return fmt.Errorf("endpoint %s: %w", entry.Name, err)
		}
		t.add(on)
	}
	slices.SortStableFunc(t.userPaths, func(a, b userPath) int { return b.Len() - a.Len() })
	return nil
}

// lockoutOf returns a configuration's lockout. old is the one from before the reload, and is kept if nothing
// has changed.
func lockoutOf(rule config.Lockout, old *table) *door.Lockout {
	switch {
	case rule.Failures == 0:
		return nil
	case old.config != nil && old.config.LockoutRule() == rule:
		return old.lockout
	default:
		return door.NewLockout(rule.Failures, rule.Within)
	}
}

func (t *table) add(on *endpoint) {
	t.all = append(t.all, on)
	t.named[on.entry.Name] = on
	if on.entry.Path == config.PathNone {
		return
	}
	t.endpoints[on.entry.Path] = on
	if path, ok := door.NewUserPath(on.entry.Path); ok {
		t.userPaths = append(t.userPaths, userPath{path, on})
	}
}

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

// names collects the hosts and origins that requests may name.
func (t *table) names() error {
	add := func(to map[string]bool, names ...string) {
		for _, name := range names {
			to[strings.ToLower(name)] = true
		}
	}
	add(t.hosts, "localhost", "127.0.0.1", "::1")
	add(t.hosts, t.config.Hosts...)
	add(t.origins, t.config.Origins...)
	if host, _, err := net.SplitHostPort(t.config.Listen); err == nil && host != "" {
		add(t.hosts, host)
	}
	if t.config.PublicURL != "" {
		u, err := url.Parse(t.config.PublicURL)
		if err != nil {
			return fmt.Errorf("public_url: %w", err)
		}
		add(t.hosts, u.Hostname())
		add(t.origins, u.Scheme+"://"+u.Host)
	}
	return nil
}

// Reload replaces the configuration; the new one's contracts are in set. Requests that arrived before are
// answered by the old one, later requests by the new one. A server whose entry and contracts have not changed
// keeps its sessions and processes. One that was removed, or is reached in another way, is closed when its
// last call ends, and so are its streams.
//
// After an error the old configuration remains in use. Listen is up to the caller.
func (g *Gateway) Reload(cfg *config.Config, set *contract.Set) error {
	g.mu.Lock()
	if g.life.Err() != nil {
		g.mu.Unlock()
		return errors.New("the gateway is closed")
	}
	old := g.table.Load()
	t, err := g.newTable(cfg, set, old)
	if err != nil {
		g.mu.Unlock()
		return err
	}
	used := g.adopt(t)
	g.table.Store(t)
	g.mu.Unlock()
	for _, on := range t.all {
		if on.many != nil {
			on.many.conn.Adopt(on.many.options)
		}
	}
	for _, on := range old.all {
		if b := on.backend; !used[b] {
			b.Leave()
		}
	}
	g.logReload(old, t)
	return nil
}

// abandon closes the backends that were made only for t.
func (g *Gateway) abandon(t *table) {
	for _, on := range t.all {
		g.backends.Abandon(on.backend)
	}
}

// adopt makes the gateway responsible for t's backends, and returns them. Limits that t does not have are no
// longer counted.
func (g *Gateway) adopt(t *table) (used map[*backend.Backend]bool) {
	used = map[*backend.Backend]bool{}
	var counted []*limits.Limits
	for _, on := range t.all {
		counted = append(counted, on.limits)
		used[on.backend] = true
		g.backends.Adopt(on.backend)
		on.guard.apply(on.entry)
	}
	g.counting.Keep(counted)
	return used
}

func (g *Gateway) logReload(before, after *table) {
	became := map[string][]string{}
	for _, on := range after.all {
		what := "changed"
		switch before.named[on.entry.Name] {
		case nil:
			what = "added"
		case on:
			what = "kept"
		}
		became[what] = append(became[what], on.entry.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(before.named)) {
		if after.named[name] == nil {
			became["removed"] = append(became["removed"], name)
		}
	}
	var attrs []slog.Attr
	for _, what := range []string{"added", "removed", "changed", "kept"} {
		if became[what] != nil {
			attrs = append(attrs, slog.Any(what, became[what]))
		}
	}
	g.log.LogAttrs(context.Background(), slog.LevelInfo, "reloaded", attrs...)
}
