package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

const farm = "/farm/mcp"

// A host is a client of a gateway over stdio.
type host struct {
	tb    testing.TB
	in    *io.PipeWriter
	lines chan string
	done  chan error
}

// startHost serves a new host until the test ends.
func startHost(tb testing.TB, g *gateway.Gateway) *host {
	tb.Helper()
	fromHost, in := io.Pipe()
	out, toHost := io.Pipe()
	h := &host{tb: tb, in: in, lines: make(chan string, 100), done: make(chan error, 1)}
	go func() {
		err := g.ServeStdio(context.Background(), farm, fromHost, toHost)
		_ = toHost.Close()
		h.done <- err
	}()
	go func() {
		defer close(h.lines)
		reader := bufio.NewReader(out)
		for {
			text, err := reader.ReadString('\n')
			if err != nil {
				return
			}
			h.lines <- text
		}
	}()
	tb.Cleanup(func() { h.close() })
	return h
}

// close ends the host's side, and returns the result of ServeStdio.
func (h *host) close() error {
	_ = h.in.Close()
	err, ok := <-h.done
	if ok {
		close(h.done)
	}
	return err
}

func (h *host) send(lines ...string) {
	h.tb.Helper()
	for _, text := range lines {
		if _, err := io.WriteString(h.in, text+"\n"); err != nil {
			h.tb.Fatal(err)
		}
	}
}

// A said is a message to the host.
type said struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result *struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
	Error *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// next returns the next message.
func (h *host) next() said {
	h.tb.Helper()
	select {
	case text, ok := <-h.lines:
		if !ok {
			h.tb.Fatal("the output has ended")
		}
		var m said
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			h.tb.Fatalf("got line %q, want a message", text)
		}
		return m
	case <-time.After(20 * time.Second):
		h.tb.Fatal("the gateway wrote nothing")
	}
	return said{}
}

// outcome describes a message in a few words.
func (m *said) outcome() string {
	id := string(m.ID)
	switch {
	case m.Method != "":
		return "method " + m.Method
	case m.Error != nil:
		return fmt.Sprintf("%s error %d", id, m.Error.Code)
	case m.Result != nil && m.Result.IsError:
		return id + " failed"
	case m.Result != nil && len(m.Result.Content) > 0:
		return id + " " + m.Result.Content[0].Text
	default:
		return id + " result"
	}
}

const (
	hello = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"host","version":"1"}}}`
	ready = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func echo(id, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"echo","arguments":{"message":%q}}}`, id, message)
}

// initialize opens a session.
func (h *host) initialize() {
	h.tb.Helper()
	h.send(hello, ready)
	m := h.next()
	if got := m.outcome(); got != `"init" result` {
		h.tb.Fatal(got)
	}
}

func farmGateway(tb testing.TB, srv *testkit.Server, top ...string) (*gateway.Gateway, *gatewaytest.Log) {
	tb.Helper()
	yaml := strings.Join(top, "\n") + "\nservers:\n  farm:\n    url: " + srv.URL() + "\n    timeout: 10s\n"
	return gatewaytest.New(tb, yaml)
}

