package hedge_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

const hedged = "hedge: {after: 200ms}"

func get(t *testing.T, c *testkit.Client) *testkit.Answer {
	t.Helper()
	return c.MustCall(t, testkit.GetField, `{"field_id":"F-1"}`)
}

// A read with a late answer is sent once more. The client gets the answer that begins first; the other request is
// cancelled at the server.
func TestHedge(t *testing.T) {
	t.Parallel()
	for _, client := range testkit.Eras {
		for _, server := range testkit.Eras {
			for _, form := range []testkit.AnswerForm{testkit.JSON, testkit.SSE} {
				testkit.Virtual(t, client.String()+" to "+server.String()+"/"+form.String(), func(t *testing.T) {
					srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(server), testkit.WithForm(form))
					g, c := gatewaytest.StartClient(t, srv, client, hedged, "trust_annotations: true")
					told := make(gatewaytest.Outcomes, 10)
					g.Observe(told)
					get(t, c)
					synctest.Wait()
					before, streams := srv.Attempts(testkit.GetField), srv.InFlight()
					srv.Next(testkit.GetField, faults.Hang())
					a := get(t, c)
					if !a.Succeeded() || a.Took != 200*time.Millisecond || srv.Attempts(testkit.GetField) != before+2 {
						t.Errorf("after %s and %d attempts: got %s", a.Took, srv.Attempts(testkit.GetField)-before, a.Body)
					}
					synctest.Wait()
					if n := srv.InFlight() - streams; n != 0 {
						t.Errorf("got %d calls still under way at the server", n)
					}
					if n := srv.Cancellations(testkit.GetField); server == testkit.Legacy && n != 1 {
						t.Errorf("got %d cancellations", n)
					}
					want := 0
					if server == testkit.Legacy { // a closed connection does not cancel a call
						want = 1
					}
					if n := srv.Messages("notifications/cancelled"); n != want {
						t.Errorf("got %d notifications at the server, want %d", n, want)
					}
					<-told
					o := <-told
					if len(o.Attempts) != 2 || o.Sent != 2 || o.Attempts[0].Failure != recourse.KindCancelled || o.Attempts[1].Failure != "" ||
						o.Attempts[0].Reason == "" {
						t.Errorf("got attempts %+v", o.Attempts)
					}
				})
			}
		}
	}
}

// A large answer of the second attempt has the client's id, even if the id comes last.
func TestHedgeOfLargeAnswers(t *testing.T) {
	t.Parallel()
	for _, form := range []testkit.AnswerForm{testkit.JSON, testkit.SSE} {
		testkit.Virtual(t, form.String(), func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithForm(form))
			_, c := gatewaytest.StartClient(t, srv, testkit.Legacy, hedged, "trust_annotations: true")
			get(t, c)
			srv.Next(testkit.GetField, faults.Hang(), faults.Large(form, 1<<20, faults.Whole))
			a := get(t, c)
			if !a.Succeeded() || len(a.Body) < 1<<20 {
				t.Errorf("after %s: got %d bytes: %.300s", a.Took, len(a.Body), a.Body)
			}
		})
	}
}

// Calls with an answer in time are sent once, and so are writes. A failed attempt is repeated after its failure.
func TestUnhedgedCalls(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		_, c := gatewaytest.StartClient(t, srv, testkit.Modern, hedged, "trust_annotations: true", "timeout: 5s")
		get(t, c)
		if a := get(t, c); !a.Succeeded() || srv.Attempts(testkit.GetField) != 2 {
			t.Errorf("two calls: got %d attempts: %s", srv.Attempts(testkit.GetField), a.Body)
		}
		srv.Next(testkit.GetField, faults.Status(http.StatusServiceUnavailable, faults.Plain))
		if a := get(t, c); !a.Succeeded() || srv.Attempts(testkit.GetField) != 4 {
			t.Errorf("after a 503: got %d attempts: %s", srv.Attempts(testkit.GetField), a.Body)
		}
		srv.Next(testkit.OrderCreate, faults.Hang())
		if a := c.MustOrder(t); a.Took != 5*time.Second || srv.Attempts(testkit.OrderCreate) != 1 {
			t.Errorf("a write: got %d attempts: %s", srv.Attempts(testkit.OrderCreate), a.Body)
		}
	})
}

