package gateway

import (
	"time"

	"github.com/recoursehq/recourse/internal/breaker"
	"github.com/recoursehq/recourse/internal/bulkhead"
	"github.com/recoursehq/recourse/internal/config"
)

// A guard stands between the calls and one server. Like the backend, it survives a reload.
type guard struct {
	breaker       *breaker.Breaker                           // nil: there is none
	bulkhead      *bulkhead.Bulkhead                         // nil: there is none
	toolBulkheads map[*config.Concurrency]*bulkhead.Bulkhead // by the entry of a tool or pattern
}

// newGuard returns an entry's guard. It takes over the state of the previous one, which may be nil.
func newGuard(entry, oldEntry *config.Server, old *guard) guard {
	var g guard
	if entry.Breaker != nil {
		if old != nil && old.breaker != nil {
			g.breaker = old.breaker
		} else {
			g.breaker = breaker.New(breakerRule(entry.Breaker))
		}
	}
	if rule := entry.Concurrency; rule != nil {
		if old != nil && old.bulkhead != nil {
			g.bulkhead = old.bulkhead
		} else {
			g.bulkhead = bulkhead.New(rule.Max, rule.Queue)
		}
	}
	before := map[string]*bulkhead.Bulkhead{}
	if old != nil {
		for _, tool := range oldEntry.Tools {
			if tool.Value.Concurrency != nil {
				before[tool.Key] = old.toolBulkheads[tool.Value.Concurrency]
			}
		}
	}
	for _, tool := range entry.Tools {
		rule := tool.Value.Concurrency
		if rule == nil {
			continue
		}
		if g.toolBulkheads == nil {
			g.toolBulkheads = map[*config.Concurrency]*bulkhead.Bulkhead{}
		}
		if g.toolBulkheads[rule] = before[tool.Key]; g.toolBulkheads[rule] == nil {
			g.toolBulkheads[rule] = bulkhead.New(rule.Max, rule.Queue)
		}
	}
	return g
}

// apply makes what the guard shares with the previous one follow the entry's rules.
func (g *guard) apply(entry *config.Server) {
	if g.breaker != nil {
		g.breaker.Set(breakerRule(entry.Breaker))
	}
	if g.bulkhead != nil {
		g.bulkhead.Set(entry.Concurrency.Max, entry.Concurrency.Queue)
	}
	for rule, b := range g.toolBulkheads {
		b.Set(rule.Max, rule.Queue)
	}
}

// A Protection is the current state of what holds calls back from a server.
type Protection struct {
	Server    string
	Circuits  []breaker.State // the server's own, then its tools'; empty without a breaker
	Bulkheads []Bulkhead
}

// A Bulkhead is the state of a bulkhead for a server or some of its tools.
type Bulkhead struct {
	bulkhead.State

	Tools string // the name or pattern in the entry; "": all tools
}

// Protections returns the state for each server that has a breaker or bulkheads, in the file's order.
func (g *Gateway) Protections() []Protection {
	t, now := g.table.Load(), time.Now()
	var all []Protection
	names := make([]string, 0, len(t.named))
	for _, entry := range t.config.Servers {
		names = append(names, entry.Name)
	}
	for _, entry := range t.config.Endpoints {
		names = append(names, entry.Name)
	}
	for _, name := range names {
		to, p := t.named[name].target, Protection{Server: name}
		if to.breaker != nil {
			p.Circuits = to.breaker.States(now)
		}
		if to.bulkhead != nil {
			p.Bulkheads = append(p.Bulkheads, Bulkhead{State: to.bulkhead.State()})
		}
		for _, tool := range to.Tools {
			if b := to.toolBulkheads[tool.Value.Concurrency]; b != nil {
				p.Bulkheads = append(p.Bulkheads, Bulkhead{Tools: tool.Key, State: b.State()})
			}
		}
		if p.Circuits != nil || p.Bulkheads != nil {
			all = append(all, p)
		}
	}
	return all
}
