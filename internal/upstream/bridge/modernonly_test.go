package bridge_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// modernOnly starts a server that speaks only the modern era, and a gateway in front of it.
func modernOnly(tb testing.TB, form testkit.AnswerForm, entry ...string) (*testkit.Server, *gatewaytest.Front) {
	tb.Helper()
	srv := testkit.NewServer(tb, testkit.WithEra(testkit.Modern), testkit.WithForm(form))
	return srv, gatewaytest.Start(tb, srv.URL(), entry...)
}

var answerForms = []testkit.AnswerForm{testkit.JSON, testkit.SSE}

// A legacy client can use a modern server, in the version that it asks for, and gets the same answers.
func TestLegacyClientOfModernServer(t *testing.T) {
	t.Parallel()
	for _, form := range answerForms {
		for _, version := range []string{"2025-11-25", "2025-06-18", "2025-03-26"} {
			t.Run(form.String()+"/"+version, func(t *testing.T) {
				t.Parallel()
				srv, f := modernOnly(t, form)
				client := testkit.NewClient(t, f.URL, testkit.Legacy)
				client.Version = version
				a, err := client.Initialize(t.Context())
				if err != nil || a.Message == nil || client.Session == "" {
					t.Fatalf("initialize: got %+v, %v", a, err)
				}
				want := `{"protocolVersion":"` + version + `","capabilities":{"tools":{"listChanged":true}},` +
					`"serverInfo":{"name":"testkit","version":"1.0.0"},"instructions":"A server that fails on request."}`
				if diff := cmp.Diff(want, string(a.Message.Result)); diff != "" {
					t.Errorf("initialize (-want +got):\n%s", diff)
				}
				list, err := client.Request(t.Context(), "tools/list", `{}`)
				if err != nil || list.Message == nil || strings.Contains(string(list.Body), "ttlMs") || strings.Contains(string(list.Body), "resultType") {
					t.Errorf("tools/list: got %s, %v", list.Body, err)
				}
				direct := testkit.NewClient(t, srv.URL(), testkit.Modern)
				for tool, arguments := range map[string]string{
					testkit.GetField: `{"field_id":"F-1"}`, testkit.OrderCreate: `{"reference":"A-17","amount":12.5}`,
					testkit.Echo: `{"message":"\u00e9 \ud83d\ude00"}`,
				} {
					got, err := client.Call(t.Context(), tool, arguments)
					if err != nil || got.Message == nil {
						t.Fatalf("%s: got %v", tool, err)
					}
					want, err := direct.Call(t.Context(), tool, arguments)
					if err != nil {
						t.Fatal(err)
					}
					result := strings.Replace(string(want.Message.Result), `"resultType":"complete",`, "", 1)
					if diff := cmp.Diff(result, string(got.Message.Result)); diff != "" {
						t.Errorf("%s: (-direct +bridged)\n%s", tool, diff)
					}
				}
				if got := srv.Messages("initialize"); got != 1 {
					t.Errorf("got %d initialize requests", got)
				}
			})
		}
	}
}

// Requests at the modern server have the headers and _meta of the modern era and no session. Everything else that the
// client sends is passed on.
func TestRequestToModernServer(t *testing.T) {
	t.Parallel()
	srv, f := modernOnly(t, testkit.JSON)
	client := testkit.NewClient(t, f.URL, testkit.Legacy)
	client.Capabilities = `{"roots":{},"tasks":{"list":{}},"elicitation":{"form":{}}}`
	client.MustInitialize(t)
	const introduction = `"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"testkit","version":"1.0.0"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}},"roots":{}}`
	for _, test := range []struct{ params, want string }{
		{``, `{"_meta":{` + introduction + `}}`},
		{`{ }`, `{"_meta":{` + introduction + `} }`},
		{`{"a":1e2}`, `{"_meta":{` + introduction + `},"a":1e2}`},
		{`{"_meta":{},"a":1}`, `{"_meta":{` + introduction + `},"a":1}`},
		{
			`{"a": [ 1 ],"_meta":{"x.example/y":[1, 2],"progressToken":"mine","io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}`,
			`{"a": [ 1 ],"_meta":{` + introduction + `,"progressToken":"mine","x.example/y":[1, 2]}}`,
		},
	} {
		a, err := client.Request(t.Context(), "x/invented", test.params)
		if err != nil || a.Message == nil || a.Message.Result == nil {
			t.Fatalf("%s: got %+v, %v", test.params, a, err)
		}
		requests := srv.RequestsFor("x/invented")
		last := requests[len(requests)-1]
		var message struct {
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(last.Body, &message); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, string(message.Params)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.params, diff)
		}
		h := last.Header
		if h.Get("Mcp-Protocol-Version") != "2026-07-28" || h.Get("Mcp-Method") != "x/invented" || h.Get("Mcp-Session-Id") != "" {
			t.Errorf("got headers %v", h)
		}
	}
}

