package limits_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// underway starts calls that hang, and returns when the server has them. end cancels them.
func underway(t *testing.T, srv *testkit.Server, c *testkit.Client, calls int) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	before := srv.Executions(testkit.Echo)
	var group sync.WaitGroup
	for range calls {
		srv.Next(testkit.Echo, faults.Hang())
		group.Go(func() { _, _ = c.Call(ctx, testkit.Echo, hi) }) // cancelled
	}
	if err := srv.Await(ctx, func() bool { return srv.Executions(testkit.Echo) == before+calls }); err != nil {
		t.Fatal(err)
	}
	return func() {
		cancel()
		group.Wait()
	}
}

// Calls of one caller beyond its limit of concurrent calls wait in a queue of limited length, for a limited time. Calls of
// others do not wait.
func TestLimitAtOnce(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		testkit.Virtual(t, era.String(), func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			f := gatewaytest.Start(t, srv.URL(), "forward: [authorization]", "timeout: 60s",
				"limits: {busy: {at_once: 2, queue: 1, wait: 3s}, minute: {calls: 100/1m, by: [server]}}")
			ann, bob := f.Client(t, era), f.Client(t, era)
			ann.Header = http.Header{"Authorization": {"Bearer ann"}}
			bob.Header = http.Header{"Authorization": {"Bearer bob"}}
			if era == testkit.Legacy { // a session belongs to its caller
				ann.MustInitialize(t)
				bob.MustInitialize(t)
			}
			end := underway(t, srv, ann, 2)

			var waited *testkit.Answer
			began := time.Now()
			done := make(chan struct{})
			go func() {
				defer close(done)
				waited, _ = ann.Call(t.Context(), testkit.Echo, hi)
			}()
			time.Sleep(time.Second)
			e := overLimit(t, ann) // the queue is full
			if e.Kind != recourse.KindRateLimited || e.Effect != recourse.EffectNone || e.Origin != recourse.OriginGateway ||
				e.RetryAfter != time.Second || e.Quotas[0].Policy != "busy" || !strings.Contains(e.Message, "the queue is full") {
				t.Errorf("got %s", jsonOf(t, e))
			}
			pass(t, bob, 1)
			<-done
			if took := time.Since(began); took != 3*time.Second || waited.Succeeded() {
				t.Errorf("after %s: got %s", took, waited.Body)
			}
			if e := gatewaytest.Record(t, waited); !strings.Contains(e.Message, "none of them ended in time") {
				t.Errorf("got %s", jsonOf(t, e))
			}
			checkHeaders(t, waited.Header, map[string]string{
				"Retry-After": "1", "RateLimit": `"busy";r=0;t=1`, "RateLimit-Policy": `"busy";q=2;qu="concurrent-requests"`,
				"X-RateLimit-Limit": "2", "X-RateLimit-Remaining": "0",
			})

			time.AfterFunc(time.Second, end)
			began = time.Now()
			pass(t, ann, 1)
			if took := time.Since(began); took != time.Second {
				t.Errorf("got its turn after %s", took)
			}
			if n := srv.Executions(testkit.Echo); n != 4 { // all but the refused ones
				t.Errorf("got %d calls at the server", n)
			}
			pass(t, ann, 1)
		})
	}
}

// A client that leaves while it waits gives its place in the queue back, and the call does not count.
func TestLimitQueueIsLeft(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		f := gatewaytest.Start(t, srv.URL(), "timeout: 60s", "limits: {busy: {at_once: 1, queue: 1, wait: 30s}, hour: {calls: 3/1h}}")
		c := f.Client(t, testkit.Modern)
		end := underway(t, srv, c, 1)
		for range 5 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, _ = c.Call(ctx, testkit.Echo, hi) // leaves the queue at its deadline
			cancel()
			time.Sleep(time.Second)
		}
		end()
		time.Sleep(time.Second)
		pass(t, c, 2)
		if e := overLimit(t, c); e.Quotas[0].Policy != "hour" {
			t.Errorf("got %s", jsonOf(t, e))
		}
	})
}

// The counts of one limit do not affect another one.
func TestLimitsAtOnceAreApart(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		f := gatewaytest.Start(t, srv.URL(), "limits: {narrow: {at_once: 1, tools: [echo]}, wide: {at_once: 3, tools: [progress]}}")
		c := f.Client(t, testkit.Modern)
		pass(t, c, 1)
		for _, a := range crowd(t, c, 3, testkit.Progress, slowCall) {
			if !a.Succeeded() || a.Took > 2*time.Second {
				t.Errorf("after %s: got %s", a.Took, a.Body)
			}
		}
	})
}
