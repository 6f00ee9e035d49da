package testkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// within is the time limit of every wait in these tests; none comes near it.
const within = 20 * time.Second

func eras() []testkit.Era { return []testkit.Era{testkit.Legacy, testkit.Modern} }

// connected returns a client after its initialize request.
func connected(t *testing.T, srv *testkit.Server, era testkit.Era) (context.Context, *testkit.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	client := testkit.NewClient(t, srv.URL(), era)
	answer, err := client.Initialize(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Status != http.StatusOK || answer.Message == nil || answer.Message.Error != nil {
		t.Fatalf("initialize: HTTP %d %s", answer.Status, answer.Body)
	}
	return ctx, client
}

func result(t *testing.T, answer *testkit.Answer, err error) testkit.ToolResult {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	res, err := answer.ToolResult()
	if err != nil {
		t.Fatalf("HTTP %d %s: %v", answer.Status, answer.Body, err)
	}
	return res
}

func member(t *testing.T, raw []byte, name string) json.RawMessage {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return members[name]
}

func TestServerBehaves(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		for _, form := range []testkit.AnswerForm{testkit.JSON, testkit.SSE} {
			t.Run(era.String()+", "+form.String(), func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t, testkit.WithForm(form))
				ctx, client := connected(t, srv, era)

				answer, err := client.Call(ctx, testkit.Echo, `{"message":"a \"b\" \u00e9"}`)
				if got, want := result(t, answer, err).Text(), `a "b" é`; got != want {
					t.Errorf("echo: %q, want %q", got, want)
				}
				for range 2 {
					answer, err = client.Call(ctx, testkit.OrderCreate, `{"reference":"A-17","amount":3}`)
					result(t, answer, err)
				}
				answer, err = client.Call(ctx, testkit.OrderGet, `{"reference":"A-17"}`)
				got := string(result(t, answer, err).StructuredContent)
				if want := `{"reference":"A-17","status":"created","times":2}`; got != want {
					t.Errorf("order_get: %s, want %s", got, want)
				}
				answer, err = client.Call(ctx, "order_gte", "")
				if err != nil || answer.Message.Error.Code != -32602 {
					t.Errorf("unknown tool: %s, %v", answer.Body, err)
				}
				answer, err = client.Request(ctx, "x/invented", `{"a":1.0,"b":[ ]}`)
				if err != nil {
					t.Fatal(err)
				}
				sent := member(t, srv.RequestsFor("x/invented")[0].Body, "params")
				if want := testkit.Invented(sent)[1:]; !strings.Contains(string(answer.Message.Result), want) {
					t.Errorf("x/invented: %s, want %s in it", answer.Message.Result, want)
				}
				answer, err = client.Notify(ctx, "notifications/x", `{"a":1}`)
				if err != nil || answer.Status != http.StatusAccepted || answer.Size != 0 {
					t.Errorf("notifications/x: %+v, %v", answer, err)
				}

				counts := map[string]int{
					"attempts": srv.Attempts(testkit.OrderCreate), "executions": srv.Executions(testkit.OrderCreate),
					"orders": srv.Orders("A-17"), "unknown": srv.Executions("order_gte"),
					"notifications/x": srv.Messages("notifications/x"),
				}
				want := map[string]int{"attempts": 2, "executions": 2, "orders": 2, "unknown": 0, "notifications/x": 1}
				if diff := cmp.Diff(want, counts); diff != "" {
					t.Errorf("counts (-want +got):\n%s", diff)
				}
				last := srv.Calls(testkit.OrderGet)[0]
				if got := last.Header.Get("Accept"); got != "application/json, text/event-stream" {
					t.Errorf("recorded Accept: %q", got)
				}
				if !strings.Contains(string(last.Body), `{"reference":"A-17"}`) {
					t.Errorf("recorded body: %s", last.Body)
				}
			})
		}
	}
}

