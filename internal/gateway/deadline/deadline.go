// Package deadline ends calls in time: when nothing has been heard of a call for too long, and in any case when its
// longest time is over.
//
//	call begins ......... sign of life ......... question to the client ............ answer ........ end
//	|-- quiet ----------->|-- quiet ------------>|      does not count               |-- quiet ----->|
//	|-- most --------------------------------------------------------------------------------------->|
package deadline

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A Deadline ends a context when a call has shown no sign of life for some time, and at the latest after a
// maximum time. While the server waits for an answer from its client, only the maximum counts. It can be
// reused after it was stopped.
//
// A timer that fires too early is set again then. Setting it for each call would cost more, and wake a thread
// that waits for the network.
type Deadline struct {
	mu     sync.Mutex
	timer  *time.Timer
	fires  time.Time               // the timer; zero: not running
	cancel context.CancelCauseFunc // nil: not running
	cause  func(within time.Duration) error
	quiet  time.Duration
	most   time.Duration
	ends   time.Time // the current end
	last   time.Time // when it ends in any case
	asking int       // questions that the client has not answered yet
}

// Start starts the time. When it is over, cancel is called with the result of cause.
func (d *Deadline) Start(quiet, most time.Duration, cancel context.CancelCauseFunc, cause func(within time.Duration) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now, first := time.Now(), min(quiet, most)
	d.cancel, d.cause, d.asking = cancel, cause, 0
	d.quiet, d.most, d.last = quiet, most, now.Add(most)
	d.move(now.Add(first))
}

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

// end ends the context if its time is over.
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
	if !d.ends.Before(d.last) { // no sign of life could have extended it
		within = d.most
	}
	d.cancel(d.cause(within))
	d.cancel = nil
}

// Stop stops the deadline without ending the context.
func (d *Deadline) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cancel, d.cause = nil, nil
}

// Alive records a sign of life.
func (d *Deadline) Alive() { d.note(0, false) }

// Suspend records that the server waits for its client, until its next sign of life.
func (d *Deadline) Suspend() { d.note(0, true) }

// note records a sign of life, a change in the number of open questions, and whether the server waits for its
// client in any case.
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

// Left returns the time until the current end.
func (d *Deadline) Left() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.ends)
}

// maxQuestions limits the open questions to a client whose answers are looked for.
const maxQuestions = 256

// Questions are the questions that a server has asked a client during calls. The zero value is empty.
type Questions struct {
	mu   sync.Mutex
	open []question
}

type question struct {
	id wire.ID
	of *Deadline // of the call that waits for the answer
}

// Ask records that a call waits for the answer to a question: until it comes, or to the call's last moment if
// there are too many questions.
func (q *Questions) Ask(id wire.ID, of *Deadline) {
	of.note(1, true)
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.open) < maxQuestions {
		q.open = append(q.open, question{id: id.Clone(), of: of})
	}
}

// Answer records that the client has answered the question with that id.
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
