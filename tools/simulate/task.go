package main

import (
	"encoding/json"
	"fmt"
	"time"
)

// patience is how long a task may take.
const patience = 2 * time.Minute

// never is the end of a fault that does not pass.
var never = epoch.AddDate(1000, 0, 0)

// A task is one goal: to read an order, or to create one, exactly once.
type task struct {
	id       string
	writes   bool
	luck     luck
	began    time.Time
	deadline time.Time

	attempts int // calls by the agent
	faults   int
	silent   bool      // one of the faults looked like a success
	passes   time.Time // when the first of its faults ends
	slept    time.Duration

	// The task is a coroutine, which yields the time at which it wants to continue.
	next  func() (time.Time, bool)
	yield func(time.Time) bool
	stop  func()
}

func newTask(w *world, seed uint64, number int, now time.Time) *task {
	t := &task{
		id: fmt.Sprintf("T-%d", number), writes: number%2 == 1, luck: w.luckOf(seed, number),
		began: now, deadline: now.Add(patience), passes: now,
	}
	if f, end := w.outage(now); f != nil { // counted even if no call is made during it
		t.met(f, end)
	}
	return t
}

// call returns the call that achieves the goal.
func (t *task) call() toolCall {
	if t.writes {
		return toolCall{Name: toolWrite, Arguments: fmt.Appendf(nil, `{"order":{"externalId":%q}}`, t.id)}
	}
	return toolCall{Name: toolRead, Arguments: fmt.Appendf(nil, `{"externalIds":[%q]}`, t.id)}
}

// met notes that a fault has affected a call of the task, and when it passes.
func (t *task) met(f *trouble, passes time.Time) {
	if t.faults == 0 {
		t.passes = passes
	}
	t.faults++
	t.silent = t.silent || f.silent()
}

// recoverable is the oracle: it reports whether a call after the first fault can still reach the goal before the
// deadline.
func (t *task) recoverable() bool { return t.passes.Add(latency).Before(t.deadline) }

// A claim is what an agent says in the end.
type claim struct {
	done bool   // the goal is achieved
	says string // of a read: the order's status
	open bool   // it failed, and the agent says that the effect is not known
}

// isTrue reports whether a claim is true, given how often the order was created.
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

// claimOf returns what a script concludes from a result.
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
