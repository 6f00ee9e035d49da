package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// An asker is a server of the modern era that asks questions: each call gets the next of its rounds, and the last one is
// repeated. It keeps the params of the calls.
type asker struct {
	mu     sync.Mutex
	rounds []string // results, without braces
	params []json.RawMessage
	ids    []string
}

func startAsker(tb testing.TB, form testkit.AnswerForm, rounds ...string) (*asker, string) {
	tb.Helper()
	a := &asker{rounds: rounds}
	return a, testkit.ServeInMemory(tb, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, form) })) + "/mcp"
}

func (a *asker) serve(w http.ResponseWriter, r *http.Request, form testkit.AnswerForm) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil || r.Header.Get("Mcp-Protocol-Version") != "2026-07-28" || r.Header.Get("Mcp-Method") != m.Method {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	result := `"resultType":"complete"`
	switch m.Method {
	case "server/discover":
		result += `,"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{}}`
	case "tools/list":
		result += `,"tools":[{"name":"t","inputSchema":{"type":"object"}}]`
	default:
		a.mu.Lock()
		a.params, a.ids = append(a.params, m.Params), append(a.ids, string(m.ID))
		result = a.rounds[min(len(a.params), len(a.rounds))-1]
		a.mu.Unlock()
	}
	text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{%s}}`, m.ID, result)
	if form == testkit.SSE {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "event: message\nid: 7\ndata: %s\n\n", text)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprint(w, text)
}

// sent returns the params of request i.
func (a *asker) sent(tb testing.TB, i int) (params struct {
	Responses json.RawMessage `json:"inputResponses"`
	State     json.RawMessage `json:"requestState"`
	Arguments json.RawMessage `json:"arguments"`
},
) {
	tb.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if i >= len(a.params) {
		tb.Fatalf("got %d requests", len(a.params))
	}
	if err := json.Unmarshal(a.params[i], &params); err != nil {
		tb.Fatal(err)
	}
	return params
}

func (a *asker) requests() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.params)
}

const (
	askName  = `"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object"}}}},"requestState":"s1"`
	askRoots = `"resultType":"input_required","inputRequests":{"where":{"method":"roots/list"}},"requestState":"s2"`
	askBoth  = `"inputRequests":{"what":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":5}},` +
		`"who":{"method":"elicitation/create","params":{"message":"Who?"}}},"resultType":"input_required"`
	fine = `"content":[{"type":"text","text":"fine"}],"resultType":"complete"`
)

// capable returns a client with all capabilities.
func capable(tb testing.TB, url string, entry ...string) *testkit.Client {
	tb.Helper()
	return capableOf(tb, gatewaytest.Start(tb, url, entry...))
}

func capableOf(tb testing.TB, f *gatewaytest.Front) *testkit.Client {
	tb.Helper()
	client := testkit.NewClient(tb, f.URL, testkit.Legacy)
	client.Capabilities = `{"roots":{},"sampling":{},"elicitation":{"form":{},"url":{}}}`
	client.MustInitialize(tb)
	return client
}

func openCall(tb testing.TB, client *testkit.Client) *testkit.Stream {
	tb.Helper()
	stream, err := client.OpenCall(context.Background(), "t", `{"big":12345678901234567890}`)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stream.Close)
	return stream
}

