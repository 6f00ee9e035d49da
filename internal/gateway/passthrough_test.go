package gateway_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// both returns a client of the server, and one of a gateway in front of it.
func both(t *testing.T, srv *testkit.Server, era testkit.Era, entry ...string) (direct, through *testkit.Client) {
	t.Helper()
	f := gatewaytest.Start(t, srv.URL(), entry...)
	direct = testkit.NewClient(t, srv.URL(), era)
	if era == testkit.Legacy {
		direct.MustInitialize(t)
	}
	return direct, f.Client(t, era)
}

// A shape is an era and a form of answers.
type shape struct {
	era  testkit.Era
	form testkit.AnswerForm
}

func (s shape) String() string { return s.era.String() + "/" + s.form.String() }

var shapes = []shape{
	{testkit.Legacy, testkit.JSON},
	{testkit.Legacy, testkit.SSE},
	{testkit.Modern, testkit.JSON},
	{testkit.Modern, testkit.SSE},
}

// A success reaches the client byte for byte.
func TestResultsPassByteForByte(t *testing.T) {
	t.Parallel()
	results := []string{
		`{}`,
		`{"content":[],"big":12345678901234567890,"exponent":1.0e+02,"zero":-0.0}`,
		`{ "content" : [ ] ,  "x":	1 }`,
		`{"content":[{"type":"text","text":"\u00e9\/\ud83d\ude00\u2028<b>&amp;"}]}`,
		`{"content":[],"lone":"\ud800"}`,
		`{"content":[],"a":1,"a":2,"content":[{"type":"text","text":"twice"}]}`,
		`{"content":[],"structuredContent":{"success":false,"error":true}}`,
		`{"content":[],"isError":false,"_meta":{"com.example/x":[1.50]}}`,
		`{"content":[{"type":"text","text":"postgres://farm:hunter2@10.0.0.7:5432/orders"}]}`,
	}
	for _, in := range shapes {
		t.Run(in.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithForm(in.form))
			direct, through := both(t, srv, in.era)
			for _, result := range results {
				srv.Always(testkit.Echo, faults.Result("own result", result))
				params := `{"name":"echo","arguments":{"message":"m"}}`
				want, got := direct.MustRequest(t, "7", "tools/call", params), through.MustRequest(t, "7", "tools/call", params)
				if diff := cmp.Diff(string(want.Body), string(got.Body)); diff != "" || got.Status != http.StatusOK {
					t.Errorf("%s: got HTTP %d (-direct +through):\n%s", result, got.Status, diff)
				}
			}
		})
	}
}

// The answer has the id exactly as the client wrote it.
func TestIDsOfEverySpelling(t *testing.T) {
	t.Parallel()
	ids := []string{
		`1`, `0`, `-7`, `9007199254740993`, `-9223372036854775808`, `123456789012345678901234567890`,
		`""`, `"1"`, `"a b"`, `"\u0061\u00e9\n\"\\\/"`, `"` + strings.Repeat("x", 2000) + `"`,
	}
	for _, in := range shapes {
		t.Run(in.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithForm(in.form))
			f := gatewaytest.Start(t, srv.URL())
			client := f.Client(t, in.era)
			for _, id := range ids {
				a := client.MustRequest(t, id, "tools/call", `{"name":"echo","arguments":{"message":"m"}}`)
				if a.Message == nil || string(a.Message.ID) != id || !a.Succeeded() {
					t.Errorf("id %s: got HTTP %d %s", id, a.Status, a.Body)
				}
				a = client.MustRequest(t, id, "tools/call", `{"name":"echo","arguments":{}}`)
				if a.Message == nil || string(a.Message.ID) != id {
					t.Errorf("id %s of a failure: got HTTP %d %s", id, a.Status, a.Body)
				}
			}
		})
	}
}

// answering returns the URL of a modern server without a list of tools. f answers tools/call.
func answering(t *testing.T, f func(w http.ResponseWriter, r *http.Request, id string)) string {
	t.Helper()
	return testkit.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var msg struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if json.Unmarshal(body, &msg) != nil || msg.Method != "tools/call" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, msg.ID)
			return
		}
		f(w, r, string(msg.ID))
	})) + "/mcp"
}

