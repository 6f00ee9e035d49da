package once_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// onceFront starts a gateway with that configuration, whose endpoint is at path.
func onceFront(tb testing.TB, s once.Store, path, yaml string) *gatewaytest.Front {
	tb.Helper()
	g, log := gatewaytest.NewReaching(tb, gateway.Reach{
		Once: s, OnceTimes: hasty, Pause: 1, Patience: gatewaytest.Impatient.Patience,
	}, "store: sqlite:unused.db\nsession_keys: ["+strings.Repeat("k", 32)+"]\n"+yaml)
	return &gatewaytest.Front{URL: gatewaytest.Open(tb, g, true) + path, Gateway: g, Log: log}
}

// settlesLost makes a call whose answer is lost after its effect, and repeats it: it is found to have landed, and the next
// repetition is replayed or meant.
func settlesLost(t *testing.T, c *testkit.Client, tool string, lose func(), orders func(string) int) {
	t.Helper()
	call := func() *testkit.Answer {
		return c.MustRequest(t, "7", "tools/call", `{"name":"`+tool+`","arguments":`+testkit.OrderArgs+`}`)
	}
	c.MustListTools(t)
	lose()
	if a := call(); a.Succeeded() {
		t.Fatalf("got %s", a.Body)
	}
	a := call()
	if !a.Succeeded() || !strings.Contains(string(a.Body), `"verified":true`) || orders("A-17") != 1 {
		t.Fatalf("got %s with %d orders", a.Body, orders("A-17"))
	}
}

// Writes to programs and to one server of several are settled like those to a server of its own.
func TestOnceEveryWay(t *testing.T) {
	t.Parallel()
	const tools = "tools: {order_create: {once: {grace: 0s}, " + orderVerify + "}}"
	for _, e := range testkit.EraPairs {
		t.Run("program/"+e.String(), func(t *testing.T) {
			t.Parallel()
			s, _ := onceStore(t)
			program := child.NewProgram(t)
			lines := append(gatewaytest.CommandFor(t, program, e.Server), tools)
			front := onceFront(t, s.Once(), gatewaytest.Path, "servers:\n  farm:\n    "+strings.Join(lines, "\n    ")+"\n")
			settlesLost(t, front.Client(t, e.Client), "order_create", func() { program.Next(testkit.OrderCreate, "exit") }, program.Orders)
		})
		t.Run("many/"+e.String(), func(t *testing.T) {
			t.Parallel()
			s, _ := onceStore(t)
			srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(e.Server))
			front := onceFront(t, s.Once(), "/all/mcp", fmt.Sprintf("servers:\n  farm:\n    url: %s\n    path: none\n    %s\n"+
				"endpoints:\n  all: {servers: [{name: farm, prefix: f_}]}\n", srv.URL(), tools))
			c := front.Client(t, e.Client)
			settlesLost(t, c, "f_order_create", func() { srv.Next(testkit.OrderCreate, faults.ResetBeforeAnswer()) }, srv.Orders)
			// The answer of the verify call has reached the client: the next call is meant.
			if a := c.MustRequest(t, "8", "tools/call", `{"name":"f_order_create","arguments":`+testkit.OrderArgs+`}`); !a.Succeeded() || isReplay(a) {
				t.Errorf("got %s", a.Body)
			}
		})
	}
}

// An HTTP API that honours keys gets the same one for each repetition, also after a call whose outcome is unknown.
func TestOnceTellsAPIsTheKey(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	fails.Store(true)
	keys := make(chan string, 100)
	p := gatewaytest.StartProvider(t, func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("Idempotency-Key")
		if fails.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":"p-1"}`))
	})
	s, _ := onceStore(t)
	front := gatewaytest.StartAPIOnce(t, p, gatewaytest.Orders, s.Once(), "tools: {pay: {once: true}}")
	c := front.Client(t, testkit.Modern)
	call := func() *testkit.Answer { return c.MustRequest(t, "1", "tools/call", `{"name":"pay","arguments":{}}`) }
	if a := call(); a.Succeeded() {
		t.Fatalf("got %s", a.Body)
	}
	fails.Store(false)
	if a := call(); !a.Succeeded() {
		t.Fatalf("got %s", a.Body)
	}
	close(keys)
	seen := map[string]int{}
	for key := range keys {
		seen[key]++
	}
	if len(seen) != 1 || seen[""] > 0 {
		t.Errorf("got the keys %v", seen)
	}
}

