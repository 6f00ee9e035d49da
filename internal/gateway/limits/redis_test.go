package limits_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/late"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// sharing starts a gateway that counts limits in Redis. patience is how long it waits for Redis.
func sharing(tb testing.TB, srv *testkit.Server, redis string, patience time.Duration, rest string) *gatewaytest.Front {
	tb.Helper()
	g, log := gatewaytest.NewReaching(tb, gateway.Reach{Dial: testkit.Dial, Redis: patience},
		fmt.Sprintf("redis: %s\nservers: {farm: {url: '%s', timeout: 20s, limits: {hour: {calls: 50/1h}, day: {calls: 1000/1d}}}}\n%s", redis, srv.URL(), rest))
	return &gatewaytest.Front{URL: testkit.Serve(tb, g) + gatewaytest.Path, Log: log}
}

// Two replicas together let as many calls pass as one.
func TestReplicasShareLimits(t *testing.T) {
	t.Parallel()
	checkReplicas(t, 400)
}

func TestLongReplicasShareLimits(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	checkReplicas(t, 100_000)
}

func checkReplicas(t *testing.T, calls int) {
	t.Helper()
	const patience, callers = 20 * time.Second, 8
	srv, url := testkit.NewServer(t), service.Redis(t)
	replicas := []*gatewaytest.Front{sharing(t, srv, url, patience, ""), sharing(t, srv, url, patience, "")}
	var passed, made atomic.Int64
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			c := testkit.NewClient(t, replicas[i%len(replicas)].URL, testkit.Modern)
			for made.Add(1) <= int64(calls) {
				a, err := c.Call(t.Context(), testkit.Echo, hi)
				switch {
				case err != nil:
					t.Error(err)
					return
				case a.Succeeded():
					passed.Add(1)
				case gatewaytest.Record(t, a).Kind != recourse.KindRateLimited:
					t.Errorf("got %s", a.Body)
				}
			}
		})
	}
	group.Wait()
	if passed.Load() != 50 || srv.Executions(testkit.Echo) != 50 {
		t.Errorf("got %d calls that passed, and %d at the server, want 50", passed.Load(), srv.Executions(testkit.Echo))
	}
}

// A call that the server refuses for the caller's mistake does not count at the other replica either.
func TestReplicasGiveBack(t *testing.T) {
	t.Parallel()
	srv, url := testkit.NewServer(t), service.Redis(t)
	one, other := sharing(t, srv, url, 20*time.Second, ""), sharing(t, srv, url, 20*time.Second, "")
	c := testkit.NewClient(t, one.URL, testkit.Modern)
	for range 60 {
		srv.Next(testkit.Echo, faults.RPCError("invalid params", -32602, "message is missing", ""))
		_ = c.MustCall(t, testkit.Echo, hi)
	}
	pass(t, c, 25)
	c = testkit.NewClient(t, other.URL, testkit.Modern)
	pass(t, c, 25)
	_ = overLimit(t, c)
}

// While Redis fails, calls are counted in memory or refused without an effect, as configured.
func TestLimitsWithoutRedis(t *testing.T) {
	t.Parallel()
	for choice, passes := range map[string]int{"open": 50, "closed": 0} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			f := sharing(t, srv, "redis://:s3cret@127.0.0.1:1/0", time.Second, "on_redis_failure: "+choice+"\n")
			c := testkit.NewClient(t, f.URL, testkit.Modern)
			pass(t, c, passes)
			e := overLimit(t, c)
			if e.Effect != recourse.EffectNone || e.Origin != recourse.OriginGateway || e.Retry != recourse.RetrySameCall || e.RetryAfter == 0 {
				t.Errorf("got %s", jsonOf(t, e))
			}
			if (e.Kind == recourse.KindUnavailable) != (passes == 0) {
				t.Errorf("got %s", jsonOf(t, e))
			}
			if n := srv.Executions(testkit.Echo); n != passes {
				t.Errorf("got %d calls at the server", n)
			}
			if !strings.Contains(f.Log.String(), "Redis fails: until it works again") || strings.Contains(f.Log.String(), "s3cret") {
				t.Errorf("got log %s", f.Log)
			}
			if a, err := c.ListTools(t.Context()); err != nil || a.Status != 200 {
				t.Errorf("what no limit counts: got %+v, %v", a, err)
			}
		})
	}
}