// If a server decodes and encodes the id, the client still gets its own spelling.
func TestIDsInTheServersSpelling(t *testing.T) {
	t.Parallel()
	spellings := map[string]string{
		`9007199254740993`: `9007199254740992`,
		`"\u0061b"`:        `"ab"`,
		`"a/b"`:            `"a\/b"`,
		`100`:              `1e2`,
	}
	for _, contentType := range []string{"application/json", "text/event-stream"} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			url := answering(t, func(w http.ResponseWriter, _ *http.Request, id string) {
				w.Header().Set("Content-Type", contentType)
				message := `{"result": {"content":[ ]},"id":` + spellings[id] + `, "jsonrpc":"2.0"}`
				if contentType == "text/event-stream" {
					message = "id: 5\ndata: " + message + "\n\n"
				}
				_, _ = io.WriteString(w, message)
			})
			client := gatewaytest.Start(t, url).Client(t, testkit.Modern)
			for id := range spellings {
				a := client.MustRequest(t, id, "tools/call", `{"name":"any"}`)
				if a.Message == nil || string(a.Message.ID) != id || string(a.Message.Result) != `{"content":[ ]}` {
					t.Errorf("id %s: got HTTP %d %s", id, a.Status, a.Body)
				}
			}
		})
	}
}

// Methods and members outside the specification pass in both directions.
func TestInventedMethodsAndMembers(t *testing.T) {
	t.Parallel()
	for _, in := range shapes {
		t.Run(in.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithForm(in.form))
			direct, through := both(t, srv, in.era)
			params := `{"b":1.0, "a":[ 1e2 ],"big":12345678901234567890,"text":"\u00e9\/"}`
			want, got := direct.MustRequest(t, "1", "x/invented", params), through.MustRequest(t, "1", "x/invented", params)
			if diff := cmp.Diff(string(want.Body), string(got.Body)); diff != "" {
				t.Errorf("answer to an invented method (-direct +through):\n%s", diff)
			}
			requests := srv.RequestsFor("x/invented")
			if diff := cmp.Diff(string(requests[0].Body), string(requests[1].Body)); diff != "" {
				t.Errorf("invented request (-direct +through):\n%s", diff)
			}

			body, header := through.Message("2", "tools/call", `{"name":"echo","arguments":{"message":"m"},"x-param":{"n":1.0}}`)
			body = bytes.Replace(body, []byte(`"id":2`), []byte(` "id" : 2,"x-envelope":{"n":1.0}`), 1)
			srv.Next(testkit.Echo, faults.Reply("invented members", `"result":{"content":[],"x":1.0},"x-envelope":[ 1.0 ]`))
			a, err := through.Post(t.Context(), body, header)
			if err != nil {
				t.Fatal(err)
			}
			if sent := srv.Calls(testkit.Echo)[0].Body; !bytes.Equal(sent, body) {
				t.Errorf("the server got %s, want %s", sent, body)
			}
			if !bytes.Contains(a.Body, []byte(`"x-envelope":[ 1.0 ]`)) {
				t.Errorf("got %s, want every member", a.Body)
			}

			body, header = through.Message("", "notifications/x-invented", `{"n":1.0}`)
			if a, err = through.Post(t.Context(), body, header); err != nil || a.Status != http.StatusAccepted || a.Size != 0 {
				t.Errorf("notification: got %+v, %v", a, err)
			}
			if sent := srv.RequestsFor("notifications/x-invented"); len(sent) != 1 || !bytes.Equal(sent[0].Body, body) {
				t.Errorf("the server got %v", sent)
			}
		})
	}
}