// The questions of a modern server reach the client as requests on the stream of its call, round by round, and the
// client's answers reach the server.
func TestQuestionsOfModernServer(t *testing.T) {
	t.Parallel()
	for _, form := range answerForms {
		t.Run(form.String(), func(t *testing.T) {
			t.Parallel()
			server, url := startAsker(t, form, askName, askRoots, askBoth, fine)
			client := capable(t, url, "timeout: 5s")
			stream := openCall(t, client)
			ids := map[string]bool{}
			question := func(method, params string) json.RawMessage {
				t.Helper()
				m := stream.MustNext(t)
				if m.Method != method || string(m.Params) != params || ids[string(m.ID)] {
					t.Fatalf("got question %s", m.Raw)
				}
				ids[string(m.ID)] = true
				return m.ID
			}
			client.MustRespond(t, question("elicitation/create", `{"mode":"form","message":"Who?","requestedSchema":{"type":"object"}}`),
				`{"action":"accept","content":{"name":"Ada"}}`)
			client.MustRespond(t, question("roots/list", ""), `{"roots":[]}`)
			sample := question("sampling/createMessage", `{"messages":[],"maxTokens":5}`)
			elicit := question("elicitation/create", `{"message":"Who?"}`)
			client.MustRespond(t, elicit, `{"action":"decline"}`)
			client.MustRespond(t, sample, `{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"}`)
			if m := stream.MustNext(t); string(m.Result) != `{"content":[{"type":"text","text":"fine"}]}` {
				t.Errorf("got answer %s", m.Raw)
			}
			type round struct{ Responses, State, Arguments string }
			want := []round{
				{"", "", `{"big":12345678901234567890}`},
				{`{"who":{"action":"accept","content":{"name":"Ada"}}}`, `"s1"`, `{"big":12345678901234567890}`},
				{`{"where":{"roots":[]}}`, `"s2"`, `{"big":12345678901234567890}`},
				{
					`{"what":{"role":"assistant","content":{"type":"text","text":"x"},"model":"m"},"who":{"action":"decline"}}`, "",
					`{"big":12345678901234567890}`,
				},
			}
			var got []round
			for i := range want {
				p := server.sent(t, i)
				got = append(got, round{string(p.Responses), string(p.State), string(p.Arguments)})
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("requests at the server (-want +got):\n%s", diff)
			}
			used := map[string]bool{}
			for _, id := range server.ids {
				if used[id] {
					t.Errorf("the id %s was used twice", id)
				}
				used[id] = true
			}
		})
	}
}

// If the client lacks a capability that a question needs, the call fails and names the capability.
func TestQuestionsNeedCapabilities(t *testing.T) {
	t.Parallel()
	url := func(q string) string {
		_, url := startAsker(t, testkit.JSON, q, fine)
		return url
	}
	for name, test := range map[string]struct{ question, capabilities, needs string }{
		"form":     {askName, `{}`, "elicitation"},
		"URL":      {strings.Replace(askName, `"form"`, `"url"`, 1), `{"elicitation":{"form":{}}}`, "elicitation.url"},
		"sampling": {askBoth, `{"elicitation":{}}`, "sampling"},
		"tools": {
			strings.Replace(askBoth, `"maxTokens"`, `"tools":[],"maxTokens"`, 1), `{"elicitation":{},"sampling":{}}`, "sampling.tools",
		},
		"roots": {askRoots, `{"elicitation":{}}`, "roots"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := testkit.NewClient(t, gatewaytest.Start(t, url(test.question), "title: The farm").URL, testkit.Legacy)
			client.Capabilities = test.capabilities
			client.MustInitialize(t)
			a, err := client.Call(t.Context(), "t", `{}`)
			if err != nil {
				t.Fatal(err)
			}
			e := gatewaytest.Record(t, a)
			if e.Kind != recourse.KindMissingCapability || e.Origin != recourse.OriginGateway || e.Effect != recourse.EffectUnknown ||
				!strings.Contains(e.Message, "for "+test.needs+" (") || len(a.Events) > 0 {
				t.Errorf("got %s", a.Body)
			}
		})
	}
	t.Run("without a session", func(t *testing.T) {
		t.Parallel()
		client := testkit.NewClient(t, gatewaytest.Start(t, url(askName)).URL, testkit.Legacy)
		a, err := client.Call(t.Context(), "t", `{}`)
		for err == nil && a.Status == http.StatusBadRequest { // the first call detects the server's era
			a, err = client.Call(t.Context(), "t", `{}`)
		}
		if err != nil {
			t.Fatal(err)
		}
		if e := gatewaytest.Record(t, a); e.Kind != recourse.KindMissingCapability {
			t.Errorf("got %s", a.Body)
		}
	})
}