func TestServerHoldsClientsToTheProtocol(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	legacyOnly := testkit.NewServer(t, testkit.WithEra(testkit.Legacy))
	_, legacyClient := connected(t, srv, testkit.Legacy)
	_, modernClient := connected(t, srv, testkit.Modern)
	otherClient := modernClient.Clone(t)
	otherClient.Version = "2027-01-01"
	call := `{"name":"echo","arguments":{"message":"m"}}`

	type want struct {
		Status int
		Code   int
	}
	send := func(c *testkit.Client, header http.Header, method, params string) func(context.Context) (*testkit.Answer, error) {
		return func(ctx context.Context) (*testkit.Answer, error) {
			body, own := c.Message("7", method, params)
			maps.Copy(own, header)
			return c.Post(ctx, body, own)
		}
	}
	for _, test := range []struct {
		name string
		send func(context.Context) (*testkit.Answer, error)
		want want
	}{
		{"not JSON", func(ctx context.Context) (*testkit.Answer, error) { return legacyClient.Post(ctx, []byte("{"), nil) }, want{400, -32700}},
		{"content type", send(legacyClient, http.Header{"Content-Type": {"text/plain"}}, "ping", ""), want{415, 0}},
		{"accept", send(legacyClient, http.Header{"Accept": {"application/json"}}, "ping", ""), want{406, 0}},
		{"no session", send(legacyClient, http.Header{"Mcp-Session-Id": {}}, "tools/list", ""), want{400, 0}},
		{"unknown session", send(legacyClient, http.Header{"Mcp-Session-Id": {"x"}}, "tools/list", ""), want{404, 0}},
		{"unknown method, legacy era", send(legacyClient, nil, "nobody/knows", ""), want{200, -32601}},
		{"ping, legacy era", send(legacyClient, nil, "ping", ""), want{200, 0}},
		{"unknown method, modern era", send(modernClient, nil, "nobody/knows", ""), want{404, -32601}},
		{"ping, modern era", send(modernClient, nil, "ping", ""), want{404, -32601}},
		{"no Mcp-Method", send(modernClient, http.Header{"Mcp-Method": {}}, "tools/call", call), want{400, -32020}},
		{"wrong Mcp-Name", send(modernClient, http.Header{"Mcp-Name": {"x"}}, "tools/call", call), want{400, -32020}},
		{"no _meta", send(modernClient, nil, "tools/list", `{"_meta":{}}`), want{400, -32602}},
		{"other version", send(modernClient, http.Header{"Mcp-Protocol-Version": {"2027-01-01"}}, "tools/list", ""), want{400, -32020}},
		{"unknown version", send(otherClient, nil, "tools/list", ""), want{400, -32022}},
		{"GET, modern era", func(ctx context.Context) (*testkit.Answer, error) {
			return modernClient.Send(ctx, http.MethodGet, nil, nil)
		}, want{405, 0}},
		{"the other era", func(ctx context.Context) (*testkit.Answer, error) {
			return testkit.NewClient(t, legacyOnly.URL(), testkit.Modern).Initialize(ctx)
		}, want{400, -32022}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), within) // a new one: the test may have waited for its turn
			defer cancel()
			answer, err := test.send(ctx)
			if err != nil {
				t.Fatal(err)
			}
			got := want{Status: answer.Status}
			if answer.Message != nil && answer.Message.Error != nil {
				got.Code = answer.Message.Error.Code
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", answer.Body, diff)
			}
		})
	}
}

func TestAskInTheLegacyEraWaitsForTheClient(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	ctx, client := connected(t, srv, testkit.Legacy)
	stream, err := client.OpenCall(ctx, testkit.Ask, "")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	asked, err := stream.NextMessage()
	if err != nil {
		t.Fatal(err)
	}
	if asked.Method != "elicitation/create" {
		t.Fatalf("the server asked %s", asked.Raw)
	}
	if answer, err := client.Respond(ctx, asked.ID, `{"action":"accept","content":{"name":"Ada"}}`); err != nil ||
		answer.Status != http.StatusAccepted {
		t.Fatalf("respond: %+v, %v", answer, err)
	}
	done, err := stream.NextMessage()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(done.Result), "Ada") {
		t.Errorf("result %s, want Ada in it", done.Result)
	}
	if _, err := stream.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the answer: %v, want %v", err, io.EOF)
	}
}

func TestAskInTheModernEraWantsASecondCall(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	ctx, client := connected(t, srv, testkit.Modern)
	answer, err := client.Call(ctx, testkit.Ask, "")
	if res := result(t, answer, err); res.ResultType != "input_required" {
		t.Fatalf("result %s", answer.Body)
	}
	answer, err = client.Request(ctx, "tools/call",
		`{"name":"ask","inputResponses":{"name":{"action":"decline"}},"requestState":"asked"}`)
	if got, want := result(t, answer, err).Text(), `{"action":"decline"}`; got != want {
		t.Errorf("text %s, want %s", got, want)
	}
}

func TestProgressIsReportedOnRequest(t *testing.T) {
	t.Parallel()
	for _, era := range eras() {
		srv := testkit.NewServer(t)
		ctx, client := connected(t, srv, era)
		client.Capabilities = `{}`
		params := `{"name":"progress","arguments":{"count":2,"gapMs":1},"_meta":{"progressToken":"p",` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
		answer, err := client.Request(ctx, "tools/call", params)
		if got := result(t, answer, err).Text(); got != "done" {
			t.Errorf("%s: text %q", era, got)
		}
		var progress []string
		for _, event := range answer.Events[:len(answer.Events)-1] {
			progress = append(progress, string(event.Message().Params))
		}
		want := []string{`{"progressToken":"p","progress":1,"total":2}`, `{"progressToken":"p","progress":2,"total":2}`}
		if diff := cmp.Diff(want, progress); diff != "" {
			t.Errorf("%s: progress (-want +got):\n%s", era, diff)
		}
	}
}

