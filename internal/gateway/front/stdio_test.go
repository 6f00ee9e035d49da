package front_test

import (
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

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

func TestStdioAnswersEveryLine(t *testing.T) {
	t.Parallel()
	large := `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"echo","arguments":{"message":"` +
		strings.Repeat("x", 300<<10) + `"}}}`
	tests := map[string]struct{ line, want string }{
		"a call":                   {gatewaytest.EchoLine("7", "hi"), "7 hi"},
		"an id that is text":       {gatewaytest.EchoLine(`"a b"`, "hi"), `"a b" hi`},
		"windows line end":         {gatewaytest.EchoLine("7", "hi") + "\r", "7 hi"},
		"malformed":                {`{"jsonrpc":"2.0","id":1,`, " error -32700"},
		"plain text":               {"Hello, server!", " error -32700"},
		"a batch":                  {"[" + gatewaytest.EchoLine("7", "hi") + "]", " error -32600"},
		"a name twice":             {`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, " error -32600"},
		"too large":                {large, "8 failed"},
		"too large, without an id": {strings.Repeat("x", 1<<20), " error -32600"},
		"unknown tool":             {`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nope"}}`, "7 failed"},
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
			g, _ := gatewaytest.Before(t, testkit.NewServer(t), "max_request: 256KiB")
			h := gatewaytest.StartHost(t, g)
			h.Initialize()
			h.Send("", "  ", test.line)
			m := h.Next()
			if got := m.Outcome(); got != test.want {
				t.Errorf("got %q, want %q (%+v)", got, test.want, m.Error)
			}
			h.Send(gatewaytest.EchoLine("9", "still there"))
			if m = h.Next(); m.Outcome() != "9 still there" {
				t.Errorf("the next call: got %s", m.Outcome())
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// When the host closes its end, all calls under way are answered, and so is a last line without a line end.
func TestStdioFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	g, _ := gatewaytest.Before(t, testkit.NewServer(t))
	var in bytes.Buffer
	fmt.Fprintln(&in, gatewaytest.Hello)
	fmt.Fprintln(&in, gatewaytest.Ready)
	want := map[string]bool{`"init" result`: true}
	for i := range 50 {
		end := "\n"
		if i == 49 {
			end = ""
		}
		fmt.Fprint(&in, gatewaytest.EchoLine(strconv.Itoa(i), "m"+strconv.Itoa(i)), end)
		want[fmt.Sprintf("%d m%d", i, i)] = true
	}
	var out bytes.Buffer
	if err := g.ServeStdio(t.Context(), gatewaytest.Path, &in, &out); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for text := range strings.Lines(out.String()) {
		var m gatewaytest.HostMessage
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatalf("got line %q, want a message", text)
		}
		got[m.Outcome()] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

// If the server loses the session, the host's calls still succeed.
func TestStdioSurvivesALostSession(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, _ := gatewaytest.Before(t, srv)
	h := gatewaytest.StartHost(t, g)
	h.Initialize()
	for id := range 3 {
		srv.ForgetSessions()
		h.Send(gatewaytest.EchoLine(strconv.Itoa(id), "here"))
		if m := h.Next(); m.Outcome() != fmt.Sprintf("%d here", id) {
			t.Fatal(m.Outcome())
		}
	}
}

// The server's notifications reach the host, even after its stream has ended once.
func TestStdioPassesNotificationsOn(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	g, _ := gatewaytest.Before(t, srv)
	h := gatewaytest.StartHost(t, g)
	h.Initialize()
	for range 2 {
		if err := srv.Await(t.Context(), func() bool { return srv.Streams() == 1 }); err != nil {
			t.Fatal(err)
		}
		srv.Notify(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		if m := h.Next(); m.Method != "notifications/tools/list_changed" {
			t.Fatal(m.Outcome())
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
	g, _ := gatewaytest.Before(t, srv)
	h := gatewaytest.StartHost(t, g)
	for arguments, want := range map[string][]string{`{"region":"münchen"}`: {"=?base64?bcO8bmNoZW4=?="}, `{}`: nil} {
		h.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query","arguments":` + arguments +
			`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
		if answer := h.Next(); answer.Outcome() != "1 ok" {
			t.Errorf("%s: got %s", arguments, answer.Outcome())
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
			g, _ := gatewaytest.Before(t, srv)
			h := gatewaytest.StartHost(t, g)
			if extra == "" {
				h.Initialize()
			}
			h.Send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"progress","arguments":{"count":1000,"gapMs":100}` +
				extra + `}}`)
			if err := srv.Await(t.Context(), func() bool { return srv.Attempts("progress") == 1 }); err != nil {
				t.Fatal(err)
			}
			h.Send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
			if err := srv.Await(t.Context(), func() bool { return srv.InFlight() == 0 || srv.Messages("notifications/cancelled") > 0 }); err != nil {
				t.Fatal(err)
			}
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			for text := range h.Lines {
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
	g, _ := gatewaytest.Before(t, srv)
	ctx, cancel := context.WithCancel(t.Context())
	in, host := io.Pipe()
	defer host.Close()
	done := make(chan error, 1)
	go func() { done <- g.ServeStdio(ctx, gatewaytest.Path, in, io.Discard) }()
	if _, err := io.WriteString(host, gatewaytest.Hello+"\n"+gatewaytest.Ready+"\n"+
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
	g, _ := gatewaytest.Before(t, testkit.NewServer(t))
	in, host := io.Pipe()
	defer host.Close()
	done := make(chan error, 1)
	go func() { done <- g.ServeStdio(t.Context(), gatewaytest.Path, in, brokenPipe{}) }()
	if _, err := io.WriteString(host, gatewaytest.Hello+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v, want the error of the output", err)
	}
}

func TestStdioNeedsAServer(t *testing.T) {
	t.Parallel()
	g, _ := gatewaytest.Before(t, testkit.NewServer(t))
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
		var m gatewaytest.HostMessage
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
	h := gatewaytest.StartHost(t, g)
	h.Initialize()
	for id := range most + 1 {
		h.Send(gatewaytest.EchoLine(strconv.Itoa(id), "m"))
	}
	refused := h.Next()
	close(release)
	if string(refused.ID) != strconv.Itoa(most) || refused.Result == nil || !refused.Result.IsError {
		t.Fatalf("got %s", refused.Outcome())
	}
	if text := refused.Result.Content[0].Text; !strings.HasPrefix(text, "[unavailable] 256 calls of this host are under way") {
		t.Errorf("got %q", text)
	}
	for _, want := range []string{`"kind":"unavailable"`, `"origin":"gateway"`, `"effect":"none"`, `"attempts":0`} {
		log.Await(t, want)
	}
	for range most {
		if m := h.Next(); m.Result == nil {
			t.Errorf("got %s", m.Outcome())
		}
	}
}

// With every fault of the server, each call gets one answer, and each line is a message.
func TestStdioAnswersDespiteFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range faults.All(1 << 20) {
		testkit.Virtual(t, fault.Name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory())
			g, _ := gatewaytest.New(t, "servers:\n  farm:\n    url: "+srv.URL()+"\n    timeout: 1s\n    max_timeout: 4s\n    tools: {echo: {read_only: true}}\n")
			h := gatewaytest.StartHost(t, g)
			h.Initialize()
			srv.Next(testkit.OrderCreate, fault)
			h.Send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order_create","arguments":{"reference":"A","amount":1}}}`)
			m := h.Next()
			for m.Method != "" {
				m = h.Next()
			}
			if string(m.ID) != "1" || m.Result == nil && m.Error == nil {
				t.Errorf("got %s", m.Outcome())
			}
			h.Send(gatewaytest.EchoLine("2", "still there"))
			if m = h.Next(); m.Outcome() != "2 still there" {
				t.Errorf("the next call: got %s", m.Outcome())
			}
		})
	}
}
