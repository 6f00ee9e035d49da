package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/testkit"
	"github.com/recoursehq/recourse/internal/testkit/faults"
)

// modernOnly is a server that speaks the modern era only, and a gateway in front of it.
func modernOnly(tb testing.TB, form testkit.Form, entry ...string) (*testkit.Server, *front) {
	tb.Helper()
	srv := testkit.NewServer(tb, testkit.WithEra(testkit.Modern), testkit.WithForm(form))
	return srv, start(tb, srv.URL(), entry...)
}

var answerForms = []testkit.Form{testkit.JSON, testkit.SSE}

// A client of the legacy era finds a server of its own era, in the version that it asks for, whose answers are those of
// the modern server behind it.
func TestLegacyClientOfModernServer(t *testing.T) {
	t.Parallel()
	for _, form := range answerForms {
		for _, version := range []string{"2025-11-25", "2025-06-18", "2025-03-26"} {
			t.Run(form.String()+"/"+version, func(t *testing.T) {
				t.Parallel()
				srv, f := modernOnly(t, form)
				client := testkit.NewClient(t, f.url, testkit.Legacy)
				client.Version = version
				a, err := client.Initialize(t.Context())
				if err != nil || a.Message == nil || client.Session == "" {
					t.Fatalf("initialize: %v %+v", err, a)
				}
				want := `{"protocolVersion":"` + version + `","capabilities":{"tools":{"listChanged":true}},` +
					`"serverInfo":{"name":"testkit","version":"1.0.0"},"instructions":"A server that fails on request."}`
				if diff := cmp.Diff(want, string(a.Message.Result)); diff != "" {
					t.Errorf("initialize (-want +got):\n%s", diff)
				}
				list, err := client.Request(t.Context(), "tools/list", `{}`)
				if err != nil || list.Message == nil || strings.Contains(string(list.Body), "ttlMs") || strings.Contains(string(list.Body), "resultType") {
					t.Errorf("tools/list: %v %s", err, list.Body)
				}
				direct := testkit.NewClient(t, srv.URL(), testkit.Modern)
				for tool, arguments := range map[string]string{
					testkit.GetField: `{"field_id":"F-1"}`, testkit.OrderCreate: `{"reference":"A-17","amount":12.5}`,
					testkit.Echo: `{"message":"\u00e9 \ud83d\ude00"}`,
				} {
					got, err := client.Call(t.Context(), tool, arguments)
					if err != nil || got.Message == nil {
						t.Fatalf("%s: %v", tool, err)
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
					t.Errorf("initialize was sent %d times", got)
				}
			})
		}
	}
}

// Requests that reach the modern server are modern: with its headers, its _meta and no session. What else the client
// sends is passed on.
func TestRequestToModernServer(t *testing.T) {
	t.Parallel()
	srv, f := modernOnly(t, testkit.JSON)
	client := testkit.NewClient(t, f.url, testkit.Legacy)
	client.Capabilities = `{"roots":{},"tasks":{"list":{}},"elicitation":{"form":{}}}`
	initialize(t, client)
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
			t.Fatalf("%s: %v %+v", test.params, err, a)
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
			t.Errorf("headers %v", h)
		}
	}
}

// The bridge itself answers what the modern era does not have.
func TestWhatModernServersLack(t *testing.T) {
	t.Parallel()
	srv, f := modernOnly(t, testkit.JSON)
	client := f.client(t, testkit.Legacy)
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
			t.Errorf("%s was sent %d times", method, got)
		}
	}
	if a, err := client.Notify(t.Context(), "notifications/x", `{}`); err != nil || a.Status != http.StatusAccepted || srv.Messages("notifications/x") != 1 {
		t.Errorf("a notification of nobody's: got %+v, %v", a, err)
	}
	if a, err := client.Request(t.Context(), "prompts/list", `{}`); err != nil || a.Status != http.StatusOK || a.Message.Error == nil || a.Message.Error.Code != -32601 {
		t.Errorf("a method that the server does not have: got %+v, %v", a, err)
	}
	if got := srv.Messages("server/discover"); got != 2 {
		t.Errorf("server/discover was sent %d times", got) // once to find out, once for the session
	}
}