// If the first attempt is faster after all, the second one is given up.
func TestHedgeMayLose(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		testkit.Virtual(t, era.String(), func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(era))
			_, c := gatewaytest.StartClient(t, srv, era, hedged, "tools: {progress: {read_only: true}}")
			// The answer of each attempt begins with its progress, after 300 ms.
			a, err := c.Call(t.Context(), testkit.Progress, `{"count":1,"gapMs":300}`)
			if err != nil || !a.Succeeded() || a.Took > time.Second || srv.Attempts(testkit.Progress) != 2 {
				t.Errorf("got %v, %d attempts: %s", err, srv.Attempts(testkit.Progress), a.Body)
			}
			synctest.Wait()
			if n := srv.InFlight(); n != 0 {
				t.Errorf("got %d calls still under way at the server", n)
			}
		})
	}
}

// If one attempt fails, the other one decides; if both fail, so does the call.
func TestHedgeOutlivesAFailure(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		_, c := gatewaytest.StartClient(t, srv, testkit.Modern, hedged, "trust_annotations: true", "timeout: 5s")
		get(t, c)
		srv.Next(testkit.GetField, faults.ResetBeforeAnswer().Late(300*time.Millisecond), testkit.Fault{}.Late(time.Second))
		if a := get(t, c); !a.Succeeded() || a.Took != 1200*time.Millisecond {
			t.Errorf("after %s: got %s", a.Took, a.Body)
		}
		srv.Always(testkit.GetField, faults.Status(http.StatusServiceUnavailable, faults.Plain).Late(300*time.Millisecond))
		before := srv.Attempts(testkit.GetField)
		a := get(t, c)
		if e := gatewaytest.Record(t, a); e.Kind != recourse.KindUnavailable || srv.Attempts(testkit.GetField)-before != 4 {
			t.Errorf("got %d attempts: %s", srv.Attempts(testkit.GetField)-before, a.Body)
		}
	})
}

// Second attempts use the retry budget and places of the bulkhead. While a breaker is open there are none.
func TestHedgeIsBounded(t *testing.T) {
	t.Parallel()
	const calls = 200
	for name, entry := range map[string]string{"budget": "", "bulkhead": "concurrency: {max: 200}"} {
		testkit.Virtual(t, name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			g, c := gatewaytest.StartClient(t, srv, testkit.Modern, hedged, "trust_annotations: true", "timeout: 5s", "max_timeout: 6s", entry)
			get(t, c)
			srv.Always(testkit.GetField, faults.Hang())
			var all sync.WaitGroup
			for range calls {
				all.Go(func() { get(t, c) })
			}
			time.Sleep(2 * time.Second)
			most := calls*12/10 + 10 + 1
			if name == "bulkhead" {
				most = calls + 1
			}
			if n := srv.Attempts(testkit.GetField); n > most || name == "budget" && n <= calls+1 {
				t.Errorf("got %d attempts of %d calls", n, calls)
			}
			all.Wait()
			synctest.Wait()
			if p := g.Protections(); len(p) > 0 && p[0].Bulkheads[0].In != 0 {
				t.Errorf("at the end: got bulkhead %+v", p[0].Bulkheads[0])
			}
		})
	}
}

// A client that leaves ends both attempts.
func TestHedgeEndsWithItsClient(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		_, c := gatewaytest.StartClient(t, srv, testkit.Modern, hedged, "trust_annotations: true")
		get(t, c)
		srv.Always(testkit.GetField, faults.Hang())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Call(ctx, testkit.GetField, `{"field_id":"F-1"}`); err == nil {
			t.Error("got an answer after the client left")
		}
		synctest.Wait()
		if n := srv.InFlight(); n != 0 || srv.Attempts(testkit.GetField) != 3 {
			t.Errorf("got %d of %d attempts still under way", n, srv.Attempts(testkit.GetField))
		}
	})
}

// With mode observe, nothing is sent twice.
func TestHedgeObserved(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		_, c := gatewaytest.StartClient(t, srv, testkit.Modern, hedged, "trust_annotations: true", "mode: observe", "timeout: 2s")
		get(t, c)
		srv.Next(testkit.GetField, faults.Hang())
		if a := get(t, c); a.Took != 2*time.Second || !strings.Contains(string(a.Body), "timeout") || srv.Attempts(testkit.GetField) != 2 {
			t.Errorf("after %s and %d attempts: got %s", a.Took, srv.Attempts(testkit.GetField), a.Body)
		}
	})
}

