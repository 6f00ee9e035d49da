package gateway

import (
	"context"
	"net/url"
	"path/filepath"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/policy/breaker"
	"github.com/recoursehq/recourse/internal/policy/limit"
	"github.com/recoursehq/recourse/internal/upstream"
)

// Stats are counts of what a gateway holds at the moment.
type Stats struct {
	Requests     int64     // in progress, and the streams that clients hold open
	RequestBytes int64     // held by the requests in progress
	Expires      time.Time // of the certificate; zero: there is none
	Servers      []ServerFigures
}

// ServerFigures are the figures of one server.
type ServerFigures struct {
	Server    string
	Title     string
	Contract  string              // the contract in which failures reach the client
	Target    string              // what is behind it, without secrets
	Limits    []*config.Limit     // of its callers
	Sessions  int                 // of clients of the legacy era
	Budget    float64             // repetitions available at once
	Processes *upstream.Processes // its process; nil: none
}

// Figures returns the figures of the gateway, and of its servers in the file's order.
func (g *Gateway) Figures() Stats {
	t := g.table.Load()
	f := Stats{Requests: g.inFlight.Requests.Load(), RequestBytes: g.inFlight.Bytes()}
	if t.config.TLS != nil {
		f.Expires, _ = t.config.TLS.Expires()
	}
	for _, entry := range t.config.Servers {
		b := t.named[entry.Name].backend
		sessions, _ := b.Sessions.Kept()
		s := ServerFigures{
			Server: entry.Name, Title: entry.Title, Contract: entry.Contract, Target: whereabouts(entry), Limits: entry.Limits,
			Sessions: sessions, Budget: b.Budget.Left(),
		}
		if program, ok := b.Direct.(*upstream.Stdio); ok {
			processes := program.Processes()
			s.Processes = &processes
		}
		f.Servers = append(f.Servers, s)
	}
	return f
}

// whereabouts describes what is behind a server: an address without possible secrets, or a program without
// its arguments.
func whereabouts(entry *config.Server) string {
	if entry.API != nil {
		return entry.Describe()
	}
	if len(entry.Command) > 0 {
		return filepath.Base(entry.Command[0])
	}
	at, err := url.Parse(entry.URL)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path}).String()
}

// A Protection is the current state of what holds calls back from a server.
type Protection struct {
	Server    string
	Circuits  []breaker.State // the server's own, then its tools'; empty without a breaker
	Bulkheads []Bulkhead
}

// A Bulkhead is the state of a bulkhead for a server or some of its tools.
type Bulkhead struct {
	limit.BulkheadState

	Tools string // the name or pattern in the entry; "": all tools
}

// Protections returns the state for each server that has a breaker or bulkheads, in the file's order.
func (g *Gateway) Protections() []Protection {
	t, now := g.table.Load(), time.Now()
	var all []Protection
	for _, on := range t.all {
		p := Protection{Server: on.entry.Name}
		if on.guard.breaker != nil {
			p.Circuits = on.guard.breaker.States(now)
		}
		if on.guard.bulkhead != nil {
			p.Bulkheads = append(p.Bulkheads, Bulkhead{BulkheadState: on.guard.bulkhead.State()})
		}
		for _, tool := range on.entry.Tools {
			if b := on.guard.toolBulkheads[tool.Value.Concurrency]; b != nil {
				p.Bulkheads = append(p.Bulkheads, Bulkhead{Tools: tool.Key, BulkheadState: b.State()})
			}
		}
		if p.Circuits != nil || p.Bulkheads != nil {
			all = append(all, p)
		}
	}
	return all
}

// CloseBreaker closes an open circuit of a server, or of one of its tools, and reports whether there was one.
func (g *Gateway) CloseBreaker(server, tool string) (wasOpen bool) {
	for _, on := range g.table.Load().all {
		if on.entry.Name == server && on.guard.breaker != nil && on.guard.breaker.Reset(tool) {
			wasOpen = true
		}
	}
	return wasOpen
}

// LimitStats is the state of the counters.
type LimitStats struct {
	Waiting       int   // calls that wait for others of the same caller to end
	RedisFailures int64 // how often Redis has failed
}

// Limits returns the state of the counters.
func (g *Gateway) Limits() LimitStats {
	stats := LimitStats{Waiting: g.counting.Waiting()}
	if shared := g.table.Load().redis; shared != nil {
		stats.RedisFailures = shared.Failures()
	}
	return stats
}

// CheckRedis returns why limits that should be counted in Redis cannot be. It is limit.ErrUncounted if
// calls with limits are refused meanwhile.
func (g *Gateway) CheckRedis(ctx context.Context) error {
	if shared := g.table.Load().redis; shared != nil {
		return shared.Check(ctx)
	}
	return nil
}

// Config returns the configuration in use. It must not be changed.
func (g *Gateway) Config() *config.Config { return g.table.Load().config }

// Contracts returns the contracts of that configuration. Nothing may be added to them.
func (g *Gateway) Contracts() *contract.Set { return g.table.Load().contracts }
