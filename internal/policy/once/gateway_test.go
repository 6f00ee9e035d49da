package once_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

const orderVerify = "verify: {tool: order_get, from: {reference: /reference}, look_at: status, landed: {path: /reference, exists: true}}"

// onceStore opens a store of its own for a test.
func onceStore(tb testing.TB) (*store.Store, string) {
	tb.Helper()
	address := "sqlite:" + filepath.Join(tb.TempDir(), "once.db")
	return gatewaytest.OpenStore(tb, address), address
}

// hasty makes ledgers impatient.
var hasty = once.Times{Lease: 5 * time.Second, Poll: 20 * time.Millisecond}

// startOnce starts a gateway in front of srv whose tool order_create has those settings.
func startOnce(tb testing.TB, srv *testkit.Server, s *store.Store, tool string, entry ...string) *gatewaytest.Front {
	tb.Helper()
	lines := append(slices.Clip(entry), "url: "+srv.URL(), "tools: {order_create: {"+tool+"}}")
	yaml := "store: sqlite:unused.db\nsession_keys: [" + strings.Repeat("k", 32) + "]\nservers:\n  farm:\n    " + strings.Join(lines, "\n    ") + "\n"
	g, log := gatewaytest.NewReaching(tb, gateway.Reach{Once: s.Once(), OnceTimes: hasty, Pause: 1}, yaml)
	return &gatewaytest.Front{URL: gatewaytest.Open(tb, g, testkit.IsInMemory(srv.URL())) + gatewaytest.Path, Gateway: g, Log: log}
}

// order makes the call, and returns the answer.
func order(tb testing.TB, c *testkit.Client, arguments, meta string) *testkit.Answer {
	tb.Helper()
	params := fmt.Sprintf(`{"name":"order_create","arguments":%s}`, arguments)
	if meta != "" {
		params = fmt.Sprintf(`{"name":"order_create","arguments":%s,"_meta":{%s}}`, arguments, meta)
	}
	a, err := c.Request(tb.Context(), "tools/call", params)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func isReplay(a *testkit.Answer) bool { return strings.Contains(string(a.Body), `"replayed":true`) }

// plain returns an answer without its mark and id.
func plain(tb testing.TB, a *testkit.Answer) string {
	tb.Helper()
	if a.Message == nil {
		tb.Fatalf("got HTTP %d %s", a.Status, a.Body)
	}
	text := strings.Replace(string(a.Message.Result), `"_meta":{"io.github.recoursehq/once":{"replayed":true}},`, "", 1)
	return strings.Replace(text, `"io.github.recoursehq/once":{"replayed":true},`, "", 1)
}

// A repetition with a key gets the same answer, however its arguments are written, and the server sees one call.
func TestOnceReplays(t *testing.T) {
	t.Parallel()
	for _, e := range testkit.EraPairs {
		t.Run(e.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithEra(e.Server))
			s, _ := onceStore(t)
			c := startOnce(t, srv, s, "once: {key: /reference}").Client(t, e.Client)
			first := order(t, c, `{"reference":"A-17","amount":12.5}`, "")
			if !first.Succeeded() || isReplay(first) {
				t.Fatalf("got %s", first.Body)
			}
			for _, same := range []string{
				`{"reference":"A-17","amount":12.5}`, `{"amount":1.25e1, "reference":"\u0041-17"}`, `{"amount":12.500,"reference":"A-17"}`,
			} {
				again := order(t, c, same, "")
				if !again.Succeeded() || !isReplay(again) || plain(t, again) != plain(t, first) {
					t.Errorf("%s got %s, want %s", same, again.Body, first.Body)
				}
			}
			if n := srv.Orders("A-17"); n != 1 {
				t.Errorf("there are %d orders", n)
			}
		})
	}
}

// The same key with other arguments is a conflict that names what differs.
func TestOnceConflicts(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	s, _ := onceStore(t)
	c := startOnce(t, srv, s, "once: {key: /reference}").Client(t, testkit.Modern)
	order(t, c, `{"reference":"A-17","amount":12.5,"items":[{"sku":"a","quantity":1}]}`, "")
	a := order(t, c, `{"reference":"A-17","amount":13,"note":"x","items":[{"sku":"a","quantity":1}]}`, "")
	e := gatewaytest.Record(t, a)
	if e.Kind != recourse.KindConflict || e.Effect != recourse.EffectNone || srv.Orders("A-17") != 1 {
		t.Errorf("got %s", a.Body)
	}
	if got := string(e.Details["differs"]); got != `["/amount","/note"]` || strings.Contains(string(a.Body), "12.5") {
		t.Errorf("differs in %s: %s", got, a.Body)
	}
}

