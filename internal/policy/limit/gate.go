package limit

import (
	"context"
	"sync"
	"time"
)

// A Bound says how many calls with the same key may be in progress at once, and how many others may wait.
type Bound struct {
	ID     string // identifies what is counted: see [Window]
	Name   string // for people
	AtOnce int
	Queue  int
	Wait   time.Duration
}

// A Gate limits how many calls are in progress at once, in this process. It only remembers callers with a
// call in progress. The zero value is ready to use, and safe for concurrent use.
type Gate struct {
	mu     sync.Mutex
	crowds map[gateKey]*crowd
	idle   []*crowd // for reuse
}

type gateKey struct {
	id  string
	key Key
}

// A crowd holds the calls with the same key.
type crowd struct {
	inside *Bulkhead
	of     Bound
	calls  int // inside or waiting
}

// maxIdle limits how many crowds are kept for reuse.
const maxIdle = 256

// Enter returns when the call may continue; unless it returns an error, Leave must be called. The error is
// [ErrFull], [ErrWaited], or that of ctx.
func (g *Gate) Enter(ctx context.Context, of *Bound, key Key) error {
	err := g.join(of, key).inside.Enter(ctx, of.Wait)
	if err != nil {
		g.leave(of, key)
	}
	return err
}

// Leave ends a call that has entered.
func (g *Gate) Leave(of *Bound, key Key) {
	if c := g.leave(of, key); c != nil {
		c.inside.Leave()
	}
}

// Waiting returns how many calls wait.
func (g *Gate) Waiting() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.crowds {
		n += c.inside.State().Queued
	}
	return n
}

func (g *Gate) join(of *Bound, key Key) *crowd {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := gateKey{of.ID, key}
	c := g.crowds[at]
	switch n := len(g.idle); {
	case c != nil:
	case n > 0:
		c, g.idle = g.idle[n-1], g.idle[:n-1]
	default:
		c = &crowd{inside: NewBulkhead(of.AtOnce, of.Queue), of: *of}
	}
	if c.of.AtOnce != of.AtOnce || c.of.Queue != of.Queue { // the configuration has changed
		c.inside.Set(of.AtOnce, of.Queue)
	}
	c.of = *of
	if c.calls++; c.calls == 1 {
		if g.crowds == nil {
			g.crowds = map[gateKey]*crowd{}
		}
		g.crowds[at] = c
	}
	return c
}

func (g *Gate) leave(of *Bound, key Key) *crowd {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := gateKey{of.ID, key}
	c := g.crowds[at]
	if c == nil {
		return nil
	}
	if c.calls--; c.calls == 0 {
		delete(g.crowds, at)
		if len(g.idle) < maxIdle {
			g.idle = append(g.idle, c)
		}
	}
	return c
}
