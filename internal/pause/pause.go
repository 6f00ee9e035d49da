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
