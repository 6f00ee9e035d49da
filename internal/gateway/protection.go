package gateway

import (
	"time"

	"github.com/recoursehq/recourse/internal/breaker"
	"github.com/recoursehq/recourse/internal/bulkhead"
	"github.com/recoursehq/recourse/internal/config"
)

// A guard is what stands between the calls and one server. It outlives a reload as the backend does.
type guard struct {
	breaker       *breaker.Breaker                           // nil: there is none
	bulkhead      *bulkhead.Bulkhead                         // nil: there is none
	toolBulkheads map[*config.Concurrency]*bulkhead.Bulkhead // by the entry of a tool or pattern
}

// newGuard returns the guard of an entry, with the state of the one before, nil if there was none.
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

// apply has what the guard shares with the one before go by the rules of the entry.
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

// A Protection is what holds calls back from a server, as it is now.
type Protection struct {
	Server    string
	Circuits  []breaker.State // the server's own, and then its tools'; none without a breaker
	Bulkheads []Bulkhead
}

// A Bulkhead is the state of one that bounds the calls of a server, or of its tools.
type Bulkhead struct {
	bulkhead.State

	Tools string // the name or pattern in the entry; "": all
}

// Protections returns what holds calls back from each server that has a breaker or bounds, in the order of the file.
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