// With once: true, a call whose answer has reached the client may be made again; one whose answer was lost is replayed.
func TestOnceDelivered(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	s, _ := onceStore(t)
	front := startOnce(t, srv, s, "once: true")
	c := front.Client(t, testkit.Modern)
	for range 2 {
		if a := order(t, c, testkit.OrderArgs, ""); !a.Succeeded() || isReplay(a) {
			t.Fatalf("got %s", a.Body)
		}
	}
	if n := srv.Orders("A-17"); n != 2 {
		t.Errorf("intended twice: %d orders", n)
	}
	replay := startOnce(t, testkit.NewServer(t), s, "once: {delivered: replay}", "path: /farm/mcp").Client(t, testkit.Modern)
	if a := order(t, replay, `{"reference":"B-1","amount":1}`, ""); !a.Succeeded() {
		t.Fatalf("got %s", a.Body)
	}
	if a := order(t, replay, `{"reference":"B-1","amount":1}`, ""); !isReplay(a) {
		t.Errorf("got %s", a.Body)
	}
}

// Whoever has got the answer may mean the call again at once, even if that it was delivered is still being written.
func TestOnceMeantAgainAtOnce(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.InMemory())
	s, _ := onceStore(t)
	looked, look := context.WithCancel(t.Context())
	st := hookedStore{Store: s.Once(), row: look, change: func() { <-looked.Done() }}
	front := onceFront(t, st, gatewaytest.Path, "servers:\n  farm:\n    url: "+srv.URL()+"\n    tools: {order_create: {once: true}}\n")
	host := gatewaytest.StartHost(t, front.Gateway)
	host.Initialize()
	for i := range 2 {
		host.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"order_create","arguments":%s}}`, i, testkit.OrderArgs))
		if said := host.Next(); said.Result == nil {
			t.Fatalf("got %+v", said)
		}
	}
	if n := srv.Orders("A-17"); n != 2 {
		t.Errorf("there are %d orders", n)
	}
}

// A hookedStore says when a row is looked at, and when what became of a call is to be written.
type hookedStore struct {
	once.Store

	row, change func()
}

func (s hookedStore) Row(ctx context.Context, id string) (*once.Row, error) {
	defer s.row()
	return s.Store.Row(ctx, id)
}

func (s hookedStore) Change(ctx context.Context, row *once.Row, fence int64, from ...once.State) (bool, error) {
	s.change()
	return s.Store.Change(ctx, row, fence, from...)
}

// Many callers of the same call at the same time get one answer, at one gateway and at two that share a store.
func TestOnceTogether(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	_, address := onceStore(t)
	var clients []*testkit.Client
	for range 2 {
		clients = append(clients, startOnce(t, srv, gatewaytest.OpenStore(t, address), "once: {delivered: replay}").Client(t, testkit.Modern))
	}
	srv.Always(testkit.OrderCreate, testkit.Fault{Name: "slow", Happen: func(e *testkit.Exchange) {
		time.Sleep(300 * time.Millisecond) // so that the others come meanwhile
		e.Answer(e.Result(`{"content":[{"type":"text","text":"created"}]}`))
	}}.Running(true))
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			a, err := clients[i%2].Call(t.Context(), testkit.OrderCreate, testkit.OrderArgs)
			if err != nil || !a.Succeeded() {
				t.Errorf("got %+v, %v", a, err)
			}
		})
	}
	all.Wait()
	if n := srv.Orders("A-17"); n != 1 {
		t.Errorf("there are %d orders", n)
	}
}

// What became of a call whose answer was lost is settled by the verify call: it has landed, or is sent again after its grace.
func TestOnceSettles(t *testing.T) {
	t.Parallel()
	for name, ran := range map[string]bool{"landed": true, "not landed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			s, _ := onceStore(t)
			c := startOnce(t, srv, s, "once: {grace: 100ms}, "+orderVerify).Client(t, testkit.Modern)
			srv.Next(testkit.OrderCreate, faults.ResetBeforeAnswer().Running(ran))
			first := order(t, c, testkit.OrderArgs, "")
			if e := gatewaytest.Record(t, first); e.Effect != recourse.EffectUnknown {
				t.Fatalf("got %s", first.Body)
			}
			again := order(t, c, testkit.OrderArgs, "")
			if !again.Succeeded() || srv.Orders("A-17") != 1 {
				t.Fatalf("got %s with %d orders", again.Body, srv.Orders("A-17"))
			}
			if verified := strings.Contains(string(again.Body), `"verified":true`); verified != ran {
				t.Errorf("verified %t: %s", verified, again.Body)
			}
		})
	}
}

// Without a verify call, or while it cannot decide, nothing is sent.
func TestOnceUnknown(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]string{
		"without a verify call": "once: true",
		"without landed":        "once: true, verify: {tool: order_get, from: {reference: /reference}}",
		"that fails":            "once: {grace: 0s}, " + orderVerify,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			s, _ := onceStore(t)
			c := startOnce(t, srv, s, tool).Client(t, testkit.Modern)
			srv.Next(testkit.OrderCreate, faults.ResetBeforeAnswer().Running(false))
			srv.Always(testkit.OrderGet, faults.StatusWith("", 500, "text/plain", "broken"))
			for range 3 {
				a := order(t, c, testkit.OrderArgs, "")
				if e := gatewaytest.Record(t, a); e.Effect != recourse.EffectUnknown || srv.Orders("A-17") != 0 {
					t.Errorf("got %s", a.Body)
				}
			}
		})
	}
}

// A call that failed before it could have an effect does not count.
func TestOnceFree(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	s, _ := onceStore(t)
	c := startOnce(t, srv, s, "once: {key: /reference}").Client(t, testkit.Modern)
	srv.Next(testkit.OrderCreate, faults.RPCError("", -32602, "amount is too small", ""))
	if a := order(t, c, testkit.OrderArgs, ""); a.Succeeded() {
		t.Fatalf("got %s", a.Body)
	}
	if a := order(t, c, testkit.OrderArgs, ""); !a.Succeeded() || isReplay(a) {
		t.Errorf("got %s", a.Body)
	}
}

// A client's own key counts in all of its spellings, must be a text, and must be one.
func TestOnceOwnKey(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	s, _ := onceStore(t)
	c := startOnce(t, srv, s, "once: {key: required}").Client(t, testkit.Legacy)
	if a := order(t, c, testkit.OrderArgs, ""); gatewaytest.Record(t, a).Kind != recourse.KindMissingParam {
		t.Errorf("without a key: %s", a.Body)
	}
	for i, meta := range []string{`"io.github.recoursehq/idempotencyKey":"k-1"`, `"idempotency-key":"k-1"`, `"idempotency_key":"k-1"`} {
		if a := order(t, c, testkit.OrderArgs, meta); !a.Succeeded() || isReplay(a) != (i > 0) {
			t.Errorf("%s: %s", meta, a.Body)
		}
	}
	long, _ := json.Marshal(strings.Repeat("k", 10<<10))
	for _, meta := range []string{
		`"idempotency_key":""`, `"idempotency_key":7`, `"idempotency_key":"a\u0000b"`, `"idempotency_key":` + string(long),
		`"idempotency_key":"k-1","idempotency-key":"k-2"`, `"idempotency_key":{"a":1}`,
	} {
		a := order(t, c, testkit.OrderArgs, meta)
		if e := gatewaytest.Record(t, a); e.Kind != recourse.KindInvalidValue || e.Effect != recourse.EffectNone {
			t.Errorf("%.60s: %.300s", meta, a.Body)
		}
	}
	if n := srv.Orders("A-17"); n != 1 {
		t.Errorf("there are %d orders", n)
	}
}

// Another caller with the same key gets nothing of the first one's answer.
func TestOnceKeepsCallersApart(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	s, _ := onceStore(t)
	front := startOnce(t, srv, s, "once: {key: required}")
	for _, who := range []string{"Bearer alice", "Bearer mallory"} {
		c := front.As(t, testkit.Modern, "Authorization", who, "Idempotency-Key", "k-1")
		for i := range 2 {
			if a := order(t, c, testkit.OrderArgs, ""); !a.Succeeded() || isReplay(a) != (i > 0) {
				t.Errorf("%s: %s", who, a.Body)
			}
		}
	}
	if n := srv.Orders("A-17"); n != 2 {
		t.Errorf("there are %d orders", n)
	}
}

// A client that opens a new session, after a restart of its own or of the gateway, is still the same caller.
func TestOnceOutlivesSessions(t *testing.T) {
	t.Parallel()
	for _, server := range testkit.Eras {
		t.Run(server.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithEra(server))
			s, _ := onceStore(t)
			front := startOnce(t, srv, s, "once: {grace: 0s}, "+orderVerify)
			srv.Next(testkit.OrderCreate, faults.ResetBeforeAnswer().Running(true))
			if a := order(t, front.Client(t, testkit.Legacy), testkit.OrderArgs, ""); a.Succeeded() {
				t.Fatalf("got %s", a.Body)
			}
			if a := order(t, front.Client(t, testkit.Legacy), testkit.OrderArgs, ""); !isReplay(a) || srv.Orders("A-17") != 1 {
				t.Errorf("got %s with %d orders", a.Body, srv.Orders("A-17"))
			}
		})
	}
}
