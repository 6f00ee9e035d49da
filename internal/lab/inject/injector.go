package inject

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/recoursehq/recourse/internal/recent"
)

// An Injector decides which calls fail, and keeps the ledger. It is safe for concurrent use.
type Injector struct {
	mu      sync.Mutex
	plan    *Plan
	states  []RuleState
	ledger  Ledger
	entries map[string]int // in the ledger, by key
	answers map[string][]byte
	held    int                         // bytes of answers
	callers *recent.Map[string, string] // by their sessions of the legacy era
}

// RuleState says how often a rule was applied.
type RuleState struct {
	Fault string `json:"fault"`
	// Matched counts the calls that it matched, Injected those that it made fail, Running those that are
	// failing now.
	Matched  int `json:"matched"`
	Injected int `json:"injected"`
	Running  int `json:"running"`
}

// New returns an injector for the plan.
func New(plan *Plan) *Injector {
	const maxSessions = 10_000
	i := &Injector{callers: recent.New[string, string](recent.Bounds{Most: maxSessions})}
	i.SetPlan(plan)
	i.Reset()
	return i
}

// SetPlan replaces the plan. The ledger continues; rules start counting again.
func (i *Injector) SetPlan(plan *Plan) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.plan = plan
	i.restart()
}

// Reset empties the ledger, and makes every rule start over.
func (i *Injector) Reset() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ledger, i.entries = Ledger{Calls: []LedgerLine{}}, map[string]int{}
	i.answers, i.held = map[string][]byte{}, 0
	i.restart()
}

func (i *Injector) restart() {
	i.states = make([]RuleState, len(i.plan.Rules))
	for n, rule := range i.plan.Rules {
		i.states[n].Fault = rule.Fault.Name
	}
}

// Ledger returns a copy of the ledger.
func (i *Injector) Ledger() Ledger {
	i.mu.Lock()
	defer i.mu.Unlock()
	l := i.ledger
	l.Calls = slices.DeleteFunc(append([]LedgerLine{}, l.Calls...), func(e LedgerLine) bool { return e.counted })
	return l
}

// Rules returns the seed, and the state of each rule.
func (i *Injector) Rules() (seed int64, states []RuleState) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.plan.Seed, append([]RuleState{}, i.states...)
}

// A treatment says what happens to a call.
type treatment struct {
	fault  *Fault // nil: it succeeds
	effect Effect
	// remembers says that its answer is kept for a stale copy.
	remembers bool
	// number is drawn for the call.
	number uint64

	end func()
}

// take records a call and returns its treatment. end is called once the client has been given its answer.
func (i *Injector) take(c *intercept) treatment {
	i.mu.Lock()
	defer i.mu.Unlock()
	key := c.key()
	attempt := i.note(c, key)
	t := treatment{end: func() {}}
	for n, rule := range i.plan.Rules {
		state := &i.states[n]
		if rule.Fault.Name == stale && rule.Match.matches(c, 0) {
			t.remembers = true
		}
		if t.fault != nil || !rule.Match.matches(c, attempt) || c.tunnel && !rule.Fault.breaksTunnels() {
			continue
		}
		state.Matched++
		number := draw(i.plan.Seed, n, key, attempt)
		switch {
		case rule.Times > 0 && state.Injected >= rule.Times,
			rule.AtMost > 0 && state.Running >= rule.AtMost,
			float64(number>>11)/(1<<53) >= rule.Rate:
			continue
		}
		state.Injected++
		state.Running++
		if at, listed := i.entries[key]; listed {
			i.ledger.Calls[at].Faults++
		}
		t.fault, t.effect, t.number = &rule.Fault, rule.Effect, number
		t.end = sync.OnceFunc(func() {
			i.mu.Lock()
			defer i.mu.Unlock()
			state.Running--
		})
	}
	return t
}

// draw returns a number that only depends on the seed, the rule and the call.
func draw(seed int64, rule int, key string, attempt int) uint64 {
	text := binary.AppendVarint(nil, seed)
	text = binary.AppendVarint(text, int64(rule))
	text = binary.AppendVarint(text, int64(attempt))
	sum := sha256.Sum256(append(text, key...))
	return binary.BigEndian.Uint64(sum[:])
}

// note adds a call to the ledger, and returns how often it has been made.
func (i *Injector) note(c *intercept, key string) (attempt int) {
	at, listed := i.entries[key]
	if !listed {
		if len(i.ledger.Calls) == maxEntries {
			i.ledger.LeftOut++
			return 1
		}
		at = len(i.ledger.Calls)
		i.entries[key] = at
		i.ledger.Calls = append(i.ledger.Calls, LedgerLine{
			Tool: c.name(), Arguments: shownArguments(c.arguments), counted: c.tool == "" && c.path == "",
		})
	}
	i.ledger.Calls[at].Calls++
	return i.ledger.Calls[at].Calls
}

// reached records that a call has reached the server, or, with -1, that it has not after all.
func (i *Injector) reached(c *intercept, times int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if at, listed := i.entries[c.key()]; listed {
		i.ledger.Calls[at].Reached += times
	}
}

// maxHeld limits the answers that are kept for stale copies, in bytes.
const maxHeld = 64 << 20

// recall returns the first answer to the call, or this one if there was none.
func (i *Injector) recall(c *intercept, answer []byte) []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	key := c.key()
	if first, ok := i.answers[key]; ok {
		return first
	}
	if i.held+len(answer) <= maxHeld {
		i.held += len(answer)
		i.answers[key] = append([]byte{}, answer...)
	}
	return answer
}

// introduce records the name by which a session's client has introduced itself.
func (i *Injector) introduce(session, caller string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.callers.Remove(session)
	i.callers.Trim(1, func(string) bool { return false })
	i.callers.Put(session, caller, 0)
}

// callerOf returns the name of the client of a session.
func (i *Injector) callerOf(session string) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	caller, _ := i.callers.Get(session)
	return caller
}
