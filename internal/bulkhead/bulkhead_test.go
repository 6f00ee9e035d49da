package bulkhead_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/bulkhead"
)

func TestQueueIsServedInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bulkhead.New(1, 3)
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
			t.Error("a call passes those who wait")
		}
		if err := b.Enter(t.Context(), time.Minute); !errors.Is(err, bulkhead.ErrFull) {
			t.Errorf("a call beyond the queue: %v", err)
		}
		if got, want := b.State(), (bulkhead.State{Max: 1, In: 1, Queued: 3, Refused: 1}); got != want {
			t.Errorf("state %+v, want %+v", got, want)
		}
		b.Leave()
		all.Wait()
		if !slices.IsSorted(order) || len(order) != 3 {
			t.Errorf("the order is %v", order)
		}
		if got, want := b.State(), (bulkhead.State{Max: 1, Refused: 1}); got != want {
			t.Errorf("state %+v, want %+v", got, want)
		}
	})
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bulkhead.New(1, 2)
		b.Try()
		began := time.Now()
		if err := b.Enter(t.Context(), 3*time.Second); !errors.Is(err, bulkhead.ErrWaited) || time.Since(began) != 3*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Enter(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 4*time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		if s := b.State(); s != (bulkhead.State{Max: 1, In: 1, Refused: 1}) { // nobody has refused the one that left
			t.Errorf("state %+v", s)
		}
		b.Leave()
		if !b.Try() {
			t.Error("those who have given up keep their places")
		}
	})
}

// A caller who goes at the moment of its turn leaves the place to others.
func TestCallerGoesAtItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 50 { // it may see either first
			b := bulkhead.New(1, 1)
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

// A larger bound lets those in who wait; a smaller one sends nobody away.
func TestSet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := bulkhead.New(1, 5)
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
				t.Fatal("a call gets in beyond the smaller bound")
			}
		}
		b.Leave()
		if !b.Try() {
			t.Error("nobody is in, and no call gets in")
		}
	})
}

// However calls end, none is lost and none is in twice.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	b := bulkhead.New(3, 50)
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
			time.Sleep(50 * time.Microsecond)
			mu.Lock()
			in--
			mu.Unlock()
			b.Leave()
		})
	}
	all.Wait()
	if s := b.State(); most > 3 || s.In != 0 || s.Queued != 0 {
		t.Errorf("%d at once, and in the end %+v", most, s)
	}
}
