package simulate

import (
	"encoding/json"
	"fmt"
	"time"
)

// patience is how long a task may take.
const patience = 2 * time.Minute

// never is when a fault passes that lasts.
var never = epoch.AddDate(1000, 0, 0)

// A task is one goal: to read an order, or to create one, once.
type task struct {
	id       string
	writes   bool
	luck     luck
	began    time.Time
	deadline time.Time

	attempts int // calls of the agent's
	faults   int
	silent   bool      // one of the faults looked like a success
	passes   time.Time // when the first of the faults is over
	slept    time.Duration

	// It is a coroutine, which yields when it goes on.
	next  func() (time.Time, bool)
	yield func(time.Time) bool
	stop  func()
}

func newTask(w *world, seed uint64, number int, now time.Time) *task {
	t := &task{
		id: fmt.Sprintf("T-%d", number), writes: number%2 == 1, luck: w.luckOf(seed, number),
		began: now, deadline: now.Add(patience), passes: now,
	}
	if f, end := w.outage(now); f != nil { // whether or not a call is made in it
		t.met(f, end)
	}
	return t
}

// call returns the call that meets the goal.
func (t *task) call() call {
	if t.writes {
		return call{Name: toolWrite, Arguments: fmt.Appendf(nil, `{"order":{"externalId":%q}}`, t.id)}
	}
	return call{Name: toolRead, Arguments: fmt.Appendf(nil, `{"externalIds":[%q]}`, t.id)}
}

// met notes a fault that befell a call of the task, and when it passes.
func (t *task) met(f *fault, passes time.Time) {
	if t.faults == 0 {
		t.passes = passes
	}
	t.faults++
	t.silent = t.silent || f.silent()
}

// recoverable is the oracle: it knows when the first fault of the task passes, and that a call after that can meet the
// goal before the deadline.
func (t *task) recoverable() bool { return t.passes.Add(latency).Before(t.deadline) }

// A claim is what an agent says in the end.
type claim struct {
	done bool   // the goal is met
	says string // of a read: the status
	open bool   // it failed, and it is said not to be known whether anything was done
}

// true reports whether a claim is so, after the order was created so many times.
func (t *task) isTrue(c claim, created int) bool {
	switch {
	case c.done && t.writes:
		return created > 0
	case c.done:
		return c.says == statusNow
	default:
		return c.open || created == 0
	}
}

// claimOf returns what a script makes of a result.
func claimOf(t *task, result json.RawMessage) claim {
	var r struct {
		StructuredContent struct {
			Items []struct {
				Status string `json:"status"`
			} `json:"items"`
		} `json:"structuredContent"`
	}
	c := claim{done: true}
	if !t.writes && json.Unmarshal(result, &r) == nil && len(r.StructuredContent.Items) > 0 {
		c.says = r.StructuredContent.Items[0].Status
	}
	return c
}
