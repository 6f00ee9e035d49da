package breaker

import (
	"maps"
	"slices"
	"time"
)

// A Status is what a circuit does with calls.
type Status string

// The statuses.
const (
	StatusClosed   Status = "closed"    // they pass
	StatusOpen     Status = "open"      // they are refused
	StatusHalfOpen Status = "half-open" // one at a time passes, to probe
)

// A State is what a circuit shows to those who watch.
type State struct {
	Tool    string // "": it is the server's
	Status  Status
	Wait    time.Duration // until a call may probe
	Calls   int           // in the window
	Failed  int           // of them
	Refused int64         // calls, in all
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
