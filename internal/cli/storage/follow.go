package storage

import (
	"context"
	"slices"
	"time"

	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/store"
)

const (
	// followEvery is how often to look for new calls, and followAtOnce how many of them are listed at
	// most.
	followEvery  = 500 * time.Millisecond
	followAtOnce = 1000
	// late is how long after its end a call may still be written, and how far the clocks of replicas
	// may differ.
	late = 2 * time.Minute
)

// A follower finds calls as they are written, each once: replicas do not write them in the order in
// which they end.
type follower struct {
	rows   *store.Journal
	filter store.Filter
	seen   map[int64]time.Time // by Seq: when a call ended or was found, whichever is later
	read   time.Time           // when the journal was read last
}

// newFollower returns a follower that has seen all calls written so far.
func newFollower(ctx context.Context, rows *store.Journal, filter *store.Filter) (*follower, error) {
	f := &follower{rows: rows, filter: *filter, seen: map[int64]time.Time{}, read: time.Now()}
	f.filter.Limit = followAtOnce
	_, err := f.find(ctx)
	return f, err
}

// find returns the calls that have been written since it was last called.
func (f *follower) find(ctx context.Context) ([]*journal.Row, error) {
	began, next := time.Now(), f.filter
	if since := f.read.Add(-late); since.After(next.Since) {
		next.Since = since
	}
	calls, err := journal.Find(ctx, f.rows, &next)
	if err != nil {
		return nil, err
	}
	calls = slices.DeleteFunc(calls, func(call *journal.Row) bool { return !f.seen[call.Seq].IsZero() })
	f.read = began
	f.note(calls)
	for seq, at := range f.seen {
		if began.Sub(at) > 2*late {
			delete(f.seen, seq)
		}
	}
	return calls, nil
}

// note records that calls have been listed.
func (f *follower) note(calls []*journal.Row) {
	for _, call := range calls {
		at := time.Now()
		if ended := call.Ended(); ended.After(at) { // by the clock of a replica
			at = ended
		}
		f.seen[call.Seq] = at
	}
}

// follow lists calls as they are written, until ctx ends. If the store cannot be read, follow
// reports that and tries again.
func (c *FailuresCommand) follow(ctx context.Context, env *term.Environment, next *follower) error {
	var fault error
	for pause.For(ctx, followEvery) {
		calls, err := next.find(ctx)
		if ctx.Err() == nil {
			tellFault(env, fault, err)
		}
		fault = err
		if err := c.print(env, calls, false); err != nil {
			return err
		}
	}
	return nil
}

// tellFault reports when the journal becomes unreadable or readable again.
func tellFault(env *term.Environment, before, now error) {
	switch {
	case before == nil && now != nil:
		term.Printf(env.Stderr, "recourse: cannot read the journal now: %s\n", now.Error())
	case before != nil && now == nil:
		term.Printf(env.Stderr, "recourse: reading the journal again\n")
	}
}
