package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// startBridged starts a gateway in front of a legacy server, and returns the server, the gateway and a modern client.
func startBridged(t *testing.T, entry ...string) (*testkit.Server, *gatewaytest.Front, *testkit.Client) {
	t.Helper()
	srv := testkit.NewServer(t, testkit.WithEra(testkit.Legacy))
	f := gatewaytest.Start(t, srv.URL(), entry...)
	client := f.Client(t, testkit.Modern)
	return srv, f, client
}

// inputRequired is the result that asks a modern client a question.
type inputRequired struct {
	ResultType    string `json:"resultType"`
	InputRequests map[string]struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"inputRequests"`
	RequestState string `json:"requestState"`
}

// asked returns the question in an answer.
func asked(t *testing.T, a *testkit.Answer) inputRequired {
	t.Helper()
	var q inputRequired
	if a.Message == nil || json.Unmarshal(a.Message.Result, &q) != nil || q.ResultType != "input_required" || q.RequestState == "" {
		t.Fatalf("got HTTP %d %s, want a question", a.Status, a.Body)
	}
	return q
}

// answersTo returns the params of the call that answers a question.
func answersTo(tool string, q inputRequired, answer string) string {
	responses := map[string]json.RawMessage{}
	for key := range q.InputRequests {
		responses[key] = json.RawMessage(answer)
	}
	text, err := json.Marshal(map[string]any{
		"name": tool, "arguments": map[string]any{}, "inputResponses": responses, "requestState": q.RequestState,
	})
	if err != nil {
		panic(err)
	}
	return string(text)
}

const ada = `{"action":"accept","content":{"name":"Ada"}}`

// A question of a server becomes a result, and the call continues with the answer.
func TestBridgedQuestion(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T) (front *gatewaytest.Front, calls func() int){
		"url": func(t *testing.T) (*gatewaytest.Front, func() int) {
			t.Helper()
			srv, f, _ := startBridged(t, "timeout: 5s")
			return f, func() int { return srv.Executions(testkit.Ask) }
		},
		"program": func(t *testing.T) (*gatewaytest.Front, func() int) {
			t.Helper()
			program := child.NewProgram(t)
			return gatewaytest.StartProgram(t, program, "share: client", "timeout: 10s"), func() int { return program.Calls(testkit.Ask) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, calls := begin(t)
			client := f.As(t, testkit.Modern, "Authorization", "Bearer a") // the program's only client
			for i, answer := range []string{ada, `{"action":"decline"}`, `{"action":"cancel"}`} {
				q := asked(t, client.MustRequest(t, `"q"`, "tools/call", `{"name":"ask","arguments":{}}`))
				for _, request := range q.InputRequests {
					if request.Method != "elicitation/create" || !strings.Contains(string(request.Params), "What is your name?") {
						t.Errorf("got question %+v", request)
					}
				}
				a := client.MustRequest(t, `"r"`, "tools/call", answersTo(testkit.Ask, q, answer))
				if result, err := a.ToolResult(); err != nil || result.Text() != answer || result.ResultType != "complete" {
					t.Errorf("got %s, want the answer %s", a.Body, answer)
				}
				if n := calls(); n != i+1 {
					t.Errorf("got %d executions, want %d", n, i+1)
				}
			}
		})
	}
}

// If a program ends while a question of it is open, the answer to the question gets what became of the call.
func TestProgramThatAskedEnds(t *testing.T) {
	t.Parallel()
	f := gatewaytest.StartProgram(t, child.NewProgram(t), "share: client", "timeout: 10s")
	client := f.As(t, testkit.Modern, "Authorization", "Bearer a")
	pid, err := strconv.Atoi(pidOf(t, client))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	q := asked(t, client.MustRequest(t, `"q"`, "tools/call", `{"name":"ask","arguments":{}}`))
	if err := program.Kill(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the end of the program", func() bool { return strings.Contains(f.Log.String(), "process ended") })
	e := gatewaytest.Record(t, client.MustRequest(t, `"r"`, "tools/call", answersTo(testkit.Ask, q, ada)))
	if e.Kind != recourse.KindUnreachable || e.Effect != recourse.EffectUnknown {
		t.Errorf("got %s, effect %s: %s", e.Kind, e.Effect, e.Message)
	}
}

// A requestState is only valid for its caller, gateway and tool, and only once.
func TestBridgedStates(t *testing.T) {
	t.Parallel()
	_, f, client := startBridged(t, "timeout: 5s", "forward: [Authorization]")
	client.Header = http.Header{"Authorization": {"Bearer a"}}
	other := f.Client(t, testkit.Modern)
	other.Header = http.Header{"Authorization": {"Bearer b"}}
	_, g, elsewhere := startBridged(t, "timeout: 5s")
	_ = g
	invalid := func(what string, a *testkit.Answer) {
		t.Helper()
		if e := gatewaytest.Record(t, a); e.Kind != recourse.KindInvalidState || !strings.Contains(e.Message, "Call again from the start") {
			t.Errorf("%s: got %s", what, a.Body)
		}
	}
	ask := func() inputRequired {
		t.Helper()
		return asked(t, client.MustRequest(t, "1", "tools/call", `{"name":"ask","arguments":{}}`))
	}
	q := ask()
	invalid("another caller", other.MustRequest(t, "2", "tools/call", answersTo(testkit.Ask, q, ada)))
	invalid("another gateway", elsewhere.MustRequest(t, "2", "tools/call", answersTo(testkit.Ask, q, ada)))
	invalid("another tool", client.MustRequest(t, "2", "tools/call", answersTo(testkit.Progress, q, ada)))
	forged := q
	forged.RequestState = "AAAA" + q.RequestState[4:]
	invalid("forged", client.MustRequest(t, "2", "tools/call", answersTo(testkit.Ask, forged, ada)))
	forged.RequestState = "tampered"
	invalid("invented", client.MustRequest(t, "2", "tools/call", answersTo(testkit.Ask, forged, ada)))
	if a := client.MustRequest(t, "3", "tools/call", answersTo(testkit.Ask, q, ada)); !a.Succeeded() {
		t.Errorf("the right state: got %s", a.Body)
	}
	invalid("used twice", client.MustRequest(t, "4", "tools/call", answersTo(testkit.Ask, q, ada)))
}

// A client that repeats the call without an answer is asked again.
func TestBridgedQuestionWithoutAnswer(t *testing.T) {
	t.Parallel()
	srv, _, client := startBridged(t, "timeout: 5s")
	q := asked(t, client.MustRequest(t, "1", "tools/call", `{"name":"ask","arguments":{}}`))
	again := asked(t, client.MustRequest(t, "2", "tools/call", fmt.Sprintf(`{"name":"ask","arguments":{},"requestState":%q}`, q.RequestState)))
	if diff := cmp.Diff(q.InputRequests, again.InputRequests); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	if a := client.MustRequest(t, "3", "tools/call", answersTo(testkit.Ask, again, ada)); !a.Succeeded() || srv.Executions(testkit.Ask) != 1 {
		t.Errorf("got %d executions: %s", srv.Executions(testkit.Ask), a.Body)
	}
}

// If the client has not declared elicitation, the server's question is refused.
func TestBridgedQuestionNobodyCanAnswer(t *testing.T) {
	t.Parallel()
	_, _, client := startBridged(t, "timeout: 5s")
	client.Capabilities = `{}`
	a := client.MustRequest(t, "1", "tools/call", `{"name":"ask","arguments":{}}`)
	if result, err := a.ToolResult(); err != nil || result.ResultType != "complete" {
		t.Errorf("got %s", a.Body)
	}
}

// The initialize result of a legacy server becomes the result of server/discover.
func TestBridgedDiscover(t *testing.T) {
	t.Parallel()
	_, _, client := startBridged(t)
	a := client.MustRequest(t, `"d"`, "server/discover", `{}`)
	const want = `{"jsonrpc":"2.0","id":"d","result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],` +
		`"capabilities":{"tools":{"listChanged":true}},"instructions":"A server that fails on request.","ttlMs":0,"cacheScope":"private",` +
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"testkit","version":"1.0.0"}}}}`
	if diff := cmp.Diff(want, string(a.Body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Results get the members that the modern era requires, and are otherwise unchanged.
func TestBridgedResults(t *testing.T) {
	t.Parallel()
	for _, form := range []testkit.AnswerForm{testkit.JSON, testkit.SSE} {
		t.Run(form.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithEra(testkit.Legacy), testkit.WithForm(form))
			f := gatewaytest.Start(t, srv.URL())
			direct := testkit.NewClient(t, srv.URL(), testkit.Legacy)
			direct.MustInitialize(t)
			client := f.Client(t, testkit.Modern)
			for _, tt := range []struct{ method, params, added string }{
				{"tools/call", `{"name":"get_field","arguments":{"field_id":"F-1"}}`, `,"resultType":"complete"}`},
				{"tools/list", `{}`, `,"resultType":"complete"}`}, // with ttlMs and cacheScope
				{"x/invented", `{}`, `,"resultType":"complete"}`},
			} {
				was, is := direct.MustRequest(t, `"é"`, tt.method, tt.params), client.MustRequest(t, `"é"`, tt.method, tt.params)
				want := strings.TrimSuffix(string(was.Message.Result), "}") + tt.added
				got := string(is.Message.Result)
				if tt.method == "x/invented" { // its result echoes the request
					want, got = want[len(want)-100:], got[len(got)-100:]
				}
				if diff := cmp.Diff(want, got); diff != "" || string(is.Message.ID) != `"é"` {
					t.Errorf("%s with id %s (-want +got):\n%s", tt.method, is.Message.ID, diff)
				}
			}
			for _, r := range srv.Calls(testkit.GetField)[1:] {
				if strings.Contains(string(r.Body), "io.modelcontextprotocol") || r.Header.Get("Mcp-Method") != "" || r.Header.Get("Mcp-Name") != "" {
					t.Errorf("the server got %s %s", r.Header, r.Body)
				}
			}
		})
	}
}

// The gateway refuses methods without a counterpart in the legacy era, without asking the server.
func TestBridgedMethodsWithoutCounterpart(t *testing.T) {
	t.Parallel()
	srv, _, client := startBridged(t)
	client.MustRequest(t, "1", "tools/list", `{}`)
	for _, method := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "tasks/get"} {
		before := srv.Messages(method)
		a := client.MustRequest(t, "1", method, `{}`)
		if e := gatewaytest.Record(t, a); e.Kind != recourse.KindUnknownMethod || e.Origin != recourse.OriginGateway || a.Message.Error.Code != -32601 {
			t.Errorf("%s: got %s", method, a.Body)
		}
		if n := srv.Messages(method); n != before {
			t.Errorf("%s reached the server", method)
		}
	}
	if a, err := client.Notify(t.Context(), "notifications/cancelled", `{"requestId":1}`); err != nil || a.Status != http.StatusAccepted {
		t.Errorf("a notification: got %+v, %v", a, err)
	}
}

// Progress reaches only the call that it belongs to, although all clients use the same token.
func TestBridgedProgress(t *testing.T) {
	t.Parallel()
	_, f, _ := startBridged(t, "timeout: 10s")
	var calls sync.WaitGroup
	for i := range 8 {
		client := f.Client(t, testkit.Modern)
		calls.Go(func() {
			token := "null"
			if i%2 == 0 {
				token = `"same"`
			}
			body, header := client.Message("1", "tools/call", `{"name":"progress","arguments":{"count":3,"gapMs":5},"_meta":`+
				`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":`+token+`}}`)
			if token == "null" {
				body = []byte(strings.Replace(string(body), `,"progressToken":null`, "", 1))
			}
			a, err := client.Post(t.Context(), body, header)
			if err != nil || !a.Succeeded() {
				t.Errorf("got %+v, %v", a, err)
				return
			}
			if n := strings.Count(string(a.Body), `"progressToken":"same"`); i%2 == 0 && n != 3 || i%2 == 1 && strings.Contains(string(a.Body), "progress\"") {
				t.Errorf("got %d notifications: %s", n, a.Body)
			}
		})
	}
	calls.Wait()
}