// The bridge itself answers methods that the modern era does not have.
func TestMethodsAnsweredByTheBridge(t *testing.T) {
	t.Parallel()
	srv, f := modernOnly(t, testkit.JSON)
	client := f.Client(t, testkit.Legacy)
	if a, err := client.Request(t.Context(), "ping", ""); err != nil || a.Message == nil || string(a.Message.Result) != "{}" {
		t.Errorf("ping: got %+v, %v", a, err)
	}
	for _, method := range []string{"tasks/get", "tasks/list", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "server/discover", "subscriptions/listen"} {
		a, err := client.Request(t.Context(), method, `{"uri":"file:///x","level":"info"}`)
		if err != nil || a.Status != http.StatusOK || a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != -32601 {
			t.Errorf("%s: got %+v, %v", method, a, err)
		}
	}
	for _, method := range []string{"notifications/initialized", "notifications/roots/list_changed", "notifications/progress", "notifications/cancelled"} {
		if a, err := client.Notify(t.Context(), method, `{"requestId":99,"progressToken":1,"progress":1}`); err != nil || a.Status != http.StatusAccepted {
			t.Errorf("%s: got %+v, %v", method, a, err)
		}
		if got := srv.Messages(method); got != 0 {
			t.Errorf("%s: got %d requests at the server", method, got)
		}
	}
	if a, err := client.Notify(t.Context(), "notifications/x", `{}`); err != nil || a.Status != http.StatusAccepted || srv.Messages("notifications/x") != 1 {
		t.Errorf("an unknown notification: got %+v, %v", a, err)
	}
	if a, err := client.Request(t.Context(), "prompts/list", `{}`); err != nil || a.Status != http.StatusOK || a.Message.Error == nil || a.Message.Error.Code != -32601 {
		t.Errorf("an unknown method: got %+v, %v", a, err)
	}
	if got := srv.Messages("server/discover"); got != 2 {
		t.Errorf("got %d server/discover requests, want 2", got) // one to detect the era, one for the session
	}
}

// A session belongs to the caller that opened it, and ends when the client deletes it.
func TestSessionsOfModernServer(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithEra(testkit.Modern))
	f := gatewaytest.Start(t, srv.URL(), "forward: [Authorization]")
	client := testkit.NewClient(t, f.URL, testkit.Legacy)
	client.Header = http.Header{"Authorization": {"Bearer a"}}
	client.MustInitialize(t)
	thief := testkit.NewClient(t, f.URL, testkit.Legacy)
	thief.Session = client.Session
	if a, err := thief.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || a.Status != http.StatusNotFound {
		t.Errorf("another caller's session: got %+v, %v", a, err)
	}
	for _, r := range srv.Requests() {
		if r.Header.Get("Mcp-Session-Id") != "" || r.Header.Get("Authorization") != "Bearer a" && r.RPC != "" {
			t.Errorf("got %s with %v", r.RPC, r.Header)
		}
	}
	if a, err := client.Delete(t.Context()); err != nil || a.Status != http.StatusNoContent {
		t.Errorf("delete: got %+v, %v", a, err)
	}
	if a, err := client.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || a.Status != http.StatusNotFound {
		t.Errorf("a session that has ended: got %+v, %v", a, err)
	}
}