// A session ends when its client says so, belongs to its opener, and is opened again by
// itself where the bridge does not know it any more.
func TestSessionsOfModernServer(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithEra(testkit.Modern))
	f := start(t, srv.URL(), "forward: [Authorization]")
	client := testkit.NewClient(t, f.url, testkit.Legacy)
	client.Header = http.Header{"Authorization": {"Bearer a"}}
	initialize(t, client)
	thief := testkit.NewClient(t, f.url, testkit.Legacy)
	thief.Session = client.Session
	if a, err := thief.Call(t.Context(), testkit.GetField, readField); err != nil || a.Status != http.StatusNotFound {
		t.Errorf("somebody else's session: got %+v, %v", a, err)
	}
	for _, r := range srv.Requests() {
		if r.Header.Get("Mcp-Session-Id") != "" || r.Header.Get("Authorization") != "Bearer a" && r.RPC != "" {
			t.Errorf("%s with %v", r.RPC, r.Header)
		}
	}
	if a, err := client.Delete(t.Context()); err != nil || a.Status != http.StatusNoContent {
		t.Errorf("delete: got %+v, %v", a, err)
	}
	if a, err := client.Call(t.Context(), testkit.GetField, readField); err != nil || a.Status != http.StatusNotFound {
		t.Errorf("a session that has ended: got %+v, %v", a, err)
	}
}

// The server is replaced by one of the other era, and back, and the client's session continues.
func TestServerChangesItsEra(t *testing.T) {
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
	client := start(t, url+"/mcp", "timeout: 5s").client(t, testkit.Legacy)
	for i, srv := range []*testkit.Server{neu, alt, neu, alt} {
		<-now
		now <- srv
		if a, err := client.Call(t.Context(), testkit.GetField, readField); err != nil || !succeeded(a) {
			t.Fatalf("server %d: %v HTTP %d %s", i, err, a.Status, a.Body)
		}
	}
}

