package upstream_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
	"github.com/recoursehq/recourse/internal/upstream"
)

// modern returns a request of the modern era with id 1, with more in its params and meta in its _meta.
func modern(method, more, meta string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{%s"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`, method, more, meta)
}

// modernCall returns a tool call of the modern era.
func modernCall(tool, meta string) string {
	return modern("tools/call", fmt.Sprintf(`"name":%q,"arguments":{"n":2},`, tool), meta)
}

// as returns a client with that token.
func (s *server) as(token string) *client { return &client{server: s, token: token} }

type client struct {
	*server

	token string
}

func (c *client) send(ctx context.Context, body string) (*wire.Answer, error) {
	return c.Send(ctx, http.MethodPost, http.Header{"Authorization": {"Bearer " + c.token}}, []byte(body))
}

// say sends a message, and returns the status and body of the answer.
func (c *client) say(body string) (int, string) {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	resp, err := c.send(ctx, body)
	if err != nil {
		c.tb.Fatal(err)
	}
	return resp.Status, content(c.tb, resp)
}

// subscribe opens a subscription. next returns its next message.
func (c *client) subscribe(ctx context.Context, id string) (resp *wire.Answer, next func() string) {
	c.tb.Helper()
	body := strings.Replace(modern(wire.MethodListen, `"notifications":{"toolsListChanged":true},`, ""), `"id":1`, `"id":`+id, 1)
	resp, err := c.send(ctx, body)
	if err != nil {
		c.tb.Fatal(err)
	}
	c.tb.Cleanup(func() { _ = resp.Close() })
	events := wire.NewEventReader(resp, 0)
	return resp, func() string {
		event, err := events.Next()
		if err != nil {
			return err.Error()
		}
		return string(event.Data)
	}
}

var shares = map[string]upstream.Share{"all": upstream.ShareAll, "client": upstream.ShareClient}

// serveModern returns a client of a server whose child refuses initialize.
func serveModern(tb testing.TB, share upstream.Share) *client {
	tb.Helper()
	c := command("modern")
	c.Share = share
	return serve(tb, c).as("a")
}

// A child that refuses initialize and answers server/discover is served in the modern era.
func TestModernChild(t *testing.T) {
	t.Parallel()
	type answer struct {
		Status int
		Text   string
	}
	for name, share := range shares {
		t.Run("share "+name, func(t *testing.T) {
			t.Parallel()
			c := serveModern(t, share)
			if era := c.Era(); era != 0 {
				t.Errorf("before there is a child: got era %s", era)
			}
			const complete = `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"testkit","version":"1.0.0"}},`
			for _, test := range []struct {
				body string
				want answer
			}{
				{modern("server/discover", "", ""), answer{200, `{"jsonrpc":"2.0","id":1,"result":` + complete +
					`"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private"}}`}},
				{modernCall("id", `"progressToken":"p",`), answer{200, ""}},
				{modernCall("count", `"progressToken":"p",`), answer{200, `event: message
data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":0}}

event: message
data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}

event: message
data: {"jsonrpc":"2.0","id":1,"result":` + complete + `"content":[{"type":"text","text":"done"}]}}

`}},
				{modern("nothing", "", ""), answer{200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown method"}}`}},
				{modern("initialize", `"protocolVersion":"2025-11-25",`, ""), answer{200, `{"jsonrpc":"2.0","id":1,"error":` +
					`{"code":-32601,"message":"unknown method: this server speaks 2026-07-28"}}`}},
				{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, answer{400, `{"jsonrpc":"2.0","id":1,"error":` +
					`{"code":-32022,"message":"the server knows no initialize and speaks 2026-07-28 only","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}`}},
				{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, answer{202, ""}},
				{`{"jsonrpc":"2.0","method":"notifications/custom"}`, answer{202, ""}},
			} {
				status, text := c.say(test.body)
				if test.want.Text == "" {
					test.want.Text = text
				}
				if diff := cmp.Diff(test.want, answer{status, text}); diff != "" {
					t.Errorf("%s (-want +got):\n%s", test.body, diff)
				}
			}
			if era := c.Era(); era != wire.Modern {
				t.Errorf("got era %s", era)
			}
			for _, method := range []string{http.MethodGet, http.MethodDelete} {
				resp, err := c.Send(t.Context(), method, http.Header{}, nil)
				if err != nil || resp.Status != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "POST" {
					t.Errorf("%s: got %v, %v", method, resp, err)
				}
			}
			if n := len(pids(c.log)); n != 1 {
				t.Errorf("got %d processes, want 1", n)
			}
		})
	}
}

// If a client opens a legacy session first, a modern child may refuse it, or answer with its own version.
func TestInitializeOfModernChild(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]upstream.Command{
		"refused": command("modern"), "refused, share client": own("modern"),
		"taken": command("modern", "version=2026-07-28"), "taken, share client": own("modern", "version=2026-07-28"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, command).as("a")
			if status, text := c.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`); status != 400 || !strings.Contains(text, "-32022") {
				t.Errorf("got %d %s", status, text)
			}
			if era := c.Era(); era != wire.Modern {
				t.Errorf("got era %s", era)
			}
			if status, text := c.say(modernCall("echo", "")); status != 200 || !strings.Contains(text, `"complete"`) {
				t.Errorf("got %d %s", status, text)
			}
			if n := len(pids(c.log)); n != 1 {
				t.Errorf("got %d processes, want 1", n)
			}
		})
	}
}

// The child's stdout carries all subscriptions; each client gets the messages of its own.
func TestSubscriptionsOfAChild(t *testing.T) {
	t.Parallel()
	for name, share := range shares {
		t.Run("share "+name, func(t *testing.T) {
			t.Parallel()
			c := serveModern(t, share)
			const acknowledged = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":` +
				`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}}`
			const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`
			ids := []string{`"a"`, `7`}
			says := make([]func() string, len(ids))
			expect := func(want string) {
				t.Helper()
				for i, id := range ids {
					if diff := cmp.Diff(strings.ReplaceAll(want, "%s", id), says[i]()); diff != "" {
						t.Errorf("subscription %s (-want +got):\n%s", id, diff)
					}
				}
			}
			for i, id := range ids {
				_, says[i] = c.subscribe(t.Context(), id)
			}
			expect(acknowledged)
			c.say(modernCall("announce", ""))
			expect(changed)
			ctx, cancel := context.WithCancel(t.Context())
			resp, says3 := c.subscribe(ctx, `"c"`)
			says3()
			_ = resp.Close() // a client cancels a subscription by closing it
			cancel()
			c.say(modernCall("announce", ""))
			expect(changed)
			if got := says3(); strings.Contains(got, "list_changed") {
				t.Errorf("closed subscription: got %s", got)
			}
			c.say(modernCall("unlisten", ""))
			if got, want := says[0](), `{"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"a"}}}`; got != want {
				t.Errorf("end: got %s, want %s", got, want)
			}
			for _, next := range says {
				if got := next(); got != "EOF" {
					t.Errorf("after the end: got %s", got)
				}
			}
			if status, text := c.say(modernCall("cancelled", "")); status != 200 || strings.Count(text, `"text":"`) != 1 || strings.Contains(text, `"text":""`) {
				t.Errorf("the child was told: got %d %s", status, text)
			}
		})
	}
}