func TestStdioAnswersEveryLine(t *testing.T) {
	t.Parallel()
	large := `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"echo","arguments":{"message":"` +
		strings.Repeat("x", 300<<10) + `"}}}`
	tests := map[string]struct{ line, want string }{
		"a call":                   {echo("7", "hi"), "7 hi"},
		"an id that is text":       {echo(`"a b"`, "hi"), `"a b" hi`},
		"windows line end":         {echo("7", "hi") + "\r", "7 hi"},
		"malformed":                {`{"jsonrpc":"2.0","id":1,`, " error -32700"},
		"plain text":               {"Hello, server!", " error -32700"},
		"a batch":                  {"[" + echo("7", "hi") + "]", " error -32600"},
		"a name twice":             {`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, " error -32600"},
		"too large":                {large, "8 error -32600"},
		"too large, without an id": {strings.Repeat("x", 1<<20), " error -32600"},
		"unknown tool":             {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nope"}}`, "7 error -32602"},
		"modern era": {
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"message":"new"},"_meta":{` +
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			"7 new",
		},
		"unknown version": {
			`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}}`,
			"7 error -32022",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, _ := farmGateway(t, testkit.NewServer(t), "max_request: 256KiB")
			h := startHost(t, g)
			h.initialize()
			h.send("", "  ", test.line)
			m := h.next()
			if got := m.outcome(); got != test.want {
				t.Errorf("got %q, want %q (%+v)", got, test.want, m.Error)
			}
			h.send(echo("9", "still there"))
			if m = h.next(); m.outcome() != "9 still there" {
				t.Errorf("the next call: got %s", m.outcome())
			}
			if err := h.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// When the host closes its end, all calls under way are answered, and so is a last line without a line end.
func TestStdioFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	g, _ := farmGateway(t, testkit.NewServer(t))
	var in bytes.Buffer
	fmt.Fprintln(&in, hello)
	fmt.Fprintln(&in, ready)
	want := map[string]bool{`"init" result`: true}
	for i := range 50 {
		end := "\n"
		if i == 49 {
			end = ""
		}
		fmt.Fprint(&in, echo(strconv.Itoa(i), "m"+strconv.Itoa(i)), end)
		want[fmt.Sprintf("%d m%d", i, i)] = true
	}
	var out bytes.Buffer
	if err := g.ServeStdio(t.Context(), farm, &in, &out); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for text := range strings.Lines(out.String()) {
		var m said
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("got line %q, want a message", text)
		}
		got[m.outcome()] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// If the server loses the session, the host's calls still succeed.
func TestStdioSurvivesALostSession(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, _ := farmGateway(t, srv)
	h := startHost(t, g)
	h.initialize()
	for id := range 3 {
		srv.ForgetSessions()
		h.send(echo(strconv.Itoa(id), "here"))
		if m := h.next(); m.outcome() != fmt.Sprintf("%d here", id) {
			t.Fatal(m.outcome())
		}
	}
}

// The same if the gateway has lost the session.
func TestStdioOpensItsSessionAgain(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, _ := farmGateway(t, srv)
	h := startHost(t, g)
	h.initialize()
	if err := srv.Await(t.Context(), func() bool { return srv.Streams() == 1 }); err != nil {
		t.Fatal(err)
	}
	gateway.ForgetSessions(g, farm)
	h.send(echo("1", "a"), echo("2", "b"))
	got := map[string]bool{}
	for range 2 {
		m := h.next()
		got[m.outcome()] = true
	}
	if diff := cmp.Diff(map[string]bool{"1 a": true, "2 b": true}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if n := srv.Messages("initialize"); n != 2 {
		t.Errorf("got %d sessions, want 2", n)
	}
}

// The server's notifications reach the host, even after its stream has ended once.
func TestStdioPassesNotificationsOn(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, _ := farmGateway(t, srv)
	h := startHost(t, g)
	h.initialize()
	for range 2 {
		if err := srv.Await(t.Context(), func() bool { return srv.Streams() == 1 }); err != nil {
			t.Fatal(err)
		}
		srv.Notify(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		if m := h.next(); m.Method != "notifications/tools/list_changed" {
			t.Fatal(m.outcome())
		}
		if err := srv.Restart(); err != nil {
			t.Fatal(err)
		}
	}
}

// A host has no headers: the gateway sets those that mirror arguments.
func TestStdioMirrorsArguments(t *testing.T) {
	t.Parallel()
	tool := testkit.Tool{Name: "query", Definition: `{"name":"query","inputSchema":{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"}}}}`}
	srv := testkit.NewServer(t, testkit.WithTools(tool), testkit.WithEra(testkit.Modern))
	g, _ := farmGateway(t, srv)
	h := startHost(t, g)
	for arguments, want := range map[string][]string{`{"region":"münchen"}`: {"=?base64?bcO8bmNoZW4=?="}, `{}`: nil} {
		h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query","arguments":` + arguments +
			`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
		if answer := h.next(); answer.outcome() != "1 ok" {
			t.Errorf("%s: got %s", arguments, answer.outcome())
		}
		calls := srv.Calls("query")
		if got := calls[len(calls)-1].Header["Mcp-Param-Region"]; !slices.Equal(got, want) {
			t.Errorf("%s: got header %q, want %q", arguments, got, want)
		}
	}
}

// A cancelled call gets no answer, and is cancelled at the server, in both eras.
func TestStdioCancels(t *testing.T) {
	t.Parallel()
	const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for name, extra := range map[string]string{"old": "", "new": meta} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			g, _ := farmGateway(t, srv)
			h := startHost(t, g)
			if extra == "" {
				h.initialize()
			}
			h.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"progress","arguments":{"count":1000,"gapMs":100}` +
				extra + `}}`)
			if err := srv.Await(t.Context(), func() bool { return srv.Attempts("progress") == 1 }); err != nil {
				t.Fatal(err)
			}
			h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
			if err := srv.Await(t.Context(), func() bool { return srv.InFlight() == 0 || srv.Messages("notifications/cancelled") > 0 }); err != nil {
				t.Fatal(err)
			}
			if err := h.close(); err != nil {
				t.Fatal(err)
			}
			for text := range h.lines {
				if strings.Contains(text, `"id":5`) {
					t.Errorf("got an answer to the cancelled call: %s", text)
				}
			}
		})
	}
}