// If a client leaves, or a call takes too long, the call is cancelled at the server.
func TestBridgedCancellation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(testkit.Legacy))
		client := gatewaytest.Start(t, srv.URL(), "timeout: 1s", "tools: {progress: {read_only: false}}").Client(t, testkit.Modern)
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := client.OpenCall(ctx, testkit.Ask, `{}`) // the tool asks at once
		if err != nil {
			t.Fatal(err)
		}
		stream.Close()
		srv.Always(testkit.Progress, faults.Hang())
		if a, err := client.Call(ctx, testkit.Progress, `{}`); err != nil || gatewaytest.Record(t, a).Kind != recourse.KindTimeout {
			t.Errorf("got %+v, %v", a, err)
		}
		cancel()
		within, done := context.WithTimeout(t.Context(), 10*time.Second)
		defer done()
		if err := srv.Await(within, func() bool { return srv.Messages("notifications/cancelled") > 0 }); err != nil {
			t.Error(err)
		}
	})
}

// A session that the server has lost is opened once again for all its callers, and their calls, including writes, are
// repeated.
func TestBridgedLostSession(t *testing.T) {
	t.Parallel()
	srv, f, client := startBridged(t, "timeout: 10s")
	if a := client.MustRequest(t, "1", "tools/call", `{"name":"get_field","arguments":{"field_id":"F-1"}}`); !a.Succeeded() {
		t.Fatalf("got %s", a.Body)
	}
	srv.ForgetSessions()
	before := srv.Messages("initialize")
	var calls sync.WaitGroup
	for i := range 16 {
		other := f.Client(t, testkit.Modern)
		calls.Go(func() {
			a, err := other.Call(t.Context(), testkit.OrderCreate, fmt.Sprintf(`{"reference":"A-%d","amount":1}`, i))
			if err != nil || !a.Succeeded() {
				t.Errorf("got %+v, %v", a, err)
			}
		})
	}
	calls.Wait()
	if n := srv.Messages("initialize") - before; n != 1 {
		t.Errorf("got %d sessions", n)
	}
	for i := range 16 {
		if n := srv.Orders(fmt.Sprintf("A-%d", i)); n != 1 {
			t.Errorf("order %d: created %d times", i, n)
		}
	}
}