// If a client answers with an error, an elicitation is cancelled; any other question ends the call.
func TestQuestionsAnsweredWithErrors(t *testing.T) {
	t.Parallel()
	refuse := func(t *testing.T, client *testkit.Client, id json.RawMessage) {
		t.Helper()
		body := `{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-1,"message":"no"}}`
		if a, err := client.Post(t.Context(), []byte(body), nil); err != nil || a.Status != http.StatusAccepted {
			t.Fatalf("got %+v, %v", a, err)
		}
	}
	t.Run("elicitation", func(t *testing.T) {
		t.Parallel()
		server, url := startAsker(t, testkit.JSON, askName, fine)
		client := capable(t, url)
		stream := openCall(t, client)
		refuse(t, client, stream.MustNext(t).ID)
		if m := stream.MustNext(t); m.Result == nil || string(server.sent(t, 1).Responses) != `{"who":{"action":"cancel"}}` {
			t.Errorf("got %s after %s", m.Raw, server.sent(t, 1).Responses)
		}
	})
	t.Run("roots", func(t *testing.T) {
		t.Parallel()
		server, url := startAsker(t, testkit.JSON, askRoots, fine)
		client := capable(t, url)
		stream := openCall(t, client)
		refuse(t, client, stream.MustNext(t).ID)
		if m := stream.MustNext(t); !strings.Contains(string(m.Raw), `"kind":"cancelled"`) || !strings.Contains(string(m.Raw), `"origin":"caller"`) || server.requests() != 1 {
			t.Errorf("got %s", m.Raw)
		}
	})
}

// A question waits for a person, longer than the call's own timeout, but not for ever.
func TestUnansweredQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, url := startAsker(t, testkit.JSON, askName, askName, fine)
		client := capable(t, url, gatewaytest.UntilDeadline, "max_timeout: 4s")
		stream := openCall(t, client)
		begun := time.Now()
		id := stream.MustNext(t).ID
		m := stream.MustNext(t)
		if took := time.Since(begun); took != 4*time.Second {
			t.Errorf("got the end after %v", took)
		}
		if !strings.Contains(string(m.Raw), `"kind":"timeout"`) || !strings.Contains(string(m.Raw), `"effect":"unknown"`) {
			t.Errorf("got %s", m.Raw)
		}
		client.MustRespond(t, id, `{"action":"accept"}`) // too late
		if server.requests() != 1 {
			t.Error("the late answer reached the server")
		}
		again := openCall(t, client)
		client.MustRespond(t, again.MustNext(t).ID, `{"action":"accept"}`)
		if m := again.MustNext(t); m.Result == nil {
			t.Errorf("the next call: got %s", m.Raw)
		}
	})
}

// If the client cancels a call or closes its stream, the call ends, and so does its question.
func TestQuestionsOfCallsThatEnd(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"cancel", "disconnect", "delete"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			server, url := startAsker(t, testkit.JSON, askName, fine)
			f := gatewaytest.Start(t, url, "timeout: 30s")
			client := capableOf(t, f)
			stream := openCall(t, client)
			id := stream.MustNext(t).ID
			switch how {
			case "cancel":
				if _, err := client.Notify(t.Context(), "notifications/cancelled", `{"requestId":2}`); err != nil {
					t.Fatal(err)
				}
				if m := stream.MustNext(t); !strings.Contains(string(m.Raw), `"kind":"cancelled"`) {
					t.Errorf("got %s", m.Raw)
				}
			case "disconnect":
				stream.Close()
				testkit.Eventually(t, "it is noticed", func() bool { return strings.Contains(f.Log.String(), "the client has gone") })
			case "delete":
				if _, err := client.Delete(t.Context()); err != nil {
					t.Fatal(err)
				}
				if m := stream.MustNext(t); !strings.Contains(string(m.Raw), `"kind":"cancelled"`) {
					t.Errorf("got %s", m.Raw)
				}
			}
			if a, err := client.Respond(t.Context(), id, `{"action":"accept"}`); err != nil || a.Status != http.StatusAccepted && how != "delete" {
				t.Errorf("a late answer: got %+v, %v", a, err)
			}
			if server.requests() != 1 {
				t.Errorf("got %d requests", server.requests())
			}
		})
	}
}