// ServeStdio returns when its context ends, even while it waits for input and a call is under way.
func TestStdioEndsWithItsContext(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, _ := farmGateway(t, srv)
	ctx, cancel := context.WithCancel(t.Context())
	in, host := io.Pipe()
	defer host.Close()
	done := make(chan error, 1)
	go func() { done <- g.ServeStdio(ctx, farm, in, io.Discard) }()
	if _, err := io.WriteString(host, hello+"\n"+ready+"\n"+
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"progress","arguments":{"count":1000,"gapMs":100}}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := srv.Await(t.Context(), func() bool { return srv.Attempts("progress") == 1 }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// ServeStdio returns when it cannot write.
func TestStdioEndsWhenItsOutputIsBroken(t *testing.T) {
	t.Parallel()
	g, _ := farmGateway(t, testkit.NewServer(t))
	in, host := io.Pipe()
	defer host.Close()
	done := make(chan error, 1)
	go func() { done <- g.ServeStdio(t.Context(), farm, in, brokenPipe{}) }()
	if _, err := io.WriteString(host, hello+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want the error of the output", err)
	}
}

func TestStdioNeedsAServer(t *testing.T) {
	t.Parallel()
	g, _ := farmGateway(t, testkit.NewServer(t))
	if err := g.ServeStdio(t.Context(), "/nope", strings.NewReader(""), io.Discard); err == nil {
		t.Error("no error")
	}
}

// Requests of a host beyond the limit of concurrent calls are refused in the contract's form, and observers get their
// outcome.
func TestStdioBoundsItsCalls(t *testing.T) {
	t.Parallel()
	const most = 256
	release := make(chan struct{})
	url := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m said
		switch err := json.NewDecoder(r.Body).Decode(&m); {
		case err != nil || m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "tools/call":
			<-release
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo"}],"content":[]}}`, m.ID)
	}))
	g, log := gatewaytest.New(t, "servers:\n  farm:\n    url: "+url+"/mcp\n")
	h := startHost(t, g)
	h.initialize()
	for id := range most + 1 {
		h.send(echo(strconv.Itoa(id), "m"))
	}
	refused := h.next()
	close(release)
	if string(refused.ID) != strconv.Itoa(most) || refused.Result == nil || !refused.Result.IsError {
		t.Fatalf("got %s", refused.outcome())
	}
	if text := refused.Result.Content[0].Text; !strings.HasPrefix(text, "[unavailable] 256 calls of this host are under way") {
		t.Errorf("got %q", text)
	}
	for _, want := range []string{`"kind":"unavailable"`, `"origin":"gateway"`, `"effect":"none"`, `"attempts":0`} {
		log.Await(t, want)
	}
	for range most {
		if m := h.next(); m.Result == nil {
			t.Errorf("got %s", m.outcome())
		}
	}
}

// With every fault of the server, each call gets one answer, and each line is a message.
func TestStdioAnswersDespiteFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range faults.All(large) {
		testkit.Virtual(t, fault.Name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			g, _ := gatewaytest.New(t, "servers:\n  farm:\n    url: "+srv.URL()+"\n    timeout: 1s\n    max_timeout: 4s\n    tools: {echo: {read_only: true}}\n")
			h := startHost(t, g)
			h.initialize()
			srv.Next(testkit.OrderCreate, fault)
			h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order_create","arguments":{"reference":"A","amount":1}}}`)
			m := h.next()
			for m.Method != "" {
				m = h.next()
			}
			if string(m.ID) != "1" || m.Result == nil && m.Error == nil {
				t.Errorf("got %s", m.outcome())
			}
			h.send(echo("2", "still there"))
			if m = h.next(); m.outcome() != "2 still there" {
				t.Errorf("the next call: got %s", m.outcome())
			}
		})
	}
}