// A question without params gets empty ones, since the Go SDK requires them.
func TestBridgedQuestionWithoutParams(t *testing.T) {
	t.Parallel()
	f := gatewaytest.StartProgram(t, child.NewProgram(t), "share: client")
	client := f.As(t, testkit.Modern, "Authorization", "Bearer a")
	client.Capabilities = `{"roots":{}}`
	q := asked(t, client.MustRequest(t, "1", "tools/call", `{"name":"question","arguments":{"text":"roots/list"}}`))
	for _, request := range q.InputRequests {
		if request.Method != "roots/list" || string(request.Params) != "{}" {
			t.Errorf("got question %s %s", request.Method, request.Params)
		}
	}
	const roots = `{"roots":[{"uri":"file:///fields"}]}`
	a := client.MustRequest(t, "2", "tools/call", strings.Replace(answersTo("question", q, roots), `"arguments":{}`, `"arguments":{"text":"roots/list"}`, 1))
	if result, err := a.ToolResult(); err != nil || result.Text() != roots {
		t.Errorf("got %s, %v", a.Body, err)
	}
}

// A refusal of the client's own credentials reaches the client with its challenge, across eras too.
func TestBridgedCredentials(t *testing.T) {
	t.Parallel()
	srv, _, client := startBridged(t, "forward: [Authorization]")
	client.Header = http.Header{"Authorization": {"Bearer stale"}}
	for _, refused := range []string{testkit.EveryMessage, "initialize", testkit.GetField} {
		srv.Always(refused, faults.Unauthorized())
		a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`)
		if err != nil || a.Status != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") != faults.Challenge {
			t.Errorf("%s: got %+v, %v", refused, a, err)
		}
		srv.Behave()
	}
	if a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F-1"}`); err != nil || !a.Succeeded() {
		t.Errorf("got %+v, %v", a, err)
	}
}

