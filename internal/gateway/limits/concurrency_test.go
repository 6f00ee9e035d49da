package limits_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/policy/limit"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// crowd makes n calls of a tool at the same time, and returns the answers in the order of their arrival.
func crowd(t *testing.T, client *testkit.Client, n int, tool, arguments string) []*testkit.Answer {
	t.Helper()
	var mu sync.Mutex
	var answers []*testkit.Answer
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			a, err := client.Call(t.Context(), tool, arguments)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			answers = append(answers, a)
			mu.Unlock()
		})
		synctest.Wait()
	}
	all.Wait()
	return answers
}

const slowCall = `{"count":1,"gapMs":1000}` // for the tool progress: takes two seconds

// Calls beyond the limit wait in the queue. Calls beyond the queue are refused at once, and calls that wait too long
// when their wait is over.
func TestBulkhead(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		for _, entry := range []string{
			"concurrency: {max: 2, queue: 3, wait: 1500ms}",
			"tools: {'pro*': {concurrency: {max: 2, queue: 3, wait: 1500ms}}}",
		} {
			testkit.Virtual(t, era.String()+"/"+entry[:5], func(t *testing.T) {
				srv := testkit.NewServer(t, testkit.InMemory())
				g, client := gatewaytest.StartClient(t, srv, era, entry, "timeout: 5s")
				answers := crowd(t, client, 7, testkit.Progress, slowCall)
				var took time.Duration // by the first call alone
				for i, a := range answers {
					switch {
					case i < 2: // beyond the queue
						wantBusy(t, a, 0, "no more of them can wait")
					case i < 4:
						if took = a.Took; !a.Succeeded() {
							t.Errorf("in the first turn: got %s", a.Body)
						}
					}
				}
				if n := srv.Attempts(testkit.Progress); took < time.Second || n < 4 || n > 5 {
					t.Errorf("got %d calls at the server, in turns of %s", n, took)
				}
				if s := g.Protections()[0].Bulkheads[0]; s.In != 0 || s.Queued != 0 || s.Max != 2 || s.Refused < 2 {
					t.Errorf("at the end: got bulkhead %+v", s)
				}
			})
		}
	}
}

func wantBusy(t *testing.T, a *testkit.Answer, after time.Duration, words string) {
	t.Helper()
	e := gatewaytest.Record(t, a)
	if e.Kind != recourse.KindUnavailable || e.Origin != recourse.OriginGateway || e.Effect != recourse.EffectNone || e.RetryAfter != time.Second {
		t.Errorf("got refusal %#v with %#v", e, e.RetryAfter)
	}
	if a.Took != after || !strings.Contains(e.Message, words) {
		t.Errorf("after %s: got %s", a.Took, e.Message)
	}
}