func TestStandaloneStreams(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	ctx, legacyClient := connected(t, srv, testkit.Legacy)
	_, modernClient := connected(t, srv, testkit.Modern)

	get, err := legacyClient.Listen(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	listen, err := modernClient.Open(ctx, "subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`)
	if err != nil {
		t.Fatal(err)
	}
	defer listen.Close()
	if ack, err := listen.NextMessage(); err != nil || ack.Method != "notifications/subscriptions/acknowledged" {
		t.Fatalf("subscriptions/listen: %+v, %v", ack, err)
	}
	if err := srv.Await(ctx, func() bool { return srv.Streams() == 2 }); err != nil {
		t.Fatal(err)
	}

	srv.SetTools(testkit.Tool{Name: "fresh"})
	srv.Notify(`{"jsonrpc":"2.0","method":"notifications/y"}`)
	for name, stream := range map[string]*testkit.Stream{"GET": get, "subscriptions/listen": listen} {
		for _, want := range []string{"notifications/tools/list_changed", "notifications/y"} {
			if msg, err := stream.NextMessage(); err != nil || msg.Method != want {
				t.Errorf("%s: %+v, %v, want %s", name, msg, err, want)
			}
		}
	}
	list, err := legacyClient.ListTools(ctx)
	if err != nil || !strings.Contains(string(list.Body), `"fresh"`) {
		t.Errorf("tools/list: %s, %v", list.Body, err)
	}

	get.Close()
	if err := srv.Await(ctx, func() bool { return srv.Streams() == 1 }); err != nil {
		t.Fatal(err)
	}
	resumed, err := legacyClient.Listen(ctx, "1")
	if err != nil {
		t.Fatal(err)
	}
	defer resumed.Close()
	if event, err := resumed.Next(); err != nil || event.ID != "2" || event.Message().Method != "notifications/y" {
		t.Errorf("resumed after event 1: %+v, %v", event, err)
	}
}

func TestForgottenSessionsAreGoneAndNewOnesWork(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	ctx, client := connected(t, srv, testkit.Legacy)
	srv.ForgetSessions()
	if answer, err := client.ListTools(ctx); err != nil || answer.Status != http.StatusNotFound {
		t.Fatalf("forgotten session: %+v, %v", answer, err)
	}
	if _, err := client.Initialize(ctx); err != nil {
		t.Fatal(err)
	}
	answer, err := client.ListTools(ctx)
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("new session: %+v, %v", answer, err)
	}
	if answer, err = client.Delete(ctx); err != nil || answer.Status != http.StatusNoContent || srv.Sessions() != 0 {
		t.Errorf("DELETE: %+v, %v; %d sessions left", answer, err, srv.Sessions())
	}
}

func TestStopRefusesAndRestartComesBack(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	ctx, client := connected(t, srv, testkit.Legacy)
	if err := srv.Stop(); err != nil {
		t.Fatal(err)
	}
	client.Close()
	if answer, err := client.ListTools(ctx); err == nil { // whatever has the port now, it is not this server
		t.Errorf("stopped: %+v, want no answer", answer)
	}
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	if answer, err := client.ListTools(ctx); err != nil || answer.Status != http.StatusOK {
		t.Errorf("started again: %+v, %v", answer, err)
	}
	if err := srv.Restart(); err != nil {
		t.Fatal(err)
	}
	client.Close()
	if answer, err := client.ListTools(ctx); err != nil || answer.Status != http.StatusNotFound {
		t.Errorf("restarted: %+v, %v, want the session unknown", answer, err)
	}
}

func TestCancellationsAreCounted(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	srv.Always(testkit.GetField, faults.Hang())
	for _, era := range eras() {
		ctx, client := connected(t, srv, era)
		body, header := client.Message("77", "tools/call", `{"name":"get_field","arguments":{"field_id":"F"}}`)
		hung, hangUp := context.WithCancel(ctx)
		done := make(chan struct{})
		before := srv.Cancellations(testkit.GetField)
		go func() {
			defer close(done)
			_, _ = client.Post(hung, body, header) // the error does not matter here
		}()
		attempts := srv.Attempts(testkit.GetField)
		if err := srv.Await(ctx, func() bool { return srv.Executions(testkit.GetField) == before+1 }); err != nil {
			t.Fatalf("%d attempts: %v", attempts, err)
		}
		if era == testkit.Legacy {
			if _, err := client.Notify(ctx, "notifications/cancelled", `{"requestId":77}`); err != nil {
				t.Error(err)
			}
		} else {
			hangUp()
		}
		if err := srv.Await(ctx, func() bool { return srv.Cancellations(testkit.GetField) == before+1 }); err != nil {
			t.Errorf("%s: %v", era, err)
		}
		hangUp()
		<-done
	}
}

func TestToolsOfATest(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.WithoutSessions(), testkit.WithTools(testkit.Tool{
		Name:       "mine",
		Definition: `{"name":"mine","inputSchema":{"type":"object"}}`,
		Result:     func(arguments json.RawMessage) string { return protocol.ErrorResult(string(arguments)) },
	}))
	ctx, client := connected(t, srv, testkit.Legacy)
	if client.Session != "" {
		t.Errorf("session %q in a server without", client.Session)
	}
	answer, err := client.Call(ctx, "mine", `{"a":1}`)
	if got := result(t, answer, err); !got.IsError || got.Text() != `{"a":1}` {
		t.Errorf("result %+v", got)
	}
}