// If a reload changes how a server is reached, its held calls are cancelled, and a client that answers is told so.
func TestBridgedReload(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithEra(testkit.Legacy))
	entry := "servers: {farm: {url: '" + srv.URL() + "', title: '%s', mode: %s}}\n"
	g, _ := gatewaytest.New(t, fmt.Sprintf(entry, "Farm", "enforce"))
	client := testkit.NewClient(t, testkit.Serve(t, g)+"/farm/mcp", testkit.Modern)
	q := asked(t, client.MustRequest(t, "1", "tools/call", `{"name":"ask","arguments":{}}`))
	gatewaytest.Reload(t, g, fmt.Sprintf(entry, "Barn", "enforce"))
	testkit.Eventually(t, "the call is cancelled", func() bool { return srv.Messages("notifications/cancelled") == 1 })
	if e := gatewaytest.Record(t, client.MustRequest(t, "2", "tools/call", answersTo(testkit.Ask, q, ada))); e.Kind != recourse.KindInvalidState {
		t.Errorf("got %v", e)
	}
	gatewaytest.Reload(t, g, fmt.Sprintf(entry, "Barn", "observe"))
	if a := client.MustRequest(t, "3", "tools/list", `{}`); a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != -32022 {
		t.Errorf("with mode observe: got %s", a.Body)
	}
}
