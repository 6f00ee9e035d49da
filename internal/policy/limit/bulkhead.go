package limit

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// The reasons why a call is not let in.
var (
	ErrFull   = errors.New("the queue is full")
	ErrWaited = errors.New("the wait in the queue is over")
)

// A Bulkhead lets a limited number of calls in at once, so that a call that hangs starves no other. Others wait in a
// bounded queue, and enter in the order in which they came. It is safe for concurrent use.
type Bulkhead struct {
	mu      sync.Mutex
	most    int       // calls that may be in at once
	room    int       // size of the queue
	in      int       // calls that are in
	waiting list.List // of chan struct{}, each closed when its call is let in
	refused int64     // calls, in total
}

// NewBulkhead returns a bulkhead for most calls at once, and room others that wait.
func NewBulkhead(most, room int) *Bulkhead { return &Bulkhead{most: most, room: room} }

// Set changes the limits. Calls that are in, or waiting, stay.
func (b *Bulkhead) Set(most, room int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.most, b.room = most, room
	b.admit()
}

// Try lets a call in if it need not wait. [Bulkhead.Leave] must be called when it ends.
func (b *Bulkhead) Try() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.try()
}

func (b *Bulkhead) try() bool {
	if b.in >= b.most || b.waiting.Len() > 0 {
		return false
	}
	b.in++
	return true
}

// Enter lets a call in, and waits up to that long for its turn. Without an error, [Bulkhead.Leave] must be
// called when the call ends. The error is ErrFull, ErrWaited, or that of ctx.
func (b *Bulkhead) Enter(ctx context.Context, wait time.Duration) error {
	b.mu.Lock()
	if b.try() {
		b.mu.Unlock()
		return nil
	}
	if b.waiting.Len() >= b.room {
		b.refused++
		b.mu.Unlock()
		return ErrFull
	}
	turn := make(chan struct{})
	place := b.waiting.PushBack(turn)
	b.mu.Unlock()

	timer := time.NewTimer(wait)
	defer timer.Stop()
	var err error
	select {
	case <-turn:
		return nil
	case <-timer.C:
		err = ErrWaited
	case <-ctx.Done():
		err = ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-turn: // at the last moment
		if errors.Is(err, ErrWaited) {
			return nil
		}
		b.leave()
	default:
		b.waiting.Remove(place)
	}
	if errors.Is(err, ErrWaited) {
		b.refused++
	}
	return err
}

// Leave ends a call that was let in.
func (b *Bulkhead) Leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.leave()
}

func (b *Bulkhead) leave() {
	b.in--
	b.admit()
}

// admit lets the first calls in the queue in, as long as there is room.
func (b *Bulkhead) admit() {
	for b.in < b.most && b.waiting.Len() > 0 {
		turn, _ := b.waiting.Remove(b.waiting.Front()).(chan struct{})
		b.in++
		close(turn)
	}
}

// A BulkheadState is the visible state of a bulkhead.
type BulkheadState struct {
	Max     int // calls at once
	In      int // calls that are in
	Queued  int // calls that wait
	Refused int64
}

// State returns the state of the bulkhead.
func (b *Bulkhead) State() BulkheadState {
	b.mu.Lock()
	defer b.mu.Unlock()
	return BulkheadState{Max: b.most, In: b.in, Queued: b.waiting.Len(), Refused: b.refused}
}
