package breaker_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/policy/breaker"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

const quickBreaker = "breaker: {min_calls: 4, open_for: 5s, window: 30s}"

// A server that does not answer gets no calls until it may have recovered; then one call at a time probes it.
func TestBreakerHoldsBack(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		for name, fault := range map[string]testkit.Fault{
			"503":   faults.Status(http.StatusServiceUnavailable, faults.Plain),
			"502":   faults.Status(http.StatusBadGateway, faults.HTML),
			"504":   faults.Status(http.StatusGatewayTimeout, faults.None),
			"reset": faults.ResetBeforeAnswer(),
			"cut":   faults.ResetInBody(),
		} {
			testkit.Virtual(t, era.String()+"/"+name, func(t *testing.T) {
				srv := testkit.NewServer(t, testkit.InMemory())
				_, client := gatewaytest.StartClient(t, srv, era, quickBreaker)
				srv.Always(testkit.OrderCreate, fault)
				for range 4 { // initialize does not count
					if e := gatewaytest.Record(t, client.MustOrder(t)); e.Effect != recourse.EffectUnknown {
						t.Fatalf("before the breaker opens: got %#v", e)
					}
				}
				sent := srv.Attempts(testkit.OrderCreate)
				for range 20 {
					gatewaytest.HeldBack(t, client.MustOrder(t), 5*time.Second)
				}
				time.Sleep(4 * time.Second)
				gatewaytest.HeldBack(t, client.MustOrder(t), time.Second)
				if srv.Attempts(testkit.OrderCreate) != sent {
					t.Errorf("got %d requests at the server", srv.Attempts(testkit.OrderCreate)-sent)
				}
				time.Sleep(time.Second)
				if e := gatewaytest.Record(t, client.MustOrder(t)); e.Effect != recourse.EffectUnknown {
					t.Errorf("the probe: got %#v", e)
				}
				gatewaytest.HeldBack(t, client.MustOrder(t), 10*time.Second)
				srv.Behave()
				time.Sleep(10 * time.Second)
				if a := client.MustOrder(t); !a.Succeeded() {
					t.Errorf("the probe of a server that answers: got %s", a.Body)
				}
				if a := client.MustOrder(t); !a.Succeeded() {
					t.Errorf("after the breaker has closed: got %s", a.Body)
				}
			})
		}
	}
}

// Answers of the server, of any kind, leave the breaker closed, and so does a client that leaves.
func TestBreakerCountsTransportOnly(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]testkit.Fault{
		"a tool's error":   faults.RichToolError(),
		"a JSON-RPC error": faults.RPCError("internal", -32603, "broken", ""),
		"429":              faults.Status(http.StatusTooManyRequests, faults.Plain),
		"500":              faults.Status(http.StatusInternalServerError, faults.Plain),
		"an HTML page":     faults.HTMLWith200(),
		"another's answer": faults.WrongID(testkit.JSON),
		"client gone":      faults.Hang(),
	} {
		testkit.Virtual(t, name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			g, client := gatewaytest.StartClient(t, srv, testkit.Modern, quickBreaker)
			srv.Always(testkit.OrderCreate, fault)
			for range 10 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				_, _ = client.Call(ctx, testkit.OrderCreate, `{"reference":"A-17","amount":1}`) // may fail
				cancel()
				synctest.Wait()
			}
			for _, s := range g.Protections()[0].Circuits {
				if s.Status != breaker.StatusClosed || s.Failed > 0 {
					t.Errorf("got circuit %+v", s)
				}
			}
		})
	}
}