// An MCP server that honours keys gets the same one for each repetition, which the gateway then makes itself.
func TestOnceTellsServersTheKey(t *testing.T) {
	t.Parallel()
	for by, find := range map[string]func(*testkit.Received) string{
		"meta":   func(r *testkit.Received) string { return metaKey(r.Body) },
		"X-Once": func(r *testkit.Received) string { return r.Header.Get("X-Once") },
	} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			s, _ := onceStore(t)
			c := startOnce(t, srv, s, "once: true", "idempotent_by: "+by).Client(t, testkit.Modern)
			srv.Next(testkit.OrderCreate, faults.ResetBeforeAnswer())
			if a := order(t, c, testkit.OrderArgs, ""); !a.Succeeded() {
				t.Fatalf("got %s", a.Body)
			}
			seen := map[string]int{}
			for _, r := range srv.Requests() {
				if strings.Contains(string(r.Body), testkit.OrderCreate) {
					seen[find(&r)]++
				}
			}
			if len(seen) != 1 || seen[""] > 0 {
				t.Errorf("got the keys %v", seen)
			}
		})
	}
}

func metaKey(body []byte) string {
	_, rest, _ := strings.Cut(string(body), `"io.github.recoursehq/idempotencyKey":"`)
	key, _, _ := strings.Cut(rest, `"`)
	return key
}

// An answer that comes after its client has gone, or after the deadline, is what the next repetition gets.
func TestOnceLateAnswers(t *testing.T) {
	t.Parallel()
	for _, server := range testkit.Eras {
		t.Run(server.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithEra(server))
			s, _ := onceStore(t)
			repeated, repeats := context.WithCancel(t.Context())
			front := onceFront(t, hookedStore{Store: s.Once(), row: repeats, change: func() {}}, gatewaytest.Path,
				"servers:\n  farm:\n    url: "+srv.URL()+"\n    tools: {order_create: {once: true}}\n")
			c := front.Client(t, testkit.Modern)
			ctx, leave := context.WithCancel(t.Context())
			srv.Next(testkit.OrderCreate, testkit.Fault{Name: "late", Happen: func(e *testkit.Exchange) {
				leave()
				<-repeated.Done()
				e.Answer(e.Result(`{"content":[{"type":"text","text":"the first"}]}`))
			}}.Running(true))
			if a, err := c.Call(ctx, testkit.OrderCreate, testkit.OrderArgs); err == nil {
				t.Fatalf("got %s", a.Body)
			}
			a := order(t, c, testkit.OrderArgs, "")
			if !isReplay(a) || !strings.Contains(string(a.Body), "the first") || srv.Orders("A-17") != 1 {
				t.Errorf("got %s with %d orders", a.Body, srv.Orders("A-17"))
			}
		})
	}
}

// A repetition of a call that does not end gets in_flight, with a wait, before its own time is over.
func TestOnceInFlight(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	s, _ := onceStore(t)
	c := startOnce(t, srv, s, "once: true", gatewaytest.UntilDeadline).Client(t, testkit.Modern)
	c.MustListTools(t)
	srv.Next(testkit.OrderCreate, faults.Hang())
	if e := gatewaytest.Record(t, order(t, c, testkit.OrderArgs, "")); e.Kind != recourse.KindTimeout || e.Effect != recourse.EffectUnknown {
		t.Fatalf("got %+v", e)
	}
	a := order(t, c, testkit.OrderArgs, "")
	e := gatewaytest.Record(t, a)
	if e.Code != "in_flight" || e.Effect != recourse.EffectNone || e.RetryAfter <= 0 || e.RetryAdvice() != recourse.RetrySameCall {
		t.Errorf("got %s", a.Body)
	}
}

