package upstream_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// with calls a tool with a text and a number, and returns the answer.
func (s *server) with(tool, text string, n int) string {
	s.tb.Helper()
	resp, err := s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q,"n":%d}}}`, tool, text, n))
	if err != nil {
		s.tb.Fatal(err)
	}
	return content(s.tb, resp)
}

// leave makes a call that is never answered, and gives it up once the child has it.
func (s *server) leave() {
	s.tb.Helper()
	resp, err := s.post(progressing("hang", 0))
	if err != nil {
		s.tb.Fatal(err)
	}
	_ = resp.Close()
}

// idOf returns the id of the call that the child got last.
func idOf(tb testing.TB, s *server) int {
	tb.Helper()
	var id int
	if _, err := fmt.Sscan(s.mustCall("id", 0), &id); err != nil {
		tb.Fatal(err)
	}
	return id
}

// A late answer never reaches another call, however many calls were given up before, and even if the answer is
// long and its id comes last.
func TestLateAnswersAreDropped(t *testing.T) {
	t.Parallel()
	const size = 2 * upstream.Window
	tests := map[string]struct {
		command upstream.Command
		givenUp int // calls before
	}{
		"the answer comes twice":                                         {command(), 0},
		"one call was given up":                                          {command(), 1},
		"more calls were given up than are remembered":                   {command(), 1100},
		"more calls were given up than are remembered in an own session": {own(), 1100},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, tt.command)
			s.token = "a"
			a, _ := s.open(wire.Version20251125)
			b := a
			if tt.command.Share == upstream.ShareAll {
				b, _ = s.open(wire.Version20251125)
			}
			late := idOf(t, a)
			if tt.givenUp > 0 {
				late++
			}
			for range tt.givenUp {
				a.leave()
			}
			for range 3 {
				if got := b.with("answer", strconv.Itoa(late), size); !strings.Contains(got, `"mine"`) || len(got) > upstream.Window {
					t.Fatalf("another call got the late answer: %d bytes: %.200s", len(got), got)
				}
			}
		})
	}
}

// A shared child's notifications and requests that name no client are dropped.
func TestNoticesOfASharedChildAreDropped(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	a, _ := s.open(wire.Version20251125)
	b, _ := s.open(wire.Version20251125)
	_, nextA := a.listen()
	_, nextB := b.listen()
	_, nextNobody := s.listen()
	a.subscribe("a:1")
	lines := []string{
		`{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"A-1","status":"working"}}`,
		`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"A-1"}}`,
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":"A-1"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"A-1"}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"message":"A-1"}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"A-1"}}`,
		`{"jsonrpc":"2.0","method":"notifications/unheard/of","params":{"of":"A-1"}}`,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed/A-1"}`,
		`{"jsonrpc":"2.0","id":"A-1","method":"elicitation/create","params":{"message":"A-1"}}`,
		`{"jsonrpc":"2.0","id":"A-1","method":"sampling/createMessage","params":{"message":"A-1"}}`,
		`{"jsonrpc":"2.0","id":"A-1","method":"roots/list"}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"of":"A-1"}}`,
	}
	answer := b.with("raw", strings.Join(lines, "\n"), 0)
	if strings.Contains(answer, "A-1") || strings.Contains(answer, "method") {
		t.Errorf("the caller got %s", answer)
	}
	s.do("raw", `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:1"}}`)
	changes := []string{"notifications/tools/list_changed", wire.MethodPromptsChanged, wire.MethodResourcesChanged}
	for _, method := range changes {
		s.do("raw", fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method))
	}
	expect(t, nextA, append([]string{`"a:1"`}, changes...)...)
	expect(t, nextB, changes...)
	expect(t, nextNobody, changes...)
}

// A shared child offers no tasks, since every client could see them.
func TestNoTasksOnASharedChild(t *testing.T) {
	t.Parallel()
	s := serve(t, command("everything"))
	x, hello := s.open(wire.Version20251125)
	if !strings.Contains(hello, `"capabilities":{"tools":{"listChanged":true}}`) {
		t.Errorf("initialize offers tasks: %s", hello)
	}
	for _, method := range []string{"tasks/list", "tasks/get", "tasks/result", "tasks/cancel"} {
		if got := x.request(method, "taskId", "1"); !strings.Contains(got, `"code":-32601`) || !strings.Contains(got, "several clients share") {
			t.Errorf("%s: got %s", method, got)
		}
	}
	resp, err := x.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"params","arguments":{"task":1},"task":{"ttl":1},"_meta":{"a":1}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := textIn(t, content(t, resp)), `{"name":"params","arguments":{"task":1},"_meta":{"a":1}}`; got != want {
		t.Errorf("the child was asked: got %s, want %s", got, want)
	}
	y, _ := serve(t, own("everything")).open(wire.Version20251125)
	if got := y.with("params", "", 0); !strings.Contains(got, "arguments") {
		t.Errorf("with a child of its own: got %s", got)
	}
	if got := y.request("tasks/list", "cursor", "1"); strings.Contains(got, "several clients share") {
		t.Errorf("with a child of its own: got %s", got)
	}
}

// textIn returns the text of a result.
func textIn(tb testing.TB, answer string) string {
	tb.Helper()
	var m struct {
		Result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(answer), &m); err != nil || len(m.Result.Content) != 1 {
		tb.Fatalf("%v: %s", err, answer)
	}
	return m.Result.Content[0].Text
}

// Modern clients without credentials share a child, with the same restrictions as on any shared child.
func TestAnonymousClientsShareAChild(t *testing.T) {
	t.Parallel()
	c := serveModern(t, upstream.ShareClient)
	call := func(header http.Header, body string) string {
		resp, err := c.Send(t.Context(), http.MethodPost, header, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return content(t, resp)
	}
	const level = `"io.modelcontextprotocol/logLevel":"debug",`
	tasks := strings.Replace(modernCall("params", `"more":{"io.modelcontextprotocol/tasks":{}},`),
		`"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{},"b":{}}}`, 1)
	for name, tt := range map[string]struct {
		header http.Header
		own    bool
	}{
		"anonymous":        {nil, false},
		"with credentials": {http.Header{"Authorization": {"Bearer x"}}, true},
	} {
		if got := call(tt.header, modernCall("log", level)); strings.Contains(got, "hello") != tt.own {
			t.Errorf("%s: log: got %s", name, got)
		}
		if got := call(tt.header, modern("tasks/get", `"taskId":"1",`, "")); strings.Contains(got, "several clients share") == tt.own {
			t.Errorf("%s: tasks/get: got %s", name, got)
		}
		if got := textIn(t, call(tt.header, tasks)); strings.Contains(got, `{"b":{}}`) == tt.own || !strings.Contains(got, `"more":{"io.modelcontextprotocol/tasks":{}}`) {
			t.Errorf("%s: the child was told: got %s", name, got)
		}
	}
}