// If one tool hangs, the breaker holds only that tool back.
func TestBreakerOfATool(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		g, client := gatewaytest.StartClient(t, srv, testkit.Modern, quickBreaker, "timeout: 2s")
		srv.Always(testkit.OrderCreate, faults.Hang())
		for range 4 {
			if e := gatewaytest.Record(t, client.MustOrder(t)); e.Kind != recourse.KindTimeout {
				t.Fatalf("before the breaker opens: got %#v", e)
			}
		}
		a := client.MustOrder(t)
		gatewaytest.HeldBack(t, a, 5*time.Second)
		if !strings.Contains(string(a.Body), "Calls of order_create at farm keep failing") {
			t.Errorf("got refusal %s", a.Body)
		}
		if a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`); err != nil || !a.Succeeded() {
			t.Errorf("another tool: got %s, %v", a.Body, err)
		}
		for _, s := range g.Protections()[0].Circuits {
			if want := s.Tool == testkit.OrderCreate; (s.Status == breaker.StatusOpen) != want || want && s.Refused != 1 {
				t.Errorf("got circuit %+v", s)
			}
		}
	})
}

// If the server cannot be reached, the breaker holds back all tools and methods.
func TestBreakerOfAServer(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		_, client := gatewaytest.StartClient(t, srv, testkit.Modern, quickBreaker, "timeout: 2s")
		client.MustOrder(t)
		if err := srv.Stop(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			_ = client.MustOrder(t) // repeated, since the call cannot have arrived
		}
		gatewaytest.HeldBack(t, client.MustOrder(t), 5*time.Second)
		a, err := client.Request(t.Context(), "prompts/list", "")
		if err != nil {
			t.Fatal(err)
		}
		if e := gatewaytest.Record(t, a); e.Kind != recourse.KindUnavailable || a.Message.Error == nil || e.RetryAfter == 0 {
			t.Errorf("another method: got %s", a.Body)
		}
		if err := srv.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		if a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`); err != nil || !a.Succeeded() {
			t.Errorf("the probe: got %s, %v", a.Body, err)
		}
		if a := client.MustOrder(t); !a.Succeeded() {
			t.Errorf("the tool that failed before: got %s", a.Body)
		}
	})
}

// A Retry-After of the server keeps the breaker open for longer.
func TestBreakerKeepsRetryAfter(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		_, client := gatewaytest.StartClient(t, srv, testkit.Modern, quickBreaker)
		srv.Always(testkit.OrderCreate, faults.Status(http.StatusServiceUnavailable, faults.Plain).RetryIn(40*time.Second))
		for range 4 {
			client.MustOrder(t)
		}
		gatewaytest.HeldBack(t, client.MustOrder(t), 40*time.Second)
	})
}

// An open breaker also stops repetitions. The possible effect of an earlier attempt is still reported.
func TestBreakerEndsRepetition(t *testing.T) {
	t.Parallel()
	for tool, effect := range map[string]recourse.Effect{"read_only": recourse.EffectNone, "idempotent": recourse.EffectUnknown} {
		testkit.Virtual(t, tool, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			_, client := gatewaytest.StartClient(t, srv, testkit.Modern, "breaker: {min_calls: 5}", "tools: {order_create: {"+tool+": true}}")
			srv.Always(testkit.OrderCreate, faults.Status(http.StatusServiceUnavailable, faults.Plain))
			client.MustOrder(t) // three attempts
			before := srv.Attempts(testkit.OrderCreate)
			a := client.MustOrder(t) // two attempts; then the breaker opens
			if e := gatewaytest.Record(t, a); srv.Attempts(testkit.OrderCreate)-before != 2 || e.Kind != recourse.KindUnavailable || e.Effect != effect ||
				e.Upstream.Status != http.StatusServiceUnavailable || e.RetryAfter < 4*time.Second || a.Took > time.Second {
				t.Errorf("after %d attempts and %s: got %#v", srv.Attempts(testkit.OrderCreate)-before, a.Took, e)
			}
		})
	}
}

// If the breaker holds a repetition back, the effect of the first attempt stays unknown.
func TestEffectOfEarlierAttempt(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		_, client := gatewaytest.StartClient(t, srv, testkit.Modern, "tools: {order_create: {idempotent: true}}")
		client.MustOrder(t)
		srv.Next(testkit.OrderCreate, faults.ResetInBody())
		go func() {
			time.Sleep(50 * time.Millisecond)
			_ = srv.Stop()
		}()
		a := client.MustOrder(t)
		if e := gatewaytest.Record(t, a); e.Kind != recourse.KindUnreachable || e.Effect != recourse.EffectUnknown {
			t.Errorf("got effect %q: %s", e.Effect, a.Body)
		}
	})
}

