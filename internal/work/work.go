// Package work runs in the background what belongs to no request.
package work

import (
	"context"
	"sync"
	"sync/atomic"
)

// A Group is work that ends with its owner. Create it with [New] or [Within], and end it with End. It is safe for concurrent use.
type Group struct {
	life context.Context
	end  context.CancelFunc

	mu    sync.Mutex // so that none starts once the others are waited for
	under sync.WaitGroup
	more  chan func(ctx context.Context) // for a goroutine that waits for more: its stack has grown already
}

// maxIdle limits the goroutines that wait, in all groups.
const maxIdle = 64

var idle atomic.Int32

// New returns a group.
func New() *Group { return Within(context.Background()) }

// Within returns a group whose work ends with ctx, at the latest.
func Within(ctx context.Context) *Group {
	g := &Group{more: make(chan func(ctx context.Context))}
	g.life, g.end = context.WithCancel(ctx)
	return g
}

// Life returns the context of the work.
func (g *Group) Life() context.Context { return g.life }

// Go runs f with the context of the work. It reports false, and does nothing, if that has ended.
func (g *Group) Go(f func(ctx context.Context)) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.life.Err() != nil {
		return false
	}
	select {
	case g.more <- f:
	default:
		g.under.Go(func() { g.run(f) })
	}
	return true
}

// run runs f, and then what comes, until nothing does or enough goroutines wait for it.
func (g *Group) run(f func(ctx context.Context)) {
	for f != nil {
		f(g.life)
		f = nil
		if idle.Add(1) <= maxIdle {
			select {
			case f = <-g.more:
			case <-g.life.Done():
			}
		}
		idle.Add(-1)
	}
}

// Anyway runs f even then, with its context ended: End does not wait for that.
func (g *Group) Anyway(f func(ctx context.Context)) {
	if !g.Go(f) {
		go f(g.life)
	}
}

// End ends the work, and waits until all of it has returned.
func (g *Group) End() {
	g.mu.Lock()
	g.end()
	g.mu.Unlock()
	g.under.Wait()
}
