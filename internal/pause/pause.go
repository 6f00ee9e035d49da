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