// When the server is replaced by one of the other era and back, the client's session continues.
func TestModernServerChangesItsEra(t *testing.T) {
	t.Parallel()
	neu, alt := testkit.NewServer(t, testkit.WithEra(testkit.Modern)), testkit.NewServer(t, testkit.WithEra(testkit.Legacy))
	now := make(chan *testkit.Server, 1)
	now <- neu
	url := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		srv := <-now
		now <- srv
		out, err := http.NewRequestWithContext(r.Context(), r.Method, srv.URL(), r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		out.Header = r.Header
		resp, err := http.DefaultClient.Do(out)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	client := gatewaytest.Start(t, url+"/mcp", "timeout: 5s").Client(t, testkit.Legacy)
	for i, srv := range []*testkit.Server{neu, alt, neu, alt} {
		<-now
		now <- srv
		if a, err := client.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || !a.Succeeded() {
			t.Fatalf("server %d: got HTTP %d %s, %v", i, a.Status, a.Body, err)
		}
	}
}

// Invalid messages are refused as with a legacy server.
func TestBadInputToModernServer(t *testing.T) {
	t.Parallel()
	srv, f := modernOnly(t, testkit.JSON)
	client := f.Client(t, testkit.Legacy)
	a, err := client.Post(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}`), nil)
	if err != nil || !a.Result(t).IsError {
		t.Errorf("params that are a list: got %s, %v", a.Body, err)
	}
	for _, params := range []string{``, `{}`, `{"protocolVersion":7}`, `{"protocolVersion":"2025-11-25","capabilities":[]}`} {
		other := testkit.NewClient(t, f.URL, testkit.Legacy)
		if a, err := other.Request(t.Context(), "initialize", params); err != nil || a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != -32602 {
			t.Errorf("initialize with %s: got %+v, %v", params, a, err)
		}
	}
	long := testkit.NewClient(t, f.URL, testkit.Legacy)
	long.Capabilities = `{"experimental":{"x":"` + strings.Repeat("x", 10_000) + `"}}`
	if a, err := long.Initialize(t.Context()); err == nil || a == nil || a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != -32602 {
		t.Errorf("a long introduction: got %+v, %v", a, err)
	}
	plain := testkit.NewClient(t, f.URL, testkit.Legacy)
	if a, err := plain.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || !a.Succeeded() {
		t.Errorf("without a session: got %+v, %v", a, err)
	}
	if got := srv.Sessions(); got != 0 {
		t.Errorf("got %d sessions at the server", got)
	}
}

// Arguments that a schema mirrors into headers are mirrored, even if a later version of the schema begins to do so.
func TestMirroredArgumentsToModernServer(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"region":{"type":"string"%s},"count":{"type":"integer"%s},"in":{"type":"object",` +
		`"properties":{"on":{"type":"boolean"%s}}}}}`
	tool := func(schema string) testkit.Tool {
		return testkit.Tool{Name: "mirror", Definition: `{"name":"mirror","inputSchema":` + schema + `}`}
	}
	plain := tool(fmt.Sprintf(schema, "", "", ""))
	mirroring := tool(fmt.Sprintf(schema, `,"x-mcp-header":"Region"`, `,"x-mcp-header":"Count"`, `,"x-mcp-header":"On"`))
	srv := testkit.NewServer(t, testkit.WithEra(testkit.Modern), testkit.WithTools(mirroring))
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
	for _, test := range []struct {
		arguments string
		want      [3]string
	}{
		{`{"region":"us-west1","count":42.0,"in":{"on":true}}`, [3]string{"us-west1", "42", "true"}},
		{`{"region":"Zürich ","count":-7}`, [3]string{"=?base64?WsO8cmljaCA=?=", "-7", ""}},
		{`{"region":""}`, [3]string{"", "", ""}},
		{`{}`, [3]string{"", "", ""}},
	} {
		if a, err := client.Call(t.Context(), "mirror", test.arguments); err != nil || a.Message == nil {
			t.Fatalf("got %+v, %v", a, err)
		}
		calls := srv.Calls("mirror")
		if len(calls) == 0 {
			continue
		}
		h := calls[len(calls)-1].Header
		got := [3]string{h.Get("Mcp-Param-Region"), h.Get("Mcp-Param-Count"), h.Get("Mcp-Param-On")}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.arguments, diff)
		}
	}

	later := testkit.NewServer(t, testkit.WithEra(testkit.Modern), testkit.WithTools(plain))
	client = gatewaytest.Start(t, later.URL()).Client(t, testkit.Legacy)
	if _, err := client.Call(t.Context(), "mirror", `{"region":"a"}`); err != nil {
		t.Fatal(err)
	}
	later.SetTools(mirroring)
	later.Next("mirror", faults.RPCStatus("misses a header", http.StatusBadRequest, -32020, "Header mismatch", ""))
	if a, err := client.Call(t.Context(), "mirror", `{"region":"b"}`); err != nil || !a.Succeeded() {
		t.Errorf("got %+v, %v", a, err)
	}
	calls := later.Calls("mirror")
	if got := calls[len(calls)-1].Header.Get("Mcp-Param-Region"); got != "b" || len(calls) != 3 {
		t.Errorf("got %d calls, the last with %q", len(calls), got)
	}
}