// Endless, unknown, too large and empty questions end the call with bad_response.
func TestInvalidQuestions(t *testing.T) {
	t.Parallel()
	many := make([]string, 0, 40)
	for i := range 40 {
		many = append(many, fmt.Sprintf(`"q%d":{"method":"roots/list"}`, i))
	}
	for name, question := range map[string]string{
		"nothing":             `"resultType":"input_required"`,
		"a list":              `"resultType":"input_required","inputRequests":[1]`,
		"an unknown method":   `"resultType":"input_required","inputRequests":{"a":{"method":"tools/call"}}`,
		"too much at once":    `"resultType":"input_required","inputRequests":{` + strings.Join(many, ",") + `}`,
		"too large":           `"resultType":"input_required","inputRequests":{"a":{"method":"roots/list","params":{"x":"` + strings.Repeat("x", 300<<10) + `"}}}`,
		"too large, and last": `"inputRequests":{"a":{"method":"roots/list","params":{"x":"` + strings.Repeat("x", 300<<10) + `"}}},"resultType":"input_required"`,
	} {
		for _, form := range answerForms {
			t.Run(name+"/"+form.String(), func(t *testing.T) {
				t.Parallel()
				_, url := startAsker(t, form, question)
				a, err := capable(t, url).Call(t.Context(), "t", `{}`)
				if name == "too large, and last" {
					if err == nil {
						t.Errorf("got %.300s, want it broken off", a.Body)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if e := gatewaytest.Record(t, a); e.Kind != recourse.KindBadResponse || e.Origin != recourse.OriginServer {
					t.Errorf("got %s", a.Body)
				}
			})
		}
	}
	t.Run("without end", func(t *testing.T) {
		t.Parallel()
		server, url := startAsker(t, testkit.JSON, askRoots)
		client := capable(t, url, "timeout: 10s")
		stream := openCall(t, client)
		for {
			m := stream.MustNext(t)
			if m.Method == "" {
				if !strings.Contains(string(m.Raw), `"kind":"bad_response"`) || server.requests() != 17 {
					t.Errorf("after %d requests: got %s", server.requests(), m.Raw)
				}
				return
			}
			client.MustRespond(t, m.ID, `{"roots":[]}`)
		}
	})
	t.Run("a state alone", func(t *testing.T) {
		t.Parallel()
		server, url := startAsker(t, testkit.JSON, `"resultType":"input_required","requestState":"later"`, fine)
		a, err := capable(t, url, "timeout: 5s").Call(t.Context(), "t", `{}`)
		if err != nil || !a.Succeeded() || string(server.sent(t, 1).State) != `"later"` || server.sent(t, 1).Responses != nil {
			t.Errorf("got %+v, %v", a, err)
		}
	})
}

// A failure after a question is sent on the stream of the call.
func TestFailuresAfterQuestions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault testkit.Fault
		kind  string
	}{
		{faults.ResetBeforeAnswer(), "unreachable"},
		{faults.ResetInBody(), "unreachable"},
		{faults.Status(http.StatusServiceUnavailable, faults.Plain), "unavailable"},
		{faults.Status(http.StatusTooManyRequests, faults.Plain), "rate_limited"},
		{faults.RPCStatus("refused", http.StatusBadRequest, -32602, "wrong state", ""), "invalid_value"},
		{faults.HTMLWith200(), "bad_response"},
		{faults.ToolError("tool error", "no"), "unknown"},
		{faults.Hang(), "timeout"},
	} {
		testkit.Virtual(t, test.fault.Name, func(t *testing.T) {
			srv := testkit.NewServer(t, testkit.InMemory(), testkit.WithEra(testkit.Modern))
			f := gatewaytest.Start(t, srv.URL(), "timeout: 2s", "max_timeout: 3s")
			client := f.Client(t, testkit.Legacy)
			stream, err := client.OpenCall(context.Background(), testkit.Ask, `{}`)
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			id := stream.MustNext(t).ID
			srv.Always(testkit.Ask, test.fault)
			client.MustRespond(t, id, `{"action":"accept","content":{}}`)
			if m := stream.MustNext(t); !strings.Contains(string(m.Raw), `"kind":"`+test.kind+`"`) || string(m.ID) != "2" {
				t.Errorf("got %s", m.Raw)
			}
			srv.Behave()
			if a, err := client.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || !a.Succeeded() {
				t.Errorf("the next call: got %+v, %v", a, err)
			}
		})
	}
}
