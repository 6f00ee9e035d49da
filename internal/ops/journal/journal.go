// Package journal records how calls ended: all failures, and a share of the successes. It writes in the
// background, in batches, and never blocks a call: what cannot be written is counted.
//
//	a call has ended
//	  |  Journal.Ended       is it wanted
//	  v
//	waiting                  a limited number of calls; one too many is lost, and counted
//	  |  writer              makes rows of a batch, with arguments masked
//	  v
//	store.Journal            from which the keeper removes what is too old or too much
//	  |  Find, Of, Failures  make calls of rows again
//	  v
//	the console, recourse failures and explain, package journaltools
package journal

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/store"
)

// Rows is where a journal is stored: [store.Journal].
type Rows interface {
	Next() int64
	Append(ctx context.Context, entries []*store.Entry) (size int64, err error)
	Of(ctx context.Context, requestID string) ([]*store.Entry, error)
	Retell(ctx context.Context, e *store.Entry) error
	Size(ctx context.Context) (int64, error)
	Prune(ctx context.Context, before time.Time, bytes int64) (pruned int64, more bool, err error)
	Count(ctx context.Context, now time.Time) (more bool, err error)
	Tidy(ctx context.Context) error
}

var _ Rows = (*store.Journal)(nil)

// Limits of what waits to be written.
const (
	maxWaiting = 8192     // calls
	maxHeld    = 16 << 20 // bytes of their requests
)

// Journal is an observer of the gateway. It is safe for concurrent use.
type Journal struct {
	rows     Rows
	log      *slog.Logger
	settings atomic.Pointer[config.Journal]

	mu      sync.Mutex
	waiting []ended
	late    []*observe.Late // of calls that have been written, or wait
	held    int
	closed  bool
	fault   error // of the last attempt to write
	teller  teller
	handed  *handed // nil: what a kill loses is not counted

	more    chan struct{} // holds a token when something waits
	wrote   chan struct{} // and when something was written
	closing chan struct{}
	done    sync.WaitGroup // the writer and the keeper have ended
	life    context.Context
	end     context.CancelFunc

	written, lost atomic.Uint64
	size, grew    atomic.Int64 // bytes of all calls, about, and of those that were written here
}

var _ observe.LateObserver = (*Journal)(nil)

// An ended call waits to be written.
type ended struct {
	seq     int64
	outcome *observe.Outcome
}

// New returns a journal stored in rows, and starts writing it. End it with [Journal.Close].
func New(rows Rows, settings *config.Journal, log *slog.Logger) *Journal {
	j := &Journal{rows: rows, log: log, more: make(chan struct{}, 1), wrote: make(chan struct{}, 1), closing: make(chan struct{})}
	j.settings.Store(settings)
	j.life, j.end = context.WithCancel(context.Background())
	j.done.Go((&writer{Journal: j}).run)
	j.done.Go((&keeper{Journal: j}).run)
	return j
}

// Configure changes what is kept from now on.
func (j *Journal) Configure(settings *config.Journal) { j.settings.Store(settings) }

// Answering implements [observe.AnsweringObserver]: a kill loses such a call as well.
func (j *Journal) Answering(o *observe.Outcome) bool {
	if !keeps(j.settings.Load(), o) {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.handed.add()
	return true
}

// Ended implements [observe.Observer].
func (j *Journal) Ended(o *observe.Outcome) {
	kept := keeps(j.settings.Load(), o)
	if !kept && !o.Early {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	fits := !j.closed && len(j.waiting) < maxWaiting && j.held+o.Request.Held <= maxHeld
	switch {
	case !kept:
		j.handed.less()
		return
	case !o.Early:
		j.handed.add()
	}
	if !fits {
		j.lost.Add(1)
		return
	}
	j.waiting = append(j.waiting, ended{j.rows.Next(), o.Keep()})
	j.held += o.Request.Held
	if n := len(j.waiting); n > 1 && n != maxBatch { // the writer waits for a batch to fill: it is not woken for each call
		return
	}
	j.wake()
}

// Late implements [observe.LateObserver].
func (j *Journal) Late(l *observe.Late) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed || len(j.late) >= maxWaiting {
		return
	}
	j.late = append(j.late, l)
	j.wake()
}

func (j *Journal) wake() {
	select {
	case j.more <- struct{}{}:
	default:
	}
}

// takeLate takes what came late.
func (j *Journal) takeLate() []*observe.Late {
	j.mu.Lock()
	defer j.mu.Unlock()
	taken := j.late
	j.late = nil
	return taken
}

// keeps reports whether a call is recorded.
func keeps(s *config.Journal, o *observe.Outcome) bool {
	switch {
	case failed(o):
		return s.Failures
	case o.Method == "": // a stream, or the end of a session
		return false
	case o.Sent > 1, o.Seeming != nil:
		return s.Failures
	default:
		return o.Lot < s.Successes
	}
}

// take takes up to most waiting calls, and reports whether there were more.
func (j *Journal) take(most int) (taken []ended, more bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := min(most, len(j.waiting))
	taken, j.waiting = j.waiting[:n:n], j.waiting[n:]
	for _, e := range taken {
		j.held -= e.outcome.Request.Held
	}
	if len(j.waiting) == 0 {
		j.waiting = nil
	}
	return taken, j.waiting != nil
}

// Stats are a journal's counts since it was started.
type Stats struct {
	Written uint64 // calls
	Lost    uint64 // calls that could not be written
	Waiting int    // calls that have not been written yet
}

// Stats returns the counts.
func (j *Journal) Stats() Stats {
	j.mu.Lock()
	defer j.mu.Unlock()
	return Stats{Written: j.written.Load(), Lost: j.lost.Load(), Waiting: len(j.waiting)}
}

// Fault returns why calls cannot be written at the moment, or nil.
func (j *Journal) Fault() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fault
}

func (j *Journal) setFault(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fault = err
}

// Close writes what is still waiting, as long as ctx allows, and ends the journal. It is called once, after
// the last call.
func (j *Journal) Close(ctx context.Context) {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	close(j.closing)
	stop := context.AfterFunc(ctx, j.end)
	defer stop()
	j.done.Wait()
	j.end()
	j.handed.remove()
}
