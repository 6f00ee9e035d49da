// Package deadline ends calls in time.
package deadline

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/wire"
)

// A Deadline ends a context when a call has shown no sign of life for a time, and at the
// latest after another. While the server waits for its client, whom it has asked something,
// only the latter counts. It can be used again when it has been stopped.
//
// A timer that goes off too early is set again when it does. To set it for each call would
// cost more, and wake a thread that waits for the network.
type Deadline struct {
	mu     sync.Mutex
	timer  *time.Timer
	fires  time.Time               // the timer; zero: it does not run
	cancel context.CancelCauseFunc // nil: it does not run
	cause  func(within time.Duration) error
	quiet  time.Duration
	most   time.Duration
	ends   time.Time // as it stands
	last   time.Time // at which it ends whatever happens
	asking int       // questions that the client has not answered yet
}

// Start begins the time. At its end cancel is called with what cause makes of it.
func (d *Deadline) Start(quiet, most time.Duration, cancel context.CancelCauseFunc, cause func(within time.Duration) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, first := time.Now(), min(quiet, most)
	d.cancel, d.cause, d.asking = cancel, cause, 0
	d.quiet, d.most, d.last = quiet, most, now.Add(most)
	d.move(now.Add(first))
}

// move sets the end.
func (d *Deadline) move(ends time.Time) {
	d.ends = ends
	if !d.fires.IsZero() && !ends.Before(d.fires) {
		return
	}
	d.fires = ends
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(ends), d.end)
	} else {
		d.timer.Reset(time.Until(ends))
	}
}

// end ends the context when its time has come.
func (d *Deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fires = time.Time{}
	if d.cancel == nil {
		return
	}
	if time.Now().Before(d.ends) {
		d.move(d.ends)
		return
	}
	within := d.quiet
	if !d.ends.Before(d.last) { // no sign of life could have made it any longer
		within = d.most
	}
	d.cancel(d.cause(within))
	d.cancel = nil
}

// Stop ends the deadline, but not the context.
func (d *Deadline) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cancel, d.cause = nil, nil
}

// Alive notes a sign of life.
func (d *Deadline) Alive() { d.note(0, false) }

// Suspend notes that the server waits for its client, until its next sign of life.
func (d *Deadline) Suspend() { d.note(0, true) }

// note notes a sign of life, a change in the number of open questions, and whether the
// server waits for its client in any case.
func (d *Deadline) note(asking int, waits bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asking += asking
	if d.cancel == nil {
		return
	}
	ends := d.last
	if quiet := time.Now().Add(d.quiet); !waits && d.asking == 0 && quiet.Before(d.last) {
		ends = quiet
	}
	d.move(ends)
}

// Left returns the time until the end, as it stands.
func (d *Deadline) Left() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.ends)
}

// maxQuestions bounds the open questions to a client whose answers are looked for.
const maxQuestions = 256

// Questions are those that a server has asked a client in the course of calls. The
// zero value is none.
type Questions struct {
	mu   sync.Mutex
	open []question
}

type question struct {
	id wire.ID
	of *Deadline // of the call that waits for the answer
}

// Ask notes that a call waits for the answer to a question: until that comes, or to
// its last moment where there are too many.
func (q *Questions) Ask(id wire.ID, of *Deadline) {
	of.note(1, true)
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.open) < maxQuestions {
		q.open = append(q.open, question{id: id.Clone(), of: of})
	}
}

// Answer notes that the client has answered the question with that id.
func (q *Questions) Answer(id wire.ID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, asked := range q.open {
		if asked.id.Equal(id) {
			q.open = slices.Delete(q.open, i, i+1)
			asked.of.note(-1, false)
			return
		}
	}
}

// Drop forgets the questions of a call that has ended.
func (q *Questions) Drop(of *Deadline) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open = slices.DeleteFunc(q.open, func(asked question) bool { return asked.of == of })
}
