package limit_test

import (
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/policy/limit"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// Keys that differ in any part are counted separately.
func TestKeysAreCountedApart(t *testing.T) {
	t.Parallel()
	keys := []limit.Key{
		{},
		{Access: "a", Name: "b"},
		{Access: "ab"},
		{Name: "ab"},
		{Access: "b", Name: "a"},
		{Org: "ab"},
		{Tool: "ab"},
		{Digest: [32]byte{1}},
		{Address: netip.MustParseAddr("192.0.2.1")},
		{Address: netip.MustParseAddr("2001:db8::")},
		{Name: "a", Org: "b"},
		{Name: "a", Tool: "b"},
	}
	onBoth(t, func(t *testing.T, start func() *clocked) {
		t.Helper()
		c, w := start(), testWindow(1, time.Hour)
		for _, want := range []bool{true, false} {
			for _, key := range keys {
				if ok := c.take(t, []limit.Charge{{Window: w, Key: key}}); ok != want {
					t.Errorf("%+v: %t, want %t", key, ok, want)
				}
			}
		}
	})
}

// A call with an earlier time than the call before it does not let that one leave its window early.
func TestClockThatSeemsToGoBack(t *testing.T) {
	t.Parallel()
	m, began := limit.NewMemory(), time.Now()
	w := testWindow(2, time.Minute)
	for _, step := range []struct {
		at time.Duration
		ok bool
	}{{900 * time.Millisecond, true}, {100 * time.Millisecond, true}, {60500 * time.Millisecond, false}, {60910 * time.Millisecond, true}} {
		if ok, _ := m.Take(t.Context(), began.Add(step.at), []limit.Charge{{Window: w}}); ok != step.ok {
			t.Errorf("after %s: %t, want %t", step.at, ok, step.ok)
		}
	}
}

// hungRedis returns a counter in a Redis that accepts connections and never answers.
func hungRedis(t *testing.T) *limit.Redis {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts connections
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	return open(t, "redis://"+ln.Addr().String(), 100*time.Millisecond)
}

// While Redis hangs, one call at a time tries it.
func TestOneCallProbesRedis(t *testing.T) {
	t.Parallel()
	shared := limit.NewShared(hungRedis(t), limit.NewMemory(), false, slog.New(slog.DiscardHandler))
	w, now := testWindow(1000, time.Hour), time.Now()
	take := func(now time.Time) {
		if ok, err := shared.Take(t.Context(), now, []limit.Charge{{Window: w}}); err != nil || !ok {
			t.Error(ok, err)
		}
	}
	for range 3 {
		take(now)
	}
	later := time.Now().Add(2 * shared.RestsFor())
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() { take(later) })
	}
	calls.Wait()
	if n := shared.Failures(); n != 4 {
		t.Errorf("%d calls tried Redis, want 4", n)
	}
}

// Calls counted in memory while Redis failed are given back there.
func TestGiveBackWithoutRedis(t *testing.T) {
	t.Parallel()
	server := service.NewRedis(t)
	shared := limit.NewShared(open(t, server.URL, patient), limit.NewMemory(), false, slog.New(slog.DiscardHandler))
	w := testWindow(1, time.Hour)
	server.Stop()
	for range 3 {
		charges := []limit.Charge{{Window: w}}
		if ok, err := shared.Take(t.Context(), time.Now(), charges); err != nil || !ok {
			t.Fatal(ok, err)
		}
		shared.Give(t.Context(), charges)
	}
}

// A call that passed while no connection could be opened is told to Redis later: it was not sent.
func TestUnsentCallIsTold(t *testing.T) {
	t.Parallel()
	server := service.NewRedis(t)
	shared := limit.NewShared(open(t, server.URL, time.Second), limit.NewMemory(), false, slog.New(slog.DiscardHandler))
	w := testWindow(5, time.Hour)
	take := func() int64 {
		charges := []limit.Charge{{Window: w}}
		if ok, err := shared.Take(t.Context(), time.Now(), charges); err != nil || !ok {
			t.Error(ok, err)
		}
		return charges[0].Remaining
	}
	server.Pause(t)
	_, _ = take(), take()
	server.Resume(t)
	_ = take()
	alone := []limit.Charge{{Window: w}}
	if err := open(t, server.URL, patient).Look(t.Context(), time.Now(), alone); err != nil || alone[0].Remaining != 2 {
		t.Errorf("Redis has room for %d calls (%v), want 2", alone[0].Remaining, err)
	}
}
