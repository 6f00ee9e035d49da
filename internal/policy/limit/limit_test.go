package limit_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"pgregory.net/rapid"

	"github.com/recoursehq/recourse/internal/policy/limit"
)

// A clocked is a counter with a clock that the test moves.
type clocked struct {
	limit.Counter

	now     time.Time
	advance func(time.Time) // moves the counter's own clock; nil if it has none
	tick    time.Duration   // the resolution of that clock
}

func (c *clocked) pass(d time.Duration) {
	c.now = c.now.Add(d)
	if c.advance != nil {
		c.advance(c.now)
	}
}

func (c *clocked) take(tb rapid.TB, charges []limit.Charge) bool {
	tb.Helper()
	ok, err := c.Take(context.Background(), c.now, charges)
	if err != nil {
		tb.Fatal(err)
	}
	return ok
}

// look returns what can be seen of charges without taking any.
func (c *clocked) look(tb rapid.TB, charges []limit.Charge) []limit.Charge {
	tb.Helper()
	seen := slices.Clone(charges)
	if err := c.Look(context.Background(), c.now, seen); err != nil {
		tb.Fatal(err)
	}
	return seen
}

// onBoth runs a test with each of the two counters. start returns a new one.
func onBoth(t *testing.T, test func(t *testing.T, start func() *clocked)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, func() *clocked { return &clocked{Counter: limit.NewMemory(), now: time.Now()} })
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := miniredis.RunT(t)
		inRedis := open(t, "redis://"+server.Addr(), time.Minute)
		begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		test(t, func() *clocked {
			server.FlushAll()
			server.SetTime(begin)
			return &clocked{Counter: inRedis, now: begin, advance: server.SetTime, tick: 2 * time.Millisecond}
		})
	})
}

func open(tb testing.TB, url string, patience time.Duration) *limit.Redis {
	tb.Helper()
	r, err := limit.OpenRedis(url, patience)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = r.Close() })
	return r
}

// A call is a call that was let through.
type call struct {
	at      time.Time
	charges []limit.Charge
}

// counted returns the times of the calls that count in a charge's window.
func counted(log []call, in *limit.Charge) (times []time.Time) {
	for _, c := range log {
		if slices.ContainsFunc(c.charges, func(other limit.Charge) bool { return other.Window == in.Window && other.Key == in.Key }) {
			times = append(times, c.at)
		}
	}
	return times
}

// within returns the number of times in the period d before now.
func within(times []time.Time, now time.Time, d time.Duration) (n int64) {
	for _, at := range times {
		if now.Sub(at) < d {
			n++
		}
	}
	return n
}

// A log of the calls shows that no window, whenever it begins, has more calls than allowed; that a call is refused only
// if a window that is a sixtieth longer would have too many; that either all windows are charged or none; and that a
// caller that waits as long as it is told gets through.
func TestWindowsSlide(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, start func() *clocked) {
		t.Helper()
		rapid.Check(t, func(t *rapid.T) {
			c := start()
			windows := []*limit.Window{
				{ID: "{t}:short", Calls: rapid.Int64Range(1, 8).Draw(t, "short"), Length: time.Second},
				{ID: "{t}:long", Calls: rapid.Int64Range(1, 20).Draw(t, "long"), Length: time.Minute},
				{ID: "{t}:all", Calls: rapid.Int64Range(1, 30).Draw(t, "all"), Length: 1500 * time.Millisecond},
			}
			var log []call
			for range rapid.IntRange(1, 120).Draw(t, "calls") {
				c.pass(rapid.SampledFrom([]time.Duration{
					0, time.Microsecond, time.Millisecond, 17 * time.Millisecond, 100 * time.Millisecond, 983 * time.Millisecond,
					time.Second, 7 * time.Second, 61 * time.Second,
				}).Draw(t, "pass"))
				key := limit.Key{Name: rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "who")}
				charges := []limit.Charge{{Window: windows[0], Key: key}, {Window: windows[1], Key: key}, {Window: windows[2]}}
				seen := c.look(t, charges)
				ok := c.take(t, charges)
				checkTake(t, c, log, charges, ok)
				checkLook(t, seen, charges, ok)
				if ok {
					log = append(log, call{c.now, charges})
					if rapid.IntRange(0, 5).Draw(t, "give") == 0 {
						c.Give(context.Background(), charges)
						log = log[:len(log)-1]
					}
					continue
				}
				wait := waitOf(charges)
				if rapid.Bool().Draw(t, "wait") {
					c.pass(wait)
					again := slices.Clone(charges)
					if !c.take(t, again) {
						t.Fatalf("refused after the wait of %s: %+v", wait, again)
					}
					checkTake(t, c, log, again, true)
					log = append(log, call{c.now, again})
				}
			}
		})
	})
}

