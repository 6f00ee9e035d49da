package work_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/work"
)

// The end of a group, or of what it is within, reaches the work; nothing starts afterwards, and End waits for what goes on.
func TestGroup(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(g *work.Group, cancel func()){
		"its own end":   func(*work.Group, func()) {},
		"the other end": func(_ *work.Group, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				g := work.Within(ctx)
				var left time.Time
				began := time.Now()
				if !g.Go(func(ctx context.Context) {
					<-ctx.Done()
					time.Sleep(time.Minute)
					left = time.Now()
				}) {
					t.Fatal("it does not start")
				}
				ends(g, cancel)
				g.End()
				if took := left.Sub(began); took != time.Minute {
					t.Errorf("End did not wait: %s", took)
				}
				if g.Go(func(context.Context) { t.Error("it runs") }) || g.Life().Err() == nil {
					t.Error("something starts after the end")
				}
				g.End() // again does nothing
				ended := make(chan error)
				g.Anyway(func(ctx context.Context) { ended <- ctx.Err() })
				if err := <-ended; err == nil {
					t.Error("it runs as if nothing had ended")
				}
			})
		})
	}
}

// All work is done, however much of it there is at a time, and whether or not goroutines wait for it. None is left after End.
func TestGroupDoesAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := work.New()
		var done atomic.Int32
		for range 3 {
			for range 100 {
				g.Go(func(context.Context) {
					time.Sleep(time.Second)
					done.Add(1)
				})
			}
			time.Sleep(2 * time.Second)
		}
		if got := done.Load(); got != 300 {
			t.Errorf("%d are done", got)
		}
		g.End()
	})
}
