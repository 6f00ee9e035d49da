package gateway

import (
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/policy/breaker"
	"github.com/recoursehq/recourse/internal/policy/limit"
)

// A guard stands between the calls and one server. Like the backend, it survives a reload.
type guard struct {
	breaker       *breaker.Breaker                        // nil: there is none
	bulkhead      *limit.Bulkhead                         // nil: there is none
	toolBulkheads map[*config.Concurrency]*limit.Bulkhead // by the entry of a tool or pattern
}

// newGuard returns an entry's guard. It takes over the state of the previous target's, which may be nil.
func newGuard(entry *config.Server, old *target) guard {
	var before guard
	toolsBefore := map[string]*limit.Bulkhead{}
	if old != nil {
		before = old.guard
		for _, tool := range old.entry.Tools {
			toolsBefore[tool.Key] = before.toolBulkheads[tool.Value.Concurrency]
		}
	}
	g := guard{bulkhead: bulkheadFor(entry.Concurrency, before.bulkhead), toolBulkheads: map[*config.Concurrency]*limit.Bulkhead{}}
	if entry.Breaker != nil {
		if g.breaker = before.breaker; g.breaker == nil {
			g.breaker = breaker.New(breakerRule(entry.Breaker))
		}
	}
	for _, tool := range entry.Tools {
		if rule := tool.Value.Concurrency; rule != nil {
			g.toolBulkheads[rule] = bulkheadFor(rule, toolsBefore[tool.Key])
		}
	}
	return g
}

// bulkheadFor returns the bulkhead for a rule: the previous one, if there is one.
func bulkheadFor(rule *config.Concurrency, before *limit.Bulkhead) *limit.Bulkhead {
	switch {
	case rule == nil:
		return nil
	case before != nil:
		return before
	default:
		return limit.NewBulkhead(rule.Max, rule.Queue)
	}
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

func breakerRule(entry *config.Breaker) breaker.Settings {
	return breaker.Settings{
		FailureRate: entry.FailureRate, Window: entry.Window, MinCalls: entry.MinCalls,
		OpenFor: entry.OpenFor, MaxOpen: entry.MaxOpen,
	}
}
