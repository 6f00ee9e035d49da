package retry_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/retry"
)

var policy = retry.Policy{Attempts: 3, Start: 100 * time.Millisecond, Factor: 2, Random: func() float64 { return 0 }}

func TestEffect(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		e      *recourse.Error
		nature retry.Nature
		want   recourse.Effect
	}{
		{"a timeout of a write", recourse.Timeout("x", 0), retry.Writes, recourse.EffectUnknown},
		{"a timeout of an idempotent write", recourse.Timeout("x", 0), retry.Idempotent, recourse.EffectUnknown},
		{"a timeout of a read", recourse.Timeout("x", 0), retry.Reads, recourse.EffectNone},
		{"a read that claims an effect", recourse.Timeout("x", 0).WithEffect(recourse.EffectApplied), retry.Reads, recourse.EffectNone},
		{"a write that was never sent", recourse.Unreachable("x").WithEffect(recourse.EffectNone), retry.Writes, recourse.EffectNone},
		{"wrong arguments", recourse.Missing("a"), retry.Writes, recourse.EffectNone},
		{"a rate limit", recourse.RateLimited(0), retry.Writes, recourse.EffectNone},
		{"not found", recourse.NotFound("field", "x"), retry.Writes, recourse.EffectNone},
		{"a conflict", recourse.Conflict(""), retry.Writes, recourse.EffectNone},
		{"not implemented", recourse.NotImplemented("x"), retry.Writes, recourse.EffectNone},
		{"a batch", recourse.New(recourse.KindPartial, ""), retry.Writes, recourse.EffectApplied},
		{"a failed job", recourse.JobFailed(""), retry.Writes, recourse.EffectUnknown},
		{"an unknown failure", recourse.New(recourse.KindUnknown, ""), retry.Writes, recourse.EffectUnknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := retry.Effect(test.e, test.nature); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	verify := recourse.Verify{Tool: "order_get"}
	unknown := recourse.Timeout("x", 0).WithEffect(recourse.EffectUnknown).WithVerify(verify)
	for _, test := range []struct {
		name    string
		e       *recourse.Error
		nature  retry.Nature
		attempt int
		left    time.Duration
		want    retry.Decision
	}{
		{
			"a read after a 503", recourse.Unavailable("x").WithEffect(recourse.EffectNone), retry.Reads, 1, time.Second,
			retry.Decision{Repeat: true, Wait: 100 * time.Millisecond, Reason: "the tool only reads"},
		},
		{
			"the second repetition waits longer", recourse.Unavailable("x").WithEffect(recourse.EffectNone), retry.Reads, 2, time.Second,
			retry.Decision{Repeat: true, Wait: 200 * time.Millisecond, Reason: "the tool only reads"},
		},
		{
			"attempts are bounded", recourse.Unavailable("x").WithEffect(recourse.EffectNone), retry.Reads, 3, time.Second,
			retry.Decision{Reason: "gave up after 3 attempts"},
		},
		{
			"a write that may have happened", unknown, retry.Writes, 1, time.Second,
			retry.Decision{Reason: "the call may have taken effect: a repetition might do it twice", Verify: &verify},
		},
		{
			"an idempotent write that may have happened", unknown, retry.Idempotent, 1, time.Second,
			retry.Decision{Repeat: true, Wait: 100 * time.Millisecond, Reason: "the tool is idempotent"},
		},
		{
			"a write that was refused", recourse.RateLimited(300 * time.Millisecond).WithEffect(recourse.EffectNone), retry.Writes, 1, time.Second,
			retry.Decision{Repeat: true, Wait: 300 * time.Millisecond, Reason: "the call did not take effect"},
		},
		{
			"a wait beyond the deadline", recourse.RateLimited(7 * time.Second).WithEffect(recourse.EffectNone), retry.Reads, 1, 2 * time.Second,
			retry.Decision{Reason: "the wait of 7 s is longer than the 2 s that are left"},
		},
		{
			"a wait that ends with the deadline", recourse.RateLimited(2 * time.Second).WithEffect(recourse.EffectNone), retry.Reads, 1, 2 * time.Second,
			retry.Decision{Reason: "the wait of 2 s is longer than the 2 s that are left"},
		},
		{
			"a rate limit without a wait", recourse.RateLimited(0).WithEffect(recourse.EffectNone), retry.Reads, 1, 5 * time.Second,
			retry.Decision{Repeat: true, Wait: time.Second, Reason: "the tool only reads"},
		},
		{
			"nothing that has to be fixed", recourse.Missing("a").WithEffect(recourse.EffectNone), retry.Reads, 1, time.Second,
			retry.Decision{Reason: "missing_param: the same call would fail again"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, policy.Decide(test.e, test.nature, test.attempt, test.left)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The random part of a wait grows with it, and never shortens it.
func TestJitter(t *testing.T) {
	t.Parallel()
	for random, want := range map[float64][2]time.Duration{
		0:   {100 * time.Millisecond, 200 * time.Millisecond},
		0.5: {125 * time.Millisecond, 250 * time.Millisecond},
	} {
		rule := retry.Policy{Attempts: 3, Start: 100 * time.Millisecond, Factor: 2, Jitter: 0.5, Random: func() float64 { return random }}
		for i, want := range want {
			d := rule.Decide(recourse.Unavailable("x").WithEffect(recourse.EffectNone), retry.Reads, i+1, time.Hour)
			if d.Wait != want {
				t.Errorf("with %v, repetition %d comes after %s, want %s", random, i+1, d.Wait, want)
			}
		}
	}
}

// Jitter that is constant, and a stated wait that doubles.
func TestDecideByAClientRule(t *testing.T) {
	t.Parallel()
	rule := retry.Policy{
		Attempts: 4, Start: 2 * time.Second, Factor: 2, JitterMax: time.Second, JitterFrom: 2, GrowStated: true,
		Random: func() float64 { return 0.5 },
	}
	for _, test := range []struct {
		name string
		e    *recourse.Error
		want [4]time.Duration // 0 means no retry
	}{
		{"no stated wait", recourse.Unavailable("x"), [4]time.Duration{2 * time.Second, 4500 * time.Millisecond, 8500 * time.Millisecond}},
		{"a limit without a wait", recourse.RateLimited(0), [4]time.Duration{2 * time.Second, 4500 * time.Millisecond, 8500 * time.Millisecond}},
		{"a wait above the start", recourse.RateLimited(10 * time.Second), [4]time.Duration{10 * time.Second, 20500 * time.Millisecond, 40500 * time.Millisecond}},
		{"a wait below the start", recourse.RateLimited(time.Second), [4]time.Duration{time.Second, 2500 * time.Millisecond, 4500 * time.Millisecond}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got [4]time.Duration
			for i := range got {
				got[i] = rule.Decide(test.e.WithEffect(recourse.EffectNone), retry.Reads, i+1, time.Hour).Wait
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
		})
	}
}

// A stated wait is a minimum in every policy, and a write whose effect is unknown is never repeated.
func TestDecideNever(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := retry.Policy{
			Attempts: rapid.IntRange(0, 10).Draw(t, "attempts"),
			Start:    time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "start")),
			Factor:   rapid.Float64Range(0, 10).Draw(t, "factor"),
			Jitter:   rapid.Float64Range(0, 1).Draw(t, "jitter"),

			JitterMax:  time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "jitterMax")),
			JitterFrom: rapid.IntRange(0, 5).Draw(t, "jitterFrom"),
			GrowStated: rapid.Bool().Draw(t, "growStated"),
		}
		nature := rapid.SampledFrom([]retry.Nature{retry.Writes, retry.Idempotent, retry.Reads}).Draw(t, "nature")
		e := recourse.New(rapid.SampledFrom(recourse.Kinds()).Draw(t, "kind"), "").
			WithRetryAfter(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "after")))
		e = e.WithEffect(retry.Effect(e, nature))
		left := time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "left"))
		d := p.Decide(e, nature, rapid.IntRange(1, 12).Draw(t, "attempt"), left)
		if d.Repeat && (d.Wait < e.RetryAfter || d.Wait >= left) {
			t.Fatalf("wait %v with %v stated and %v left", d.Wait, e.RetryAfter, left)
		}
		if d.Repeat && nature == retry.Writes && e.Effect != recourse.EffectNone {
			t.Fatalf("repeats a write with effect %s", e.Effect)
		}
		if d.Reason == "" {
			t.Fatal("no reason")
		}
	})
}

func TestBudgetBoundsAnOutage(t *testing.T) {
	t.Parallel()
	var b retry.Budget
	const calls = 1000
	attempts := 0
	for range calls {
		b.Call()
		attempts++
		for b.Take() {
			attempts++
		}
	}
	if limit := calls*12/10 + 10; attempts > limit {
		t.Errorf("%d attempts for %d calls, more than %d", attempts, calls, limit)
	}
	if attempts < calls*11/10 {
		t.Errorf("only %d attempts for %d calls", attempts, calls)
	}
}

// Ten retries are allowed before any call has earned one, and at most a hundred are saved up.
func TestBudgetSaves(t *testing.T) {
	t.Parallel()
	for calls, want := range map[int]int{0: 10, 5: 11, 10_000: 100} {
		var b retry.Budget
		for range calls {
			b.Call()
		}
		taken := 0
		for b.Take() {
			taken++
		}
		if taken != want {
			t.Errorf("%d repetitions after %d calls, want %d", taken, calls, want)
		}
	}
}