// Log messages of a child reach the requests that have asked for their level.
func TestLogOfModernChild(t *testing.T) {
	t.Parallel()
	c := serveModern(t, upstream.ShareClient)
	for level, want := range map[string]int{`"io.modelcontextprotocol/logLevel":"info",`: 1, `"io.modelcontextprotocol/logLevel":"error",`: 0, "": 0} {
		_, text := c.say(modernCall("log", level))
		if got := strings.Count(text, "notifications/message"); got != want {
			t.Errorf("with %s: got %d messages, want %d: %s", level, got, want, text)
		}
	}
}

// In the modern era a server cannot make requests: those of a child are logged and get no answer.
func TestModernChildThatAsks(t *testing.T) {
	t.Parallel()
	c := serveModern(t, upstream.ShareAll)
	c.say(modernCall("echo", "")) // starts the child
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := c.send(ctx, modern("tools/call", `"name":"question","arguments":{"text":"roots/list"},`, ""))
	if got, want := record(t, err), "timeout origin=gateway effect=: farm did not answer in time."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !strings.Contains(c.log.String(), "makes no requests") {
		t.Error("the child's request is not logged")
	}
	if _, text := c.say(modernCall("cancelled", "")); strings.Contains(text, `"text":""`) {
		t.Errorf("the child was not told of the cancellation: %s", text)
	}
}

func pidOf(t *testing.T, c *client, header http.Header) string {
	t.Helper()
	resp, err := c.Send(t.Context(), http.MethodPost, header, []byte(modernCall("pid", "")))
	if err != nil {
		t.Fatal(err)
	}
	return content(t, resp)
}