// A reload keeps the breaker of an unchanged server. After one that removes the breaker, calls pass.
func TestBreakerSurvivesReload(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		g, client := gatewaytest.StartClient(t, srv, testkit.Modern, quickBreaker)
		srv.Always(testkit.OrderCreate, faults.Status(http.StatusServiceUnavailable, faults.Plain))
		for range 4 {
			client.MustOrder(t)
		}
		entry := "servers: {farm: {url: '" + srv.URL() + "'%s}}\n"
		gatewaytest.Reload(t, g, fmt.Sprintf(entry, ", breaker: {open_for: 7s}, timeout: 7s"))
		gatewaytest.HeldBack(t, client.MustOrder(t), 5*time.Second)
		time.Sleep(5 * time.Second)
		client.MustOrder(t)
		gatewaytest.HeldBack(t, client.MustOrder(t), 14*time.Second)
		gatewaytest.Reload(t, g, fmt.Sprintf(entry, ""))
		if e := gatewaytest.Record(t, client.MustOrder(t)); e.Effect != recourse.EffectUnknown || len(g.Protections()) != 0 {
			t.Errorf("without a breaker: got %#v", e)
		}
	})
}

// With mode observe, an open breaker holds nothing back.
func TestBreakerObserved(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		g, client := gatewaytest.StartClient(t, srv, testkit.Modern, quickBreaker, "mode: observe")
		srv.Always(testkit.OrderCreate, faults.Status(http.StatusServiceUnavailable, faults.Plain))
		for range 6 {
			if a := client.MustOrder(t); a.Status != http.StatusServiceUnavailable {
				t.Errorf("got HTTP %d: %s", a.Status, a.Body)
			}
		}
		if s := g.Protections()[0].Circuits[0]; s.Status != breaker.StatusOpen || s.Refused != 2 {
			t.Errorf("got circuit %+v", s)
		}
	})
}

// Each server of an endpoint keeps its own breaker, bulkhead and hedging.
func TestProtectionOfOneOfMany(t *testing.T) {
	t.Parallel()
	testkit.InEachEra(t, func(t *testing.T, era testkit.Era) {
		f := gatewaytest.StartMany(t, gatewaytest.BothPrefixed, "breaker: {min_calls: 8, open_for: 5s}, concurrency: {max: 5, queue: 0}, hedge: {after: 200ms}, trust_annotations: true")
		c := f.Client(t, era)
		c.MustListTools(t)
		f.Shop.Next(testkit.GetField, faults.Hang())
		before := f.Shop.Attempts(testkit.GetField)
		if r := c.MustCall(t, "shop_get_field", `{"field_id":"F-1"}`).Result(t); r.IsError || f.Shop.Attempts(testkit.GetField) != before+2 {
			t.Errorf("a late read: got %d requests: %s", f.Shop.Attempts(testkit.GetField)-before, r.Text())
		}
		f.Shop.Always(testkit.EveryMessage, faults.Status(http.StatusServiceUnavailable, faults.Plain))
		var said string
		for range 20 {
			said = c.MustCall(t, "shop_order_create", `{"reference":"A","amount":1}`).Result(t).Text()
		}
		sent := f.Shop.Attempts(testkit.OrderCreate)
		if !strings.Contains(said, "shop keeps failing") || sent > 8 {
			t.Errorf("got %d calls at the server; the last one says %s", sent, said)
		}
		if got := c.MustListTools(t); len(got.ToolNames(t)) != 12 {
			t.Errorf("while shop is held back: got list %s", got.Body)
		}
		if r := c.MustCall(t, "order_create", `{"reference":"A","amount":1}`).Result(t); r.IsError {
			t.Errorf("the other server: got %s", r.Text())
		}
		f.Shop.Behave()
		time.Sleep(time.Minute)
		for _, r := range []testkit.ToolResult{
			c.MustCall(t, "shop_order_create", `{"reference":"B","amount":1}`).Result(t), c.MustCall(t, "shop_order_create", `{"reference":"C","amount":1}`).Result(t),
		} {
			if r.IsError {
				t.Errorf("after shop is back: got %s", r.Text())
			}
		}
		synctest.Wait() // a call gives its place back after its answer
		for _, p := range f.Gateway.Protections() {
			if p.Bulkheads[0].In != 0 {
				t.Errorf("%s: got %+v", p.Server, p.Bulkheads)
			}
		}
	})
}