// A protocol error keeps its code and data in the legacy answer.
func TestRefusalsOfModernServer(t *testing.T) {
	t.Parallel()
	srv, f := modernOnly(t, testkit.JSON)
	client := f.Client(t, testkit.Legacy)
	srv.Next(testkit.GetField, faults.RPCStatus("missing capability", http.StatusBadRequest, -32021, "needs sampling",
		`{"requiredCapabilities":{"sampling":{}}}`))
	a, err := client.Call(t.Context(), testkit.GetField, testkit.FieldArgs)
	if err != nil || a.Status != http.StatusOK || a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != -32021 ||
		!strings.Contains(string(a.Message.Error.Data), `"requiredCapabilities":{"sampling":{}}`) {
		t.Errorf("got HTTP %d %s, %v", a.Status, a.Body, err)
	}
}

// A session outlives a reload that changes how the server is reached.
func TestReloadInFrontOfModernServer(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithEra(testkit.Modern))
	yaml := "servers: {farm: {url: '" + srv.URL() + "', title: '%s', timeout: 10s}}\n"
	g, _ := gatewaytest.New(t, fmt.Sprintf(yaml, "One"))
	f := &gatewaytest.Front{URL: testkit.Serve(t, g) + "/farm/mcp"}
	calls, listens := f.Client(t, testkit.Legacy), f.Client(t, testkit.Legacy)
	for _, title := range []string{"Two", "Three"} {
		gatewaytest.Reload(t, g, fmt.Sprintf(yaml, title))
		stream, err := listens.Listen(t.Context(), "")
		if err != nil || stream.Status != http.StatusOK {
			t.Fatalf("got %+v, %v", stream, err)
		}
		stream.Close()
		gatewaytest.Reload(t, g, fmt.Sprintf(yaml, title+", again"))
		if a, err := calls.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || !a.Succeeded() {
			t.Fatalf("got %+v, %v", a, err)
		}
	}
}

// A server of both eras is never bridged, even if it refuses one initialize.
func TestServerOfBothErasIsUsedDirectly(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]testkit.Fault{
		"bad params":          faults.RPCStatus("refused", http.StatusBadRequest, -32602, "Invalid params", ""),
		"not found":           faults.RPCStatus("refused", http.StatusOK, -32601, "Method not found", ""),
		"plain":               faults.Status(http.StatusBadRequest, faults.Plain),
		"unsupported version": faults.RPCStatus("refused", http.StatusBadRequest, -32022, "Unsupported", `{"supported":["2026-07-28","2025-06-18"]}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			f := gatewaytest.Start(t, srv.URL())
			srv.Next("initialize", refusal)
			if a, err := testkit.NewClient(t, f.URL, testkit.Legacy).Initialize(t.Context()); err == nil {
				t.Fatalf("got %s, want a refusal of initialize", a.Body)
			}
			if got := srv.Sessions(); got != 0 {
				t.Errorf("got %d sessions of the bridge, want none", got)
			}
			client := f.Client(t, testkit.Legacy)
			if a, err := client.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || !a.Succeeded() || srv.Sessions() != 1 {
				t.Errorf("got %+v, %v", a, err)
			}
		})
	}
}
