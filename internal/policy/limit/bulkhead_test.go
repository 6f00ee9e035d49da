package limit_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/policy/limit"
)

func TestQueueIsServedInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := limit.NewBulkhead(1, 3)
		if err := b.Enter(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []int
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				if err := b.Enter(t.Context(), time.Minute); err != nil {
					t.Errorf("call %d: %v", i, err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Second)
				b.Leave()
			})
			synctest.Wait()
		}
		if b.Try() {
			t.Error("a call overtook the queue")
		}
		if err := b.Enter(t.Context(), time.Minute); !errors.Is(err, limit.ErrFull) {
			t.Errorf("a call beyond the queue: %v", err)
		}
		if got, want := b.State(), (limit.BulkheadState{Max: 1, In: 1, Queued: 3, Refused: 1}); got != want {
			t.Errorf("state %+v, want %+v", got, want)
		}
		b.Leave()
		all.Wait()
		if !slices.IsSorted(order) || len(order) != 3 {
			t.Errorf("got order %v", order)
		}
		if got, want := b.State(), (limit.BulkheadState{Max: 1, Refused: 1}); got != want {
			t.Errorf("state %+v, want %+v", got, want)
		}
	})
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := limit.NewBulkhead(1, 2)
		b.Try()
		began := time.Now()
		if err := b.Enter(t.Context(), 3*time.Second); !errors.Is(err, limit.ErrWaited) || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Enter(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 4*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if s := b.State(); s != (limit.BulkheadState{Max: 1, In: 1, Refused: 1}) { // a caller that gives up is not refused
			t.Errorf("state %+v", s)
		}
		b.Leave()
		if !b.Try() {
			t.Error("callers that gave up keep their places")
		}
	})
}

// A caller that gives up just when it is its turn leaves the place to others.
func TestCallerGoesAtItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 50 { // either may come first
			b := limit.NewBulkhead(1, 1)
			b.Try()
			ctx, cancel := context.WithCancel(t.Context())
			entered := make(chan error, 1)
			go func() { entered <- b.Enter(ctx, time.Minute) }()
			synctest.Wait()
			b.Leave()
			cancel()
			if <-entered == nil {
				b.Leave()
			}
			if s := b.State(); s.In != 0 {
				t.Fatalf("state %+v", s)
			}
		}
	})
}

// A larger limit lets waiting calls in; a smaller one does not end any call.
func TestSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := limit.NewBulkhead(1, 5)
		b.Try()
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				if err := b.Enter(t.Context(), time.Minute); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		b.Set(3, 0)
		all.Wait()
		b.Set(1, 0)
		for range 2 {
			b.Leave()
			if b.Try() {
				t.Fatal("a call got in beyond the smaller limit")
			}
		}
		b.Leave()
		if !b.Try() {
			t.Error("no call gets into the empty bulkhead")
		}
	})
}

// Whatever way calls end, none is lost and none gets in twice.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	b := limit.NewBulkhead(3, 50)
	var mu sync.Mutex
	in, most := 0, 0
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%7)*100*time.Microsecond)
			defer cancel()
			if b.Enter(ctx, time.Duration(i%5)*100*time.Microsecond) != nil {
				return
			}
			mu.Lock()
			in++
			most = max(most, in)
			mu.Unlock()
			time.Sleep(50 * time.Microsecond) // so that others wait for the place
			mu.Lock()
			in--
			mu.Unlock()
			b.Leave()
		})
	}
	all.Wait()
	if s := b.State(); most > 3 || s.In != 0 || s.Queued != 0 {
		t.Errorf("%d at once, final state %+v", most, s)
	}
}