// A waiting call is refused when its wait is over, and leaves the queue when its client leaves.
func TestBulkheadWaits(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		g, client := gatewaytest.StartClient(t, srv, testkit.Modern, "concurrency: {max: 1, queue: 2, wait: 3s}", "timeout: 10s")
		srv.Next(testkit.Echo, faults.Hang())
		echo := func(ctx context.Context) (*testkit.Answer, error) {
			return client.Call(ctx, testkit.Echo, `{"message":"m"}`)
		}
		var all sync.WaitGroup
		all.Go(func() {
			if a, err := echo(t.Context()); err != nil || a.Took != 10*time.Second {
				t.Errorf("the hung call: got %+v, %v", a, err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			a, err := echo(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			wantBusy(t, a, 3*time.Second, "This one waited for 3 s, and was not sent.")
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := echo(ctx); err == nil {
			t.Error("got an answer after the client left")
		}
		synctest.Wait()
		if s := g.Protections()[0].Bulkheads[0].BulkheadState; s != (limit.BulkheadState{Max: 1, In: 1, Queued: 1}) {
			t.Errorf("after a client has left: got bulkhead %+v", s)
		}
		all.Wait()
		if a, err := echo(t.Context()); err != nil || !a.Succeeded() || a.Took != 0 {
			t.Errorf("after the hung call: got %s, %v", a.Body, err)
		}
	})
}

// A refusal says whether the queue was full or the wait too long.
func TestBulkheadSaysWhy(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		_, client := gatewaytest.StartClient(t, srv, testkit.Modern, "concurrency: {max: 1, queue: 1, wait: 500us}", "timeout: 10s")
		srv.Next(testkit.Echo, faults.Hang())
		answers := crowd(t, client, 3, testkit.Echo, `{"message":"m"}`)
		wantBusy(t, answers[0], 0, "no more of them can wait")
		wantBusy(t, answers[1], 500*time.Microsecond, "This one waited for ")
	})
}

// The time in the queue does not count towards the server's timeout.
func TestQueueLeavesTheServerItsTime(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{
		"concurrency: {max: 1}",
		"tools: {'pro*': {concurrency: {max: 1}}}",
		"limits: {busy: {at_once: 1, queue: 9, wait: 20s}}",
	} {
		testkit.Virtual(t, entry[:6], func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			_, client := gatewaytest.StartClient(t, srv, testkit.Modern, entry, "timeout: 2500ms")
			for _, a := range crowd(t, client, 4, testkit.Progress, slowCall) {
				if !a.Succeeded() {
					t.Errorf("after %s: got %s", a.Took, a.Body)
				}
			}
		})
	}
}

// A hung server with all its places taken does not delay calls of another server.
func TestBulkheadsAreIndependent(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		hung, fine := testkit.NewServer(t, testkit.InMemory()), testkit.NewServer(t, testkit.InMemory())
		hung.Always(testkit.EveryMessage, faults.Hang())
		g, _ := gatewaytest.New(t, "servers:\n  hung: {url: '"+hung.URL()+"', timeout: 20s, concurrency: {max: 10, queue: 5}}\n"+
			"  fine: {url: '"+fine.URL()+"', concurrency: {max: 1}}\n")
		root := gatewaytest.Open(t, g, true)
		bad, good := testkit.NewClient(t, root+"/hung/mcp", testkit.Modern), testkit.NewClient(t, root+"/fine/mcp", testkit.Modern)
		var all sync.WaitGroup
		all.Go(func() { crowd(t, bad, 100, testkit.Echo, `{"message":"m"}`) })
		time.Sleep(8 * time.Second)
		if a, err := good.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || !a.Succeeded() || a.Took != 0 {
			t.Errorf("the other server: got %v after %s", err, a.Took)
		}
		all.Wait()
		if n := hung.Attempts(testkit.Echo); n > 20 {
			t.Errorf("got %d calls at the hung server", n)
		}
	})
}

// When the breaker opens, calls that wait for a place are refused.
func TestBulkheadAndBreaker(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		_, client := gatewaytest.StartClient(t, srv, testkit.Modern, "concurrency: {max: 1, queue: 10, wait: 1m}", "breaker: {min_calls: 1}", "timeout: 5s")
		srv.Always(testkit.Echo, faults.Hang())
		answers := crowd(t, client, 8, testkit.Echo, `{"message":"m"}`)
		held := 0
		for _, a := range answers {
			if e := gatewaytest.Record(t, a); e.Kind == recourse.KindUnavailable {
				held++
			}
			if a.Took > 5*time.Second {
				t.Errorf("got the answer after %s", a.Took)
			}
		}
		if held != 7 || srv.Attempts(testkit.Echo) != 1 {
			t.Errorf("got %d calls held back and %d sent", held, srv.Attempts(testkit.Echo))
		}
		a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
		if err != nil {
			t.Fatal(err)
		}
		gatewaytest.HeldBack(t, a, 5*time.Second)
	})
}

