package breaker

import (
	"maps"
	"slices"
	"time"
)

// A Status is what a circuit does with calls.
type Status string

// The statuses of a circuit.
const (
	StatusClosed   Status = "closed"    // calls pass
	StatusOpen     Status = "open"      // calls are refused
	StatusHalfOpen Status = "half-open" // one call at a time passes, to probe
)

// A State is a circuit's state for observers.
type State struct {
	Tool    string // "": the server's circuit
	Status  Status
	Wait    time.Duration // until a call may probe
	Calls   int           // in the window
	Failed  int           // failed ones among them
	Refused int64         // total calls
}

// States returns the state of the server's circuit and then those of its tools, by name.
func (b *Breaker) States(now time.Time) []State {
	b.mu.Lock()
	defer b.mu.Unlock()
	states := []State{b.server.state(now, "", &b.rule)}
	for _, tool := range slices.Sorted(maps.Keys(b.tools)) {
		states = append(states, b.tools[tool].state(now, tool, &b.rule))
	}
	return states
}

func (l *lane) state(now time.Time, tool string, rule *Settings) State {
	s := State{Tool: tool, Status: StatusClosed, Refused: l.refused}
	s.Calls, s.Failed = l.window.sums(now, rule.Window)
	if !l.Closed() {
		s.Status = StatusHalfOpen
		if s.Wait = max(l.Until().Sub(now), 0); s.Wait > 0 {
			s.Status = StatusOpen
		}
	}
	return s
}