// Answers that the gateway itself gives, such as to initialize for a shared program, do not close the breaker.
func TestBreakerStaysOpenAfterTheGatewaysOwnAnswers(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		g, client := gatewaytest.StartClient(t, srv, testkit.Modern, quickBreaker)
		srv.Always(testkit.OrderCreate, faults.Status(http.StatusServiceUnavailable, faults.Plain))
		for range 4 {
			client.MustOrder(t)
		}
		time.Sleep(5 * time.Second)
		for range 3 {
			if a, err := client.ListTools(t.Context()); err != nil || a.Status != http.StatusOK {
				t.Errorf("a list in between: got %v", err)
			}
		}
		if s := g.Protections()[0].Circuits[0]; s.Status != breaker.StatusHalfOpen {
			t.Errorf("got circuit %+v", s)
		}
	})
}

// A server that is held back is not asked for its list either: the last list is used until the server answers again.
func TestBreakerHoldsBackLists(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		_, client := gatewaytest.StartClient(t, srv, testkit.Modern, "breaker: {min_calls: 4, open_for: 10m, max_open: 10m, window: 30s}")
		srv.Always(testkit.OrderCreate, faults.Status(http.StatusServiceUnavailable, faults.Plain))
		for range 4 {
			client.MustOrder(t)
		}
		lists := srv.Messages("tools/list")
		time.Sleep(6 * time.Minute) // the list is out of date
		gatewaytest.HeldBack(t, client.MustOrder(t), 4*time.Minute)
		if n := srv.Messages("tools/list") - lists; n != 0 {
			t.Errorf("got %d requests for the list", n)
		}
		srv.Behave()
		time.Sleep(4 * time.Minute)
		if a := client.MustOrder(t); !a.Succeeded() {
			t.Errorf("the probe of a server that answers: got %s", a.Body)
		}
	})
}

// A program that ends during calls, or cannot be started, is held back as well.
func TestBreakerOfAProgram(t *testing.T) {
	t.Parallel()
	const entry = "breaker: {min_calls: 3, open_for: 1m}"
	for name, started := range map[string]func(t *testing.T) *gatewaytest.Front{
		"ends during calls": func(t *testing.T) *gatewaytest.Front {
			t.Helper()
			program := child.NewProgram(t)
			program.Always(testkit.OrderCreate, "exit")
			return gatewaytest.StartProgram(t, program, entry)
		},
		"ends at its start": func(t *testing.T) *gatewaytest.Front {
			t.Helper()
			return gatewaytest.Start(t, "", append(gatewaytest.Command(t, child.NewProgram(t), "die"), entry)...)
		},
		"does not exist": func(t *testing.T) *gatewaytest.Front {
			t.Helper()
			return gatewaytest.Start(t, "", "command: [/no/such/program]", entry)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := started(t)
			c := f.Client(t, testkit.Modern)
			for range 10 {
				if strings.Contains(string(c.MustOrder(t).Body), "not sent for now") {
					return
				}
			}
			t.Errorf("the program is never held back: %s", f.Log)
		})
	}
}

// Overlong tool names get no circuit, so that a client cannot fill the memory with invented names.
func TestBreakerOfInventedTools(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "virtual", func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory())
		g, client := gatewaytest.StartClient(t, srv, testkit.Modern, quickBreaker)
		srv.Always("tools/list", faults.Status(http.StatusInternalServerError, faults.Plain))
		for _, name := range []string{strings.Repeat("x", 128), strings.Repeat("x", 129)} {
			if _, err := client.Call(t.Context(), name, `{}`); err != nil {
				t.Fatal(err)
			}
		}
		if circuits := g.Protections()[0].Circuits; len(circuits) != 2 || len(circuits[1].Tool) != 128 {
			t.Errorf("got circuits %+v", circuits)
		}
	})
}
