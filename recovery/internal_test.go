package recovery

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// A circuitStep is a step in the kit's circuits: the wish to call a tool, or the end of an attempt.
type circuitStep struct {
	At      int64  `json:"at"`
	Tool    string `json:"tool"`
	Last    int64  `json:"last,omitempty"`
	Ends    string `json:"ends,omitempty"`
	Kind    string `json:"kind,omitempty"` // of the failure that ends the attempt or holds the call back
	AfterMs int64  `json:"afterMs,omitempty"`
	WaitMs  *int64 `json:"waitMs,omitempty"`
}

func begins(at int64, tool string, last int64) circuitStep {
	return circuitStep{At: at, Tool: tool, Last: last}
}

func ends(at int64, tool, how string) circuitStep { return circuitStep{At: at, Tool: tool, Ends: how} }

func fails(n int, at int64, tool, how string) []circuitStep {
	var steps []circuitStep
	for range n {
		steps = append(steps, begins(at, tool, 0), ends(at, tool, how))
	}
	return steps
}

// The kit shows how circuits open, wait and close, and clients in other languages must do the same.
func TestKitCircuits(t *testing.T) {
	t.Parallel()
	tool := fails(5, 0, "a", "down")
	way := fails(5, 0, "a", "unreached")
	said := ends(0, "a", "down")
	said.AfterMs = 7000
	limited := ends(0, "a", "answered")
	limited.Kind, limited.AfterMs = string(recourse.KindRateLimited), 5000
	sooner := limited
	sooner.At, sooner.AfterMs = 10, 1000
	var kit strings.Builder
	for _, scenario := range []struct {
		name   string
		before []circuitStep
		steps  []circuitStep
	}{
		{"four are too few", fails(4, 0, "a", "down"), []circuitStep{begins(0, "a", 0), ends(0, "a", "answered"), begins(0, "a", 0)}},
		{"a tool is down", tool, []circuitStep{begins(0, "a", 0), begins(0, "b", 0)}},
		{"the way is broken, for all tools", way, []circuitStep{begins(0, "a", 0), begins(0, "b", 0)}},
		{"those who wait have their turns", tool, []circuitStep{begins(10, "a", 0), begins(10, "a", 0), begins(1000, "a", 0)}},
		{"one tries at a time", way, []circuitStep{
			begins(1000, "a", 0), begins(1050, "b", 0), begins(1700, "b", 0), begins(9000, "b", 0),
		}},
		{"one that gets through closes it", way, []circuitStep{begins(1000, "b", 0), ends(1100, "b", "answered"), begins(1100, "a", 0)}},
		{"one that fails opens it for longer", tool, []circuitStep{begins(1000, "a", 0), ends(1100, "a", "down"), begins(1100, "a", 0)}},
		{"it opens for half a minute at most", slices.Concat(
			tool, fails(1, 1000, "a", "down"), fails(1, 3000, "a", "down"), fails(1, 7000, "a", "down"),
			fails(1, 15_000, "a", "down"), fails(1, 31_000, "a", "down"),
		), []circuitStep{begins(31_000, "a", 0), begins(61_000, "a", 0)}},
		{"an answer closes the way, and tells of one tool", tool, []circuitStep{
			begins(0, "b", 0), ends(0, "b", "answered"), begins(0, "a", 0),
		}},
		{"a tool that is down is reached", fails(4, 0, "a", "unreached"), append(fails(1, 0, "a", "down"), begins(0, "a", 0))},
		{"what the server says is a minimum", fails(4, 0, "a", "down"), []circuitStep{begins(0, "a", 0), said, begins(0, "a", 0)}},
		{"one that is stopped tells nothing", way, []circuitStep{begins(1000, "a", 0), ends(1200, "a", "untold"), begins(1200, "b", 0)}},
		{"who can wait no longer tries early", tool, []circuitStep{
			begins(1000, "a", 0), ends(1100, "a", "down"), begins(1200, "a", 2200), begins(2200, "a", 2200),
		}},
		{"but not right after another", tool, []circuitStep{begins(100, "a", 900), begins(900, "a", 900)}},
		{"a limit holds all back, who then have their turns", []circuitStep{begins(0, "a", 0), limited}, []circuitStep{
			begins(10, "a", 0), sooner, begins(10, "b", 20), begins(4990, "c", 0), begins(5000, "a", 0),
		}},
		{"a limit comes before a circuit", way, []circuitStep{limited, begins(0, "a", 0), begins(5000, "a", 0)}},
		{"who tries and never ends makes way", way, []circuitStep{begins(1000, "a", 0), begins(30_999, "b", 0), begins(31_000, "b", 0)}},
	} {
		s := NewShared()
		base := time.Unix(1_000_000, 0)
		at := func(ms int64) time.Time { return base.Add(time.Duration(ms) * time.Millisecond) }
		steps := slices.Concat(scenario.before, scenario.steps)
		for i := range steps {
			step := &steps[i]
			if step.Ends != "" {
				o := map[string]health{"answered": answered, "unreached": unreached, "down": down, "untold": untold}[step.Ends]
				var e *recourse.Error
				switch {
				case step.Kind != "":
					e = recourse.RateLimited(time.Duration(step.AfterMs) * time.Millisecond)
				case o != answered:
					e = recourse.Unavailable("").WithRetryAfter(time.Duration(step.AfterMs) * time.Millisecond)
				}
				s.learn(at(step.At), step.Tool, o, e, 0)
				continue
			}
			var last time.Time
			if step.Last > 0 {
				last = at(step.Last)
			}
			wait, why := s.admit(at(step.At), last, step.Tool)
			if why != nil {
				step.Kind = string(why.Kind)
			}
			ms := wait.Milliseconds()
			step.WaitMs = &ms
		}
		line, err := json.Marshal(map[string]any{"name": scenario.name, "steps": steps})
		if err != nil {
			t.Fatal(err)
		}
		kit.Write(append(line, '\n'))
	}
	contracttest.Golden(t, filepath.Join("..", "contract", "testdata", "kit", "circuits.jsonl"), kit.String())
}
