package store_test

import (
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/store"
)

// There is one row for a key; it changes only by its fence and state, and counts until it expires.
func TestOnce(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		calls, ctx := open(t, address).Once(), t.Context()
		at := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
		row := &once.Row{
			ID: once.ID("a"), Fence: 1, State: once.Sent, Owner: "o1", Print: "p", Fields: "{}", Nonce: "n", Server: "shop", Tool: "pay",
			Created: at, Changed: at, Expires: at.Add(time.Hour),
		}
		other := *row
		other.Owner, other.Created = "o2", at.Add(time.Minute)
		if existing, err := calls.Begin(ctx, row); existing != nil || err != nil {
			t.Fatalf("got %+v, %v", existing, err)
		}
		if existing, err := calls.Begin(ctx, &other); err != nil || cmp.Diff(row, existing) != "" {
			t.Errorf("got %+v, %v, want the first row", existing, err)
		}
		done := *row
		done.State, done.Answer, done.Delivered, done.Fence = once.Answered, "x", true, 2
		for _, c := range []struct {
			fence int64
			from  once.State
			want  bool
		}{{7, once.Sent, false}, {1, once.Unknown, false}, {1, once.Sent, true}, {1, once.Sent, false}} {
			if got, err := calls.Change(ctx, &done, c.fence, c.from); got != c.want || err != nil {
				t.Errorf("fence %d from %s: changed %t, %v", c.fence, c.from, got, err)
			}
		}
		if got, err := calls.Row(ctx, row.ID); err != nil || cmp.Diff(&done, got) != "" {
			t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(&done, got))
		}
		if list, err := calls.List(ctx, &store.OnceFilter{Tool: "pay", ID: row.ID[:6]}); len(list) != 1 || err != nil {
			t.Errorf("listed %d rows, %v", len(list), err)
		}
		other.Created = at.Add(2 * time.Hour)
		if existing, err := calls.Begin(ctx, &other); existing != nil || err != nil {
			t.Errorf("after it has expired: %+v, %v", existing, err)
		}
		if err := calls.Remove(ctx, row.ID, 99); err != nil {
			t.Error(err)
		}
		for want, after := range []time.Duration{9 * time.Hour, 9 * 24 * time.Hour} { // it is under way
			if n, err := calls.Expire(ctx, at.Add(after), 10); n != want || err != nil {
				t.Errorf("removed %d after %s, %v", n, after, err)
			}
		}
	})
}

func TestBeats(t *testing.T) {
	t.Parallel()
	databases(t, func(t *testing.T, address string) {
		t.Helper()
		calls, ctx := open(t, address).Once(), t.Context()
		for _, n := range []int64{1, 3, 2} {
			if err := calls.Beat(ctx, "o", n); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := calls.Beats(ctx, "o"); n != 3 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
		if n, err := calls.Beats(ctx, "nobody"); n != 0 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	})
}

// BenchmarkOnce makes calls that are written before they are sent, and after their answer.
func BenchmarkOnce(b *testing.B) {
	s, err := store.Open(b.Context(), "sqlite:"+filepath.Join(b.TempDir(), "once.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	calls := s.Once()
	var n atomic.Int64
	b.SetParallelism(16) // on two processors, 32 callers
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			now := time.Now()
			row := &once.Row{ID: once.ID(strconv.FormatInt(n.Add(1), 10)), Fence: 1, State: once.Sent, Created: now, Changed: now, Expires: now.Add(time.Hour)}
			if _, err := calls.Begin(b.Context(), row); err != nil {
				b.Fatal(err)
			}
			row.State = once.Answered
			if ok, err := calls.Change(b.Context(), row, 1, once.Sent); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}
