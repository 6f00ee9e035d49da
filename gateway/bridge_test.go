package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/testkit"
)

// bridged returns a server of the old era, and a client of the new one in front of it.
func bridged(t *testing.T, entry ...string) (*testkit.Server, *front, *testkit.Client) {
	t.Helper()
	srv := testkit.NewServer(t, testkit.WithEra(testkit.OldEra))
	f := start(t, srv.URL(), entry...)
	client := f.client(t, testkit.NewEra)
	return srv, f, client
}

// inputRequired is what the bridge makes of a question.
type inputRequired struct {
	ResultType    string `json:"resultType"`
	InputRequests map[string]struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"inputRequests"`
	RequestState string `json:"requestState"`
}

// asked returns the question that an answer consists of.
func asked(t *testing.T, a *testkit.Answer) inputRequired {
	t.Helper()
	var q inputRequired
	if a.Message == nil || json.Unmarshal(a.Message.Result, &q) != nil || q.ResultType != "input_required" || q.RequestState == "" {
		t.Fatalf("no question: HTTP %d %s", a.Status, a.Body)
	}
	return q
}

// answers returns the params of the call that brings the answer to a question.
func answers(tool string, q inputRequired, answer string) string {
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

// A question of a server becomes a result, and its answer goes on with the same call.
func TestBridgedQuestion(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(t *testing.T) (front *front, calls func() int){
		"url": func(t *testing.T) (*front, func() int) {
			t.Helper()
			srv, f, _ := bridged(t, "timeout: 5s")
			return f, func() int { return srv.Executions(testkit.Ask) }
		},
		"program": func(t *testing.T) (*front, func() int) {
			t.Helper()
			program := testkit.NewProgram(t)
			return startChildren(t, program, "share: client", "timeout: 10s"), func() int { return program.Calls(testkit.Ask) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, calls := begin(t)
			client := f.client(t, testkit.NewEra)
			for i, answer := range []string{ada, `{"action":"decline"}`, `{"action":"cancel"}`} {
				q := asked(t, post(t, client, `"q"`, "tools/call", `{"name":"ask","arguments":{}}`))
				for _, request := range q.InputRequests {
					if request.Method != "elicitation/create" || !strings.Contains(string(request.Params), "What is your name?") {
						t.Errorf("asked %+v", request)
					}
				}
				a := post(t, client, `"r"`, "tools/call", answers(testkit.Ask, q, answer))
				if result, err := a.ToolResult(); err != nil || result.Text() != answer || result.ResultType != "complete" {
					t.Errorf("answered %s: %s", answer, a.Body)
				}
				if n := calls(); n != i+1 {
					t.Errorf("the tool ran %d times, want %d", n, i+1)
				}
			}
		})
	}
}

// A state belongs to one question of one call of one caller.
func TestBridgedStates(t *testing.T) {
	t.Parallel()
	_, f, client := bridged(t, "timeout: 5s", "forward: [Authorization]")
	client.Header = http.Header{"Authorization": {"Bearer a"}}
	other := f.client(t, testkit.NewEra)
	other.Header = http.Header{"Authorization": {"Bearer b"}}
	_, g, elsewhere := bridged(t, "timeout: 5s")
	_ = g
	invalid := func(what string, a *testkit.Answer) {
		t.Helper()
		if e := recordOf(t, a); e.Kind != recourse.KindInvalidState || !strings.Contains(e.Message, "Call again from the start") {
			t.Errorf("%s: %s", what, a.Body)
		}
	}
	ask := func() inputRequired {
		t.Helper()
		return asked(t, post(t, client, "1", "tools/call", `{"name":"ask","arguments":{}}`))
	}
	q := ask()
	invalid("another caller", post(t, other, "2", "tools/call", answers(testkit.Ask, q, ada)))
	invalid("another gateway", post(t, elsewhere, "2", "tools/call", answers(testkit.Ask, q, ada)))
	invalid("another tool", post(t, client, "2", "tools/call", answers(testkit.Progress, q, ada)))
	forged := q
	forged.RequestState = "AAAA" + q.RequestState[4:]
	invalid("forged", post(t, client, "2", "tools/call", answers(testkit.Ask, forged, ada)))
	forged.RequestState = "tampered"
	invalid("invented", post(t, client, "2", "tools/call", answers(testkit.Ask, forged, ada)))
	if a := post(t, client, "3", "tools/call", answers(testkit.Ask, q, ada)); !succeeded(a) {
		t.Errorf("the right one: %s", a.Body)
	}
	invalid("used twice", post(t, client, "4", "tools/call", answers(testkit.Ask, q, ada)))
}

// A client that comes back without the answer is asked again.
func TestBridgedQuestionWithoutAnswer(t *testing.T) {
	t.Parallel()
	srv, _, client := bridged(t, "timeout: 5s")
	q := asked(t, post(t, client, "1", "tools/call", `{"name":"ask","arguments":{}}`))
	again := asked(t, post(t, client, "2", "tools/call", fmt.Sprintf(`{"name":"ask","arguments":{},"requestState":%q}`, q.RequestState)))
	if diff := cmp.Diff(q.InputRequests, again.InputRequests); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
	if a := post(t, client, "3", "tools/call", answers(testkit.Ask, again, ada)); !succeeded(a) || srv.Executions(testkit.Ask) != 1 {
		t.Errorf("executed %d times: %s", srv.Executions(testkit.Ask), a.Body)
	}
}

// A client that cannot be asked is not, and the server is told.
func TestBridgedQuestionNobodyCanAnswer(t *testing.T) {
	t.Parallel()
	_, _, client := bridged(t, "timeout: 5s")
	client.Capabilities = `{}`
	a := post(t, client, "1", "tools/call", `{"name":"ask","arguments":{}}`)
	if result, err := a.ToolResult(); err != nil || result.ResultType != "complete" {
		t.Errorf("%s", a.Body)
	}
}