// Notifications before the answer are passed on at once: the server only answers after the client has read one.
func TestNotificationsComeAtOnce(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{})
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1.0,"x":[ 1 ]}}`
	url := answering(t, func(w http.ResponseWriter, r *http.Request, id string) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, ": hello\n\nevent: message\nretry: 7\ndata: "+progress+"\n\nevent: ping\ndata: no JSON\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-seen:
		case <-r.Context().Done():
			return
		}
		_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":"+id+",\"result\":{}}\n\n")
	})
	client := gatewaytest.Start(t, url, "timeout: 5s").Client(t, testkit.Modern)
	stream, err := client.OpenCall(t.Context(), "any", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	want := []testkit.Event{
		{Name: "message", Data: progress, Retry: "7"},
		{Name: "ping", Data: "no JSON"},
		{Data: "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}}"},
	}
	for i := range want {
		event, err := stream.Next()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[i], event); diff != "" {
			t.Errorf("event %d (-want +got):\n%s", i, diff)
		}
		if i == 1 {
			close(seen)
		}
	}
	if _, err := stream.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the answer: got %v", err)
	}
}

// A legacy server asks its client a question on the stream of a call.
func TestQuestionOfTheServer(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := gatewaytest.Start(t, srv.URL(), "timeout: 5s").Client(t, testkit.Legacy)
	stream, err := client.OpenCall(t.Context(), testkit.Ask, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	question, err := stream.NextMessage()
	if err != nil || question.Method != "elicitation/create" {
		t.Fatalf("got %+v, %v", question, err)
	}
	const answer = `{"action":"accept","content":{"name":"Ada", "n":1.0}}`
	a, err := client.Respond(t.Context(), question.ID, answer)
	if err != nil || a.Status != http.StatusAccepted {
		t.Fatalf("the answer to the question: got %+v, %v", a, err)
	}
	message, err := stream.NextMessage()
	if err != nil {
		t.Fatal(err)
	}
	var result testkit.ToolResult
	if err := json.Unmarshal(message.Result, &result); err != nil || result.Text() != answer {
		t.Errorf("got %q at the server, %v", result.Text(), err)
	}
}

// A modern server answers that it needs input, and the client repeats the call.
func TestInputRequired(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	direct, through := both(t, srv, testkit.Modern)
	for _, params := range []string{
		`{"name":"ask","arguments":{}}`,
		`{"name":"ask","arguments":{},"inputResponses":{"name":{"action":"accept","n":1.0}},"requestState":"asked"}`,
	} {
		want, got := direct.MustRequest(t, "1", "tools/call", params), through.MustRequest(t, "1", "tools/call", params)
		if diff := cmp.Diff(string(want.Body), string(got.Body)); diff != "" {
			t.Errorf("%s (-direct +through):\n%s", params, diff)
		}
	}
}

// The GET stream of a legacy session is passed on, and can be resumed.
func TestGetStream(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
	stream, err := client.Listen(t.Context(), "")
	if err != nil || stream.Status != http.StatusOK {
		t.Fatalf("got %+v, %v", stream, err)
	}
	const invented = `{"jsonrpc":"2.0","method":"notifications/x","params":{"n":1.0,"list":[ 1 ]}}`
	srv.Notify(invented)
	event, err := stream.Next()
	if err != nil || event.Data != invented {
		t.Fatalf("got %+v, %v", event, err)
	}
	stream.Close()
	if err := srv.Await(t.Context(), func() bool { return srv.Streams() == 0 }); err != nil {
		t.Fatal("the server's stream is open after the client's was closed")
	}
	for i := range 3 {
		srv.Notify(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/x","params":{"i":%d}}`, i))
	}
	again, err := client.Listen(t.Context(), event.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for i := range 3 {
		message, err := again.NextMessage()
		if err != nil || string(message.Params) != fmt.Sprintf(`{"i":%d}`, i) {
			t.Errorf("message %d after Last-Event-ID: got %+v, %v", i, message, err)
		}
	}
}

// The endless stream of subscriptions/listen is passed on until the client closes it.
func TestSubscriptionsListen(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Modern)
	stream, err := client.Open(t.Context(), "subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	message, err := stream.NextMessage()
	if err != nil || message.Method != "notifications/subscriptions/acknowledged" {
		t.Fatalf("got %+v, %v", message, err)
	}
	srv.SetTools(testkit.Tool{Name: "new_tool"})
	if message, err = stream.NextMessage(); err != nil || message.Method != "notifications/tools/list_changed" {
		t.Fatalf("got %+v, %v", message, err)
	}
	stream.Close()
	if err := srv.Await(t.Context(), func() bool { return srv.Streams() == 0 }); err != nil {
		t.Fatal("the server's stream is open after the client's was closed")
	}
}