// The modern era has no sessions: each credential has its own child.
func TestEachClientHasItsChild(t *testing.T) {
	t.Parallel()
	c := serveModern(t, upstream.ShareClient)
	clients := []http.Header{
		{},
		{"Authorization": {"Bearer a"}},
		{"Authorization": {"Bearer b"}},
	}
	pid := map[string]int{}
	for range 2 {
		for _, header := range clients {
			pid[pidOf(t, c, header.Clone())]++
		}
	}
	if len(pid) != len(clients) {
		t.Errorf("%d clients got the processes %v", len(clients), pid)
	}
	if strings.Contains(c.log.String(), "Bearer") {
		t.Error("credentials are in the log")
	}
}

func TestModernClientsAreBounded(t *testing.T) {
	t.Parallel()
	c := serveModern(t, upstream.ShareClient)
	c.SetMost(2)
	a, b, d := c.as("a"), c.as("b"), c.as("d")
	_, nextA := a.subscribe(t.Context(), `"s"`)
	nextA()
	b.say(modernCall("echo", ""))
	d.say(modernCall("echo", "")) // replaces the child of b, which is idle
	testkit.Eventually(t, "it is ended", func() bool { return !child.GroupAlive(pids(c.log)[1]) })
	_, nextD := d.subscribe(t.Context(), `"s"`)
	nextD()
	_, err := b.send(t.Context(), modernCall("echo", ""))
	if got, want := record(t, err), "unavailable origin=gateway effect=none: All 2 processes of farm are in use."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestIdleModernClient(t *testing.T) {
	t.Parallel()
	command := command("modern")
	command.Share, command.Idle = upstream.ShareClient, 100*time.Millisecond
	c := serve(t, command).as("a")
	b := c.as("b")
	_, next := b.subscribe(t.Context(), `"s"`)
	next()
	_, first := c.say(modernCall("pid", ""))
	testkit.Eventually(t, "it ends", func() bool { return strings.Contains(c.log.String(), "process stopped") })
	if _, again := c.say(modernCall("pid", "")); again == first {
		t.Error("the same process answers")
	}
	b.say(modernCall("announce", ""))
	if got := next(); !strings.Contains(got, "list_changed") {
		t.Errorf("the process in use: got %s", got)
	}
}

// Without a bridge, a legacy child refuses modern requests.
func TestModernRequestsToLegacyChild(t *testing.T) {
	t.Parallel()
	c := serve(t, own()).as("a")
	for range 2 {
		if status, text := c.say(modern("server/discover", "", "")); status != 200 || !strings.Contains(text, "-32601") {
			t.Errorf("discover: got %d %s", status, text)
		}
	}
	if status, _ := c.say(modernCall("echo", "")); status != http.StatusBadRequest {
		t.Errorf("call: got %d", status)
	}
	if era := c.Era(); era != wire.Legacy {
		t.Errorf("got era %s", era)
	}
	if n := len(pids(c.log)); n != 1 {
		t.Errorf("got %d processes, want 1", n)
	}
	x, _ := c.open(wire.Version20251125)
	x.mustCall("echo", 0)
}

// A child of both eras is initialized and so speaks the legacy one: then it sends notifications without a
// subscription.
func TestDiscoverOfAChildOfBothEras(t *testing.T) {
	t.Parallel()
	for name, share := range shares {
		t.Run("share "+name, func(t *testing.T) {
			t.Parallel()
			cmd := command("both")
			cmd.Share = share
			c := serve(t, cmd).as("a")
			for range 2 {
				if status, text := c.say(modern("server/discover", "", "")); status != 200 || !strings.Contains(text, "-32601") {
					t.Errorf("got %d %s", status, text)
				}
			}
			if era := c.Era(); era != wire.Legacy {
				t.Errorf("got era %s", era)
			}
		})
	}
}

// A hung child of the modern era is ended like any other.
func TestHungModernChild(t *testing.T) {
	t.Parallel()
	c := serveModern(t, upstream.ShareAll)
	c.SetSilence(50 * time.Millisecond)
	_, first := c.say(modernCall("pid", ""))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, _ = c.send(ctx, modernCall("deaf", ""))
	testkit.Eventually(t, "it is ended", func() bool { return strings.Contains(c.log.String(), "stopped answering") })
	if _, again := c.say(modernCall("pid", "")); again == first {
		t.Error("the same process answers")
	}
}
