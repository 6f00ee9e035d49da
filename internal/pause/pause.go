// Package pause waits.
package pause

import (
	"context"
	"time"
)

// For waits that long, and reports false when ctx has ended meanwhile.
func For(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Until waits until done is closed, but no longer than that, and reports whether it was long enough.
func Until(done <-chan struct{}, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// A Turn lets some go on at a time, and makes the others wait.
type Turn chan struct{}

// NewTurn returns one that lets that many go on.
func NewTurn(most int) Turn { return make(Turn, most) }

// Take waits for a turn, which Leave ends. It reports false if there is none before ctx ends.
func (t Turn) Take(ctx context.Context) bool {
	select {
	case t <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// Leave ends a turn.
func (t Turn) Leave() { <-t }