// A reload changes the limit for calls under way and for waiting calls.
func TestBulkheadSurvivesReload(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		g, client := gatewaytest.StartClient(t, srv, testkit.Modern, "concurrency: {max: 1}", "tools: {pro*: {concurrency: {max: 1}}}")
		var all sync.WaitGroup
		all.Go(func() { crowd(t, client, 3, testkit.Progress, slowCall) })
		time.Sleep(500 * time.Millisecond)
		wantIn := func(in, queued int) {
			t.Helper()
			synctest.Wait()
			if s := g.Protections()[0].Bulkheads; len(s) != 2 || s[1].Tools != "pro*" || s[1].In != in || s[1].Queued != queued || s[0].In != in {
				t.Errorf("got bulkheads %+v", s)
			}
		}
		wantIn(1, 2)
		const wider = "concurrency: {max: 2}, tools: {pro*: {concurrency: {max: 2}}}"
		if err := g.Reload(gatewaytest.Parse(t, "servers: {farm: {url: '"+srv.URL()+"', "+wider+"}}\n")); err != nil {
			t.Fatal(err)
		}
		wantIn(2, 1)
		all.Wait()
		wantIn(0, 0)
	})
}

// With mode observe, no call waits or is refused.
func TestBulkheadObserved(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"concurrency: {max: 1, queue: 0}", "limits: {busy: {at_once: 1, queue: 9, wait: 20s}}"} {
		testkit.Virtual(t, entry[:6], func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			_, client := gatewaytest.StartClient(t, srv, testkit.Modern, entry, "mode: observe")
			for _, a := range crowd(t, client, 3, testkit.Progress, slowCall) {
				if !a.Succeeded() || a.Took > 2*time.Second {
					t.Errorf("after %s: got %s", a.Took, a.Body)
				}
			}
		})
	}
}

// While a call probes the server, others are refused at once, even if all places are taken.
func TestBulkheadDuringProbe(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		_, client := gatewaytest.StartClient(t, srv, testkit.Modern, "concurrency: {max: 1, queue: 10, wait: 1m}", "breaker: {min_calls: 1}", "timeout: 5s")
		srv.Always(testkit.OrderCreate, faults.ResetBeforeAnswer())
		client.MustOrder(t)
		gatewaytest.HeldBack(t, client.MustOrder(t), 5*time.Second)
		time.Sleep(5 * time.Second)
		srv.Always(testkit.OrderCreate, faults.Hang())
		var probing sync.WaitGroup
		probing.Go(func() { client.MustOrder(t) })
		synctest.Wait()
		gatewaytest.HeldBack(t, client.MustOrder(t), time.Second)
		probing.Wait()
	})
}

// A call that has waited in the queue still has the full timeout, and no more.
func TestQueueDoesNotSuspendTheTimeout(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"concurrency: {max: 1}", "limits: {busy: {at_once: 1, queue: 9, wait: 20s}}"} {
		testkit.Virtual(t, entry[:6], func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			_, client := gatewaytest.StartClient(t, srv, testkit.Modern, entry, "timeout: 5s", "max_timeout: 1h")
			srv.Always(testkit.OrderCreate, faults.Hang())
			for i, a := range crowd(t, client, 2, testkit.OrderCreate, `{"reference":"A-17","amount":1}`) {
				if want := time.Duration(i+1) * 5 * time.Second; a.Took != want || gatewaytest.Record(t, a).Kind != recourse.KindTimeout {
					t.Errorf("call %d: got the answer after %s, want %s: %s", i, a.Took, want, a.Body)
				}
			}
		})
	}
}

// A subscription, which may last for hours, takes no place in the bulkhead.
func TestSubscriptionTakesNoPlace(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		g, client := gatewaytest.StartClient(t, srv, testkit.Modern, "concurrency: {max: 1, queue: 0}", "breaker: {min_calls: 4, open_for: 5s, window: 30s}")
		s := client.MustListen(t.Context(), t)
		defer s.Close()
		if a := client.MustOrder(t); !a.Succeeded() {
			t.Errorf("got %s", a.Body)
		}
		if s := g.Protections()[0].Bulkheads[0].BulkheadState; s.In != 0 {
			t.Errorf("got bulkhead %+v", s)
		}
	})
}