// lateRedis starts a Redis of the test's own, behind a proxy that does not deliver one answer in every.
func lateRedis(t *testing.T, every int) (redis *service.Process, proxy *late.Proxy) {
	t.Helper()
	redis = service.NewRedis(t)
	proxy, err := late.New(redis.RedisAddress(), every, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	return redis, proxy
}

// While Redis is late now and then, calls count on from what it told last.
func TestLateRedis(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	_, proxy := lateRedis(t, 9)
	f := sharing(t, srv, "redis://"+proxy.Address, 200*time.Millisecond, "")
	const callers = 4
	var group sync.WaitGroup
	for range callers {
		c := f.Client(t, testkit.Modern)
		group.Go(func() {
			for range 30 {
				_ = c.MustCall(t, testkit.Echo, hi)
			}
		})
	}
	group.Wait()
	// On a machine without time to spare, Redis may refuse a call of each caller that passed 200 ms ago.
	if n := srv.Executions(testkit.Echo); n < 45 || n > 50+callers {
		t.Errorf("%d of 120 calls passed, want 50", n)
	}
}

// What Redis has refused is refused without asking again, in the same words, and with what it told.
func TestRefusalIsRemembered(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{"open", "closed"} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			redis, proxy := lateRedis(t, 1<<30)
			c := sharing(t, srv, "redis://"+proxy.Address, 20*time.Second, "on_redis_failure: "+choice+"\n").Client(t, testkit.Modern)
			pass(t, c, 50)
			first, asked := overLimit(t, c), proxy.Answers()
			redis.Stop()
			for range 20 {
				again := overLimit(t, c)
				if len(again.Quotas) != 2 {
					t.Fatalf("got %s", jsonOf(t, again))
				}
				later := first.Quotas[0].ResetAt.Sub(again.Quotas[0].ResetAt).Abs() + first.Quotas[1].ResetAt.Sub(again.Quotas[1].ResetAt).Abs()
				again.RequestID, again.RetryAfter, again.Hints, again.Quotas[0].ResetAt, again.Quotas[1].ResetAt =
					first.RequestID, first.RetryAfter, first.Hints, first.Quotas[0].ResetAt, first.Quotas[1].ResetAt
				if jsonOf(t, again) != jsonOf(t, first) || later > time.Second {
					t.Fatalf("got %s\nafter %s, %s later", jsonOf(t, again), jsonOf(t, first), later)
				}
			}
			if n := proxy.Answers() - asked; n != 0 {
				t.Errorf("Redis was asked %d times", n)
			}
		})
	}
}

// A refusal is forgotten when a call is given back.
func TestRefusalIsForgotten(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	c := sharing(t, srv, service.Redis(t), 20*time.Second, "").Client(t, testkit.Modern)
	pass(t, c, 49)
	mistake := faults.RPCError("invalid params", -32602, "message is missing", "")
	srv.Next(testkit.Echo, testkit.Fault{Happen: func(e *testkit.Exchange) {
		if a, err := c.Call(t.Context(), testkit.Echo, hi); err != nil || a.Succeeded() {
			t.Errorf("a call beside the last one: %+v, %v", a, err)
		}
		mistake.Happen(e)
	}})
	_ = c.MustCall(t, testkit.Echo, hi)
	pass(t, c, 1)
	_ = overLimit(t, c)
}

// Replicas that lose sight of each other share what is left among them. A Redis that has lost its counts is told
// what passed meanwhile.
func TestRedisRestartsEmpty(t *testing.T) {
	t.Parallel()
	srv, redis := testkit.NewServer(t), service.NewRedis(t)
	var replicas []*testkit.Client
	for range 2 {
		replicas = append(replicas, sharing(t, srv, redis.URL, 20*time.Second, "").Client(t, testkit.Modern))
	}
	calls := func(n int) {
		for i := range n {
			_ = replicas[i%2].MustCall(t, testkit.Echo, hi)
		}
	}
	calls(30)
	redis.Stop()
	calls(80)
	if n := srv.Executions(testkit.Echo); n < 48 || n > 52 {
		t.Errorf("%d calls passed without Redis, want 50", n)
	}
	redis.Start(t)
	testkit.Eventually(t, "the replicas use Redis again", func() bool {
		calls(2)
		return srv.Executions(testkit.Echo) > 70
	})
	calls(100)
	if n := srv.Executions(testkit.Echo); n < 79 || n > 82 {
		t.Errorf("%d calls passed in all, want 80: 20 that Redis was told of, and 30 more", n)
	}
}

// A reload may switch to another Redis and back to memory during calls.
func TestReloadToRedis(t *testing.T) {
	t.Parallel()
	srv, url := testkit.NewServer(t), service.Redis(t)
	entry := fmt.Sprintf("servers: {farm: {url: '%s', limits: {hour: {calls: 3/1h}}}}\n", srv.URL())
	g, _ := gatewaytest.NewReaching(t, gateway.Reach{Dial: testkit.Dial, Redis: 20 * time.Second}, entry)
	c := testkit.NewClient(t, testkit.Serve(t, g)+gatewaytest.Path, testkit.Modern)
	pass(t, c, 3)
	gatewaytest.Reload(t, g, "redis: "+url+"\n"+entry)
	pass(t, c, 3)
	_ = overLimit(t, c)
	gatewaytest.Reload(t, g, "redis: "+url+"\non_redis_failure: closed\n"+entry)
	_ = overLimit(t, c)
	gatewaytest.Reload(t, g, entry)
	_ = overLimit(t, c)
}