// The breaker counts a failed attempt even if the other one succeeded, but not an attempt that was given up.
func TestHedgeTellsTheBreaker(t *testing.T) {
	t.Parallel()
	late := 300 * time.Millisecond
	for name, test := range map[string]struct {
		first         testkit.Fault
		calls, failed int // counts of the tool's circuit after one call
	}{
		"503":              {faults.Status(http.StatusServiceUnavailable, faults.Plain).Late(late), 2, 1},
		"reset":            {faults.ResetBeforeAnswer().Late(late), 2, 1},
		"cut":              {faults.ResetInBody().Late(late), 2, 1},
		"400":              {faults.Status(http.StatusBadRequest, faults.Plain).Late(late), 2, 0},
		"given up":         {faults.Hang(), 1, 0},
		"answered in time": {testkit.Fault{}, 1, 0},
	} {
		testkit.Virtual(t, name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			g, c := gatewaytest.StartClient(t, srv, testkit.Modern, hedged, "trust_annotations: true", "timeout: 5s", "breaker: {window: 1h}")
			srv.Next(testkit.GetField, test.first, testkit.Fault{}.Late(time.Second))
			if a := get(t, c); !a.Succeeded() {
				t.Errorf("after %s: got %s", a.Took, a.Body)
			}
			synctest.Wait()
			for _, s := range g.Protections()[0].Circuits {
				if s.Tool == testkit.GetField && (s.Calls != test.calls || s.Failed != test.failed) {
					t.Errorf("got circuit %+v", s)
				}
			}
		})
	}
}

// A Retry-After in the answer to one of two attempts opens the breaker.
func TestHedgeOpensTheBreaker(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		_, c := gatewaytest.StartClient(t, srv, testkit.Modern, hedged, "trust_annotations: true", "timeout: 5s", "breaker: {min_calls: 4, open_for: 5s, window: 30s}")
		overloaded := faults.Status(http.StatusServiceUnavailable, faults.Plain).RetryIn(40 * time.Second)
		for range 3 {
			srv.Next(testkit.GetField, overloaded.Late(300*time.Millisecond), testkit.Fault{}.Late(time.Second))
			if a := get(t, c); !a.Succeeded() {
				t.Errorf("after %s: got %s", a.Took, a.Body)
			}
		}
		gatewaytest.HeldBack(t, get(t, c), 40*time.Second-900*time.Millisecond) // since the server said so
	})
}

// However the attempts end, and even without a second one, their places are free again.
func TestHedgeLeavesItsPlace(t *testing.T) {
	t.Parallel()
	late := 300 * time.Millisecond
	for name, test := range map[string]struct {
		places string // of the bulkhead
		faults []testkit.Fault
		calls  int
	}{
		"the second answers first":       {"4", []testkit.Fault{faults.Hang()}, 1},
		"the first has failed":           {"4", []testkit.Fault{faults.ResetBeforeAnswer().Late(late), testkit.Fault{}.Late(time.Second)}, 1},
		"the budget is used up":          {"4", []testkit.Fault{testkit.Fault{}.Late(late), faults.Hang()}, 20},
		"the server has no place for it": {"1", []testkit.Fault{testkit.Fault{}.Late(late)}, 1},
		"the client leaves":              {"4", []testkit.Fault{testkit.Fault{}.Late(time.Minute), testkit.Fault{}.Late(time.Minute)}, 1},
	} {
		testkit.Virtual(t, name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			g, c := gatewaytest.StartClient(t, srv, testkit.Modern, hedged, "timeout: 5s", "concurrency: {max: "+test.places+"}",
				"tools: {get_field: {read_only: true, concurrency: {max: 4}}}")
			for range test.calls {
				srv.Next(testkit.GetField, test.faults...)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				_, _ = c.Call(ctx, testkit.GetField, `{"field_id":"F-1"}`) // may fail
				cancel()
				srv.Behave()
				synctest.Wait()
				for _, b := range g.Protections()[0].Bulkheads {
					if b.In != 0 {
						t.Fatalf("got bulkhead %+v", b)
					}
				}
			}
		})
	}
}

// A call that probes a server is not hedged.
func TestHedgeDoesNotProbe(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		_, c := gatewaytest.StartClient(t, srv, testkit.Modern, hedged, "trust_annotations: true", "timeout: 5s", "breaker: {min_calls: 1, open_for: 5s}")
		get(t, c)
		srv.Next(testkit.OrderCreate, faults.ResetBeforeAnswer())
		c.MustOrder(t)
		gatewaytest.HeldBack(t, get(t, c), 5*time.Second)
		time.Sleep(5 * time.Second)
		before := srv.Attempts(testkit.GetField)
		srv.Next(testkit.GetField, testkit.Fault{}.Late(time.Second))
		if a := get(t, c); !a.Succeeded() || srv.Attempts(testkit.GetField) != before+1 {
			t.Errorf("got %d attempts: %s", srv.Attempts(testkit.GetField)-before, a.Body)
		}
	})
}
