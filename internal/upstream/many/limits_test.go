package many_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

const hi = `{"message":"m"}`

// An endpoint with several servers has its own limits, by the names that clients see, in addition to those of its
// servers. It does not charge for the caller's mistakes, or for refusals by a server's limit.
func TestLimitsOfManyServers(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed+", limit_headers: true, limits: {all: {calls: 5/1h, by: [server]}, shop: {calls: 2/1m, tools: ['shop_*']}}",
			"limits: {own: {calls: 3/1m, by: [server], tools: [echo]}}")
		c := f.Client(t, era)
		remaining := func(a *testkit.Answer, want string) {
			t.Helper()
			if got := a.Header.Get("X-Ratelimit-Remaining"); got != want {
				t.Errorf("got %q remaining, want %q: %s", got, want, a.Body)
			}
		}
		remaining(c.MustCall(t, testkit.Echo, hi), "4")
		for range 10 {
			a := c.MustCall(t, testkit.Echo, `{"message":7}`)
			if gatewaytest.Record(t, a).Kind != recourse.KindInvalidType {
				t.Fatalf("got %s", a.Body)
			}
			remaining(a, "4")
		}
		remaining(c.MustCall(t, testkit.Echo, hi), "3")
		remaining(c.MustCall(t, testkit.Echo, hi), "2")
		for range 10 {
			a := c.MustCall(t, testkit.Echo, hi)
			if e := gatewaytest.Record(t, a); e.Kind != recourse.KindRateLimited || e.Quotas[0].Policy != "own" {
				t.Fatalf("got %s", a.Body)
			}
		}
		remaining(c.MustCall(t, "shop_echo", hi), "1")
		remaining(c.MustCall(t, testkit.GetField, `{"field_id":"F-1"}`), "0")
		before := f.Farm.Attempts(testkit.GetField)
		a := c.MustCall(t, testkit.GetField, `{"field_id":"F-1"}`)
		e := gatewaytest.Record(t, a)
		if e.Kind != recourse.KindRateLimited || e.Quotas[0].Policy != "all" || e.Effect != recourse.EffectNone || a.Header.Get("Retry-After") == "" {
			t.Errorf("got %s", a.Body)
		}
		if got := f.Farm.Attempts(testkit.GetField); got != before {
			t.Error("a refused call reached the server")
		}
	})
}

// An endpoint with several servers has its own limit on concurrent calls to all of them.
func TestConcurrencyOfManyServers(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed+", concurrency: {max: 1, queue: 0}", "")
		c := f.Client(t, era)
		f.Farm.Next(testkit.Echo, faults.Hang())
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = c.Call(ctx, testkit.Echo, hi) // cancelled
		}()
		synctest.Wait()
		a := c.MustCall(t, "shop_echo", hi)
		if e := gatewaytest.Record(t, a); e.Kind != recourse.KindUnavailable || e.Effect != recourse.EffectNone || e.RetryAfter == 0 {
			t.Errorf("got %s", a.Body)
		}
		if p := f.Gateway.Protections(); len(p) != 1 || p[0].Server != "all" || p[0].Bulkheads[0].In != 1 {
			t.Errorf("got %+v", p)
		}
		cancel()
		<-done
		time.Sleep(time.Second)
		if a := c.MustCall(t, "shop_echo", hi); !a.Succeeded() {
			t.Errorf("afterwards: got %s", a.Body)
		}
	})
}
