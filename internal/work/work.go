// Package work runs in the background what belongs to no request.
package work

import (
	"context"
	"sync"
)

// A Group is work that ends with its owner. Create it with [New] or [Within], and end it with End. It is safe for concurrent use.
type Group struct {
	life context.Context
	end  context.CancelFunc

	mu    sync.Mutex // so that none starts once the others are waited for
	under sync.WaitGroup
}

// New returns a group.
func New() *Group { return Within(context.Background()) }

// Within returns a group whose work ends with ctx, at the latest.
func Within(ctx context.Context) *Group {
	g := new(Group)
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
	g.under.Go(func() { f(g.life) })
	return true
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