// checkLook compares what was seen before a call with what the call was told.
func checkLook(t *rapid.T, seen, charges []limit.Charge, ok bool) {
	t.Helper()
	charged := int64(0)
	if ok {
		charged = 1
	}
	for i := range seen {
		if seen[i].Remaining-charged != charges[i].Remaining {
			t.Fatalf("saw that %d remain, and then %d did (charged: %t)", seen[i].Remaining, charges[i].Remaining, ok)
		}
		if seen[i].Full() && seen[i].Reset != charges[i].Reset {
			t.Fatalf("saw a reset in %s, and then one in %s", seen[i].Reset, charges[i].Reset)
		}
	}
	if ok == slices.ContainsFunc(seen, func(c limit.Charge) bool { return c.Full() }) {
		t.Fatalf("saw %+v before a call that was charged: %t", seen, ok)
	}
}

// checkTake compares a counter's answer with the log of earlier calls.
func checkTake(t *rapid.T, c *clocked, log []call, charges []limit.Charge, ok bool) {
	t.Helper()
	blamed := false
	for i := range charges {
		in := &charges[i]
		times, w := counted(log, in), in.Window
		least, most := within(times, c.now, w.Length), within(times, c.now, w.Length+w.Length/60+c.tick)
		if ok {
			least, most = least+1, most+1
		}
		if ok && least > w.Calls {
			t.Fatalf("%s: %d calls in %s", w.ID, least, w.Length)
		}
		if in.Remaining > w.Calls-least || in.Remaining < w.Calls-most {
			t.Fatalf("%s: %d remain although %d to %d of %d are used", w.ID, in.Remaining, least, most, w.Calls)
		}
		if in.Reset < 0 || in.Reset > w.Length+c.tick {
			t.Fatalf("%s: got reset in %s", w.ID, in.Reset)
		}
		blamed = blamed || in.Full()
	}
	if !ok && !blamed {
		t.Fatalf("refused although there is room: %+v", charges)
	}
}

// waitOf returns the wait until all windows have room.
func waitOf(charges []limit.Charge) (wait time.Duration) {
	for i := range charges {
		if charges[i].Full() {
			wait = max(wait, charges[i].Reset)
		}
	}
	return wait
}

// A window that is full at the end of a minute is still full at the beginning of the next.
func TestWindowAcrossMinutes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, start func() *clocked) {
		t.Helper()
		c := start()
		w := &limit.Window{ID: "{t}:minute", Calls: 100, Length: time.Minute}
		try := func() (passed int) {
			for range 200 {
				if c.take(t, []limit.Charge{{Window: w}}) {
					passed++
				}
			}
			return passed
		}
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{59 * time.Second, 100}, {2 * time.Second, 0}, {57 * time.Second, 0}, {time.Second + 10*time.Millisecond, 100}} {
			c.pass(step.after)
			if n := try(); n != step.want {
				t.Errorf("%s later: %d calls passed, want %d", step.after, n, step.want)
			}
		}
	})
}

// Unused windows are forgotten, and a flood of callers displaces those that called least recently.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m, now := limit.NewMemory(), time.Now()
	w := &limit.Window{ID: "{t}:month", Calls: 1, Length: 30 * 24 * time.Hour}
	take := func(n int) bool {
		ok, _ := m.Take(t.Context(), now, []limit.Charge{{Window: w, Key: limit.Key{Digest: [32]byte{byte(n), byte(n >> 8), byte(n >> 16)}}}})
		return ok
	}
	const flood = 200_000
	for n := range flood {
		if !take(n) {
			t.Fatalf("the first call of caller %d was refused", n)
		}
	}
	if take(flood - 1) {
		t.Error("the last caller was forgotten")
	}
	if !take(0) {
		t.Error("no caller was forgotten: memory is not limited")
	}
}

// Windows that remain in a new configuration keep their counts, even if their limits change; the others are forgotten.
func TestKeep(t *testing.T) {
	t.Parallel()
	m, now := limit.NewMemory(), time.Now()
	charge := func(id string, calls int64, length time.Duration) []limit.Charge {
		return []limit.Charge{{Window: &limit.Window{ID: id, Calls: calls, Length: length}}}
	}
	for _, id := range []string{"{t}:kept", "{t}:gone"} {
		for range 3 {
			if ok, _ := m.Take(t.Context(), now, charge(id, 3, time.Minute)); !ok {
				t.Fatal("refused")
			}
		}
	}
	m.Keep([]*limit.Window{{ID: "{t}:kept", Length: time.Minute}})
	for name, test := range map[string]struct {
		charge []limit.Charge
		want   int64
	}{
		"raised":  {charge("{t}:kept", 5, time.Minute), 1},
		"removed": {charge("{t}:gone", 3, time.Minute), 2},
		"longer":  {charge("{t}:kept", 3, time.Hour), 2},
	} {
		if ok, _ := m.Take(t.Context(), now, test.charge); !ok || test.charge[0].Remaining != test.want {
			t.Errorf("%s: %v, %d remain, want %d", name, ok, test.charge[0].Remaining, test.want)
		}
	}
}

func BenchmarkMemory(b *testing.B) {
	m := limit.NewMemory()
	key := limit.Key{Access: "team", Name: "ann"}
	charges := []limit.Charge{
		{Window: &limit.Window{ID: "{farm}:minute", Calls: 1 << 40, Length: time.Minute}, Key: key},
	}
	b.ReportAllocs()
	for b.Loop() {
		if ok, _ := m.Take(b.Context(), time.Now(), charges); !ok {
			b.Fatal("refused")
		}
	}
}