// While a server hangs that has carried the call out, a repetition is told so by the verify call, without waiting for the server.
func TestOnceLooksWhileTheServerHangs(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	s, _ := onceStore(t)
	c := startOnce(t, srv, s, "once: true, timeout: 1s, "+orderVerify).Client(t, testkit.Modern)
	c.MustListTools(t)
	srv.Next(testkit.OrderCreate, faults.Hang().Running(true))
	if e := gatewaytest.Record(t, order(t, c, testkit.OrderArgs, "")); e.Effect != recourse.EffectUnknown {
		t.Fatalf("got %+v", e)
	}
	if a := order(t, c, testkit.OrderArgs, ""); !strings.Contains(string(a.Body), `"verified":true`) || srv.Orders("A-17") != 1 {
		t.Errorf("got %s with %d orders", a.Body, srv.Orders("A-17"))
	}
	if a := order(t, c, testkit.OrderArgs, ""); !a.Succeeded() || isReplay(a) || srv.Orders("A-17") != 2 {
		t.Errorf("meant again: %s with %d orders", a.Body, srv.Orders("A-17"))
	}
}

// A gateway that dies leaves its calls unknown to others, never free, and cannot say afterwards what became of them.
func TestOnceSurvivesDeadGateways(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	s, address := onceStore(t)
	quick := once.Times{Lease: time.Second, Poll: 20 * time.Millisecond}
	dead := &dyingStore{Store: s.Once(), once: true}
	yaml := "servers:\n  farm:\n    url: " + srv.URL() + "\n    tools: {order_create: {once: {grace: 0s}, " + orderVerify + "}}\n"
	open := func(st once.Store) *testkit.Client {
		g, log := gatewaytest.NewReaching(t, gateway.Reach{Once: st, OnceTimes: quick, Pause: 1},
			"store: sqlite:unused.db\nsession_keys: ["+strings.Repeat("k", 32)+"]\n"+yaml)
		return (&gatewaytest.Front{URL: gatewaytest.Open(t, g, false) + gatewaytest.Path, Gateway: g, Log: log}).Client(t, testkit.Modern)
	}
	if a := order(t, open(dead), testkit.OrderArgs, ""); !a.Succeeded() {
		t.Fatalf("got %s", a.Body)
	}
	a := order(t, open(gatewaytest.OpenStore(t, address).Once()), testkit.OrderArgs, "")
	if !a.Succeeded() || !strings.Contains(string(a.Body), `"verified":true`) || srv.Orders("A-17") != 1 {
		t.Errorf("got %s with %d orders", a.Body, srv.Orders("A-17"))
	}
}

// If a call cannot be remembered, it is not sent, and the client is told so.
func TestOnceWithoutStore(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.InMemory())
	s, _ := onceStore(t)
	for _, live := range []int64{0, 1} {
		away := &dyingStore{Store: s.Once(), live: live}
		front := onceFront(t, away, gatewaytest.Path, "servers:\n  farm:\n    url: "+srv.URL()+"\n    tools: {order_create: {once: true}}\n")
		a := order(t, front.Client(t, testkit.Modern), testkit.OrderArgs, "")
		e := gatewaytest.Record(t, a)
		if e.Kind != recourse.KindUnavailable || e.Effect != recourse.EffectNone || e.RetryAfter == 0 || srv.Orders("A-17") != 0 {
			t.Errorf("after %d writes got %s", live, a.Body)
		}
	}
}

// A dyingStore carries out so many writes, or what comes before the first row and that, and fails all that come after.
type dyingStore struct {
	once.Store

	live int64
	once bool

	begun atomic.Bool
}

var errDead = errors.New("the store is away")

func (d *dyingStore) dies() bool {
	if d.once {
		return d.begun.Load()
	}
	return atomic.AddInt64(&d.live, -1) < 0
}

func (d *dyingStore) Begin(ctx context.Context, row *once.Row) (*once.Row, error) {
	if d.dies() {
		return nil, errDead
	}
	defer d.begun.Store(true)
	return d.Store.Begin(ctx, row)
}

func (d *dyingStore) Change(ctx context.Context, row *once.Row, fence int64, from ...once.State) (bool, error) {
	if d.dies() {
		return false, errDead
	}
	return d.Store.Change(ctx, row, fence, from...)
}

func (d *dyingStore) Remove(ctx context.Context, id string, fence int64) error {
	if d.dies() {
		return errDead
	}
	return d.Store.Remove(ctx, id, fence)
}

func (d *dyingStore) Beat(ctx context.Context, owner string, n int64) error {
	if d.dies() {
		return errDead
	}
	return d.Store.Beat(ctx, owner, n)
}