// Only certain headers of the client reach the server, and only certain headers of the server reach the client.
func TestHeaders(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithTools(testkit.Tool{Name: testkit.Echo, Definition: `{"name":"echo","inputSchema":{"type":"object",
		"properties":{"message":{"type":"string"},"region":{"type":"string","x-mcp-header":"Region"}}}}`}))
	client := gatewaytest.Start(t, srv.URL(), `headers: {X-Farm: "configured"}`).Client(t, testkit.Modern)
	client.Header = http.Header{
		"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, "Tracestate": {"a=1"}, "Baggage": {"k=v"},
		"Mcp-Param-Region": {"eu"}, "Mcp-Param-Other": {"1"}, "X-Request-Id": {"mine-1"}, "Authorization": {"Bearer client"}, "Cookie": {"a=b"},
		"X-Farm": {"the client's"}, "X-Other": {"1"}, "X-Forwarded-For": {"192.0.2.1"}, "Proxy-Authorization": {"Basic x"},
	}
	behaved := testkit.Fault{Name: "headers"}
	for name, value := range map[string]string{
		"X-RateLimit-Remaining": "41", "Mcp-Invented": "1", "Cache-Control": "no-store", "X-Request-Id": "the server's",
		"Set-Cookie": "a=b", "Mcp-Session-Id": "the server's", "Server": "nginx", "Access-Control-Allow-Origin": "*",
	} {
		behaved = behaved.With(name, value)
	}
	srv.Always(testkit.Echo, behaved)
	a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m","region":"eu"}`)
	if err != nil || !a.Succeeded() {
		t.Fatalf("got %+v, %v", a, err)
	}
	sent := srv.Calls(testkit.Echo)[0].Header
	for name, want := range map[string]string{
		"Traceparent": client.Header.Get("Traceparent"), "Tracestate": "a=1", "Baggage": "k=v", "Mcp-Param-Region": "eu", "Mcp-Param-Other": "",
		"X-Request-Id": "mine-1", "X-Farm": "configured", "Mcp-Method": "tools/call", "Mcp-Name": "echo",
		"Authorization": "", "Cookie": "", "X-Other": "", "X-Forwarded-For": "", "Proxy-Authorization": "", "Accept-Encoding": "",
	} {
		if got := sent.Get(name); got != want {
			t.Errorf("the server got %s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"X-Ratelimit-Remaining": "41", "Mcp-Invented": "1", "Cache-Control": "no-store", "X-Request-Id": "mine-1",
		"Set-Cookie": "", "Mcp-Session-Id": "", "Server": "", "Access-Control-Allow-Origin": "",
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("the client got %s: %q, want %q", name, got, want)
		}
	}
	for _, list := range srv.RequestsFor("tools/list") {
		if got := list.Header.Get("Mcp-Param-Region"); got != "" {
			t.Errorf("got a call's argument in a header of tools/list: %q", got)
		}
	}
}

// A request id that is fit for a log is kept, any other is replaced.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Modern)
	for given, taken := range map[string]bool{
		"abc-1_2.3:4":            true,
		strings.Repeat("x", 128): true,
		strings.Repeat("x", 129): false,
		"":                       false,
		"a b":                    false,
		`a"b`:                    false,
		"<script>":               false,
		"a\tb":                   false,
		"\u00e9":                 false,
		"${jndi:x}":              false,
	} {
		client.Header = http.Header{"X-Request-Id": {given}}
		a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
		if err != nil {
			t.Fatal(err)
		}
		calls := srv.Calls(testkit.Echo)
		got, sent := a.Header.Values("X-Request-Id"), calls[len(calls)-1].Header.Get("X-Request-Id")
		if len(got) != 1 || got[0] != sent || (got[0] == given) != taken || got[0] == "" {
			t.Errorf("given %q: got %q at the client, %q at the server", given, got, sent)
		}
	}
}

// A JSON-RPC error that clients could not read is replaced by a failure.
func TestOddErrorsOfOtherMethods(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
	for _, odd := range []string{`"down"`, `{}`, `{"code":"x","message":"m"}`, `{"code":1}`, `{"code":1,"message":null}`, `[1]`} {
		srv.Always("x/invented", faults.Reply("odd", `"error":`+odd))
		a := client.MustRequest(t, "1", "x/invented", `{}`)
		if a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != -32603 || a.Message.Error.Message == "" {
			t.Errorf("%s: got %s", odd, a.Body)
		}
	}
}