// Messages that break the protocol are answered as ever.
func TestBadInputToModernServer(t *testing.T) {
	t.Parallel()
	srv, f := modernOnly(t, testkit.JSON)
	client := f.client(t, testkit.Legacy)
	a, err := client.Post(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}`), nil)
	if err != nil || a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != -32602 {
		t.Errorf("params that are a list: got %+v, %v", a, err)
	}
	for _, params := range []string{``, `{}`, `{"protocolVersion":7}`, `{"protocolVersion":"2025-11-25","capabilities":[]}`} {
		other := testkit.NewClient(t, f.url, testkit.Legacy)
		if a, err := other.Request(t.Context(), "initialize", params); err != nil || a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != -32602 {
			t.Errorf("initialize with %s: %v %+v", params, err, a)
		}
	}
	long := testkit.NewClient(t, f.url, testkit.Legacy)
	long.Capabilities = `{"experimental":{"x":"` + strings.Repeat("x", 10_000) + `"}}`
	if a, err := long.Initialize(t.Context()); err == nil || a == nil || a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != -32602 {
		t.Errorf("a long introduction: got %+v, %v", a, err)
	}
	plain := testkit.NewClient(t, f.url, testkit.Legacy)
	if a, err := plain.Call(t.Context(), testkit.GetField, readField); err != nil || !succeeded(a) {
		t.Errorf("without a session: got %+v, %v", a, err)
	}
	if got := srv.Sessions(); got != 0 {
		t.Errorf("%d sessions at the server", got)
	}
}

// Arguments that a schema mirrors into headers are mirrored, also when the schema
// begins to do so.
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
	client := start(t, srv.URL()).client(t, testkit.Legacy)
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
	client = start(t, later.URL()).client(t, testkit.Legacy)
	if _, err := client.Call(t.Context(), "mirror", `{"region":"a"}`); err != nil {
		t.Fatal(err)
	}
	later.SetTools(mirroring)
	later.Next("mirror", faults.RPCStatus("misses a header", http.StatusBadRequest, -32020, "Header mismatch", ""))
	if a, err := client.Call(t.Context(), "mirror", `{"region":"b"}`); err != nil || !succeeded(a) {
		t.Errorf("got %+v, %v", a, err)
	}
	calls := later.Calls("mirror")
	if got := calls[len(calls)-1].Header.Get("Mcp-Param-Region"); got != "b" || len(calls) != 3 {
		t.Errorf("%d calls, the last with %q", len(calls), got)
	}
}

// A failure of the protocol keeps its code and data, in an answer of the legacy era.
func TestRefusalsOfModernServer(t *testing.T) {
	t.Parallel()
	srv, f := modernOnly(t, testkit.JSON)
	client := f.client(t, testkit.Legacy)
	srv.Next(testkit.GetField, faults.RPCStatus("missing capability", http.StatusBadRequest, -32021, "needs sampling",
		`{"requiredCapabilities":{"sampling":{}}}`))
	a, err := client.Call(t.Context(), testkit.GetField, readField)
	if err != nil || a.Status != http.StatusOK || a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != -32021 ||
		!strings.Contains(string(a.Message.Error.Data), `"requiredCapabilities":{"sampling":{}}`) {
		t.Errorf("%v HTTP %d %s", err, a.Status, a.Body)
	}
}

// A session outlives a reload that reaches the server in another way.
func TestReloadInFrontOfModernServer(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithEra(testkit.Modern))
	yaml := "servers: {farm: {url: '" + srv.URL() + "', title: '%s', timeout: 10s}}\n"
	g, _ := newGateway(t, fmt.Sprintf(yaml, "One"))
	f := &front{url: testkit.Serve(t, g) + "/farm/mcp"}
	calls, listens := f.client(t, testkit.Legacy), f.client(t, testkit.Legacy)
	for _, title := range []string{"Two", "Three"} {
		reload(t, g, fmt.Sprintf(yaml, title))
		stream, err := listens.Listen(t.Context(), "")
		if err != nil || stream.Status != http.StatusOK {
			t.Fatalf("got %+v, %v", stream, err)
		}
		stream.Close()
		reload(t, g, fmt.Sprintf(yaml, title+", again"))
		if a, err := calls.Call(t.Context(), testkit.GetField, readField); err != nil || !succeeded(a) {
			t.Fatalf("got %+v, %v", a, err)
		}
	}
}

// A server of both eras is never bridged, whatever it refuses: it takes initialize.
func TestServerOfBothErasIsNotBridged(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]testkit.Fault{
		"bad params":    faults.RPCStatus("refused", http.StatusBadRequest, -32602, "Invalid params", ""),
		"not found":     faults.RPCStatus("refused", http.StatusOK, -32601, "Method not found", ""),
		"plain":         faults.Status(http.StatusBadRequest, faults.Plain),
		"its old words": faults.RPCStatus("refused", http.StatusBadRequest, -32022, "Unsupported", `{"supported":["2026-07-28","2025-06-18"]}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			f := start(t, srv.URL())
			srv.Next("initialize", refusal)
			if a, err := testkit.NewClient(t, f.url, testkit.Legacy).Initialize(t.Context()); err == nil {
				t.Fatalf("initialize is not refused: %s", a.Body)
			}
			if got := srv.Sessions(); got != 0 {
				t.Errorf("%d sessions are left of the bridge's own", got)
			}
			client := f.client(t, testkit.Legacy)
			if a, err := client.Call(t.Context(), testkit.GetField, readField); err != nil || !succeeded(a) || srv.Sessions() != 1 {
				t.Errorf("got %+v, %v", a, err)
			}
		})
	}
}
