package patterns_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/retry"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/patterns"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

func newSystem(t *testing.T, o patterns.Options) *patterns.System {
	t.Helper()
	o.Logger = systemtest.Quiet()
	s, err := patterns.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func rules(t *testing.T) *contract.Contract {
	t.Helper()
	c := contract.MustBuiltin("patterns")
	return c
}

// A toolError is the page's error object.
type toolError struct {
	Kind      string         `json:"kind"`
	Code      string         `json:"code"`
	Message   string         `json:"message"`
	Retryable bool           `json:"retryable"`
	Details   map[string]any `json:"details"`
}

// Every documented failure, on every wire.
func TestFailures(t *testing.T) {
	t.Parallel()

	s := newSystem(t, patterns.Options{PerMinute: 1000})
	hasty := newSystem(t, patterns.Options{Timeout: 500 * time.Millisecond}) // only for what is slow: others may be on a busy machine
	tests := []struct {
		tool, arguments string
		code, message   string
		status          float64
		retryable       bool
	}{
		{"get_pattern", `{"id":"fault-drop","format":"json"}`, "NETWORK_ERROR", "Network error: ", 0, true},
		{"get_pattern", `{"id":"fault-slow","format":"json"}`, "NETWORK_ERROR", "Network error: ", 0, true},
		{"get_pattern", `{"id":"fault-500","format":"json"}`, "SERVER_ERROR", "Internal server error: ", 500, true},
		{"get_pattern", `{"id":"fault-501","format":"json"}`, "SERVER_ERROR", "Internal server error: ", 501, true},
		{"search_patterns", `{"q":"fault-html","format":"json"}`, "SERVER_ERROR", "Internal server error: ", 0, true},
		{"search_patterns", `{"q":"fault-400","format":"json"}`, "CLIENT_ERROR", "Invalid request: ", 400, false},
		{"search_patterns", `{"q":"fault-408","format":"json"}`, "CLIENT_ERROR", "Invalid request: ", 408, false},
		{"search_patterns", `{"q":"fault-429","format":"json"}`, "CLIENT_ERROR", "Invalid request: ", 429, false},
		{"search_patterns", `{"q":"fault-401","format":"json"}`, "AUTHENTICATION_ERROR", "Authentication required: ", 401, false},
		{"search_patterns", `{"q":"fault-403","format":"json"}`, "AUTHENTICATION_ERROR", "Authentication required: ", 403, false},
		{"search_patterns", `{"q":"fault-404","format":"json"}`, "NOT_FOUND", "Resource not found: ", 404, false},
		{"search_patterns", `{"q":"fault-odd","format":"json"}`, "UNKNOWN_ERROR", "Unknown error occurred: The pattern library answered that it failed.", 0, false},
		{"search_patterns", `{"q":"undo","limit":1000,"format":"json"}`, "CLIENT_ERROR", "Invalid request: limit must be between 1 and 100", 400, false},
		{"search_patterns", `{"q":"undo","limit":101,"format":"json"}`, "CLIENT_ERROR", "Invalid request: limit must be between 1 and 100", 400, false},
		{"search_patterns", `{"q":"undo","limit":0,"format":"json"}`, "CLIENT_ERROR", "Invalid request: limit must be between 1 and 100", 400, false},
		{"search_patterns", `{"q":"undo","limit":-1,"format":"json"}`, "CLIENT_ERROR", "Invalid request: limit must be between 1 and 100", 400, false},
		{"search_patterns", `{"q":"undo","category":"gardening","format":"json"}`, "CLIENT_ERROR", "Invalid request: category must be one of ", 0, false},
		{"search_patterns", `{"q":"undo","difficulty":"","format":"json"}`, "CLIENT_ERROR", "Invalid request: difficulty must be one of ", 0, false},
		{"search_patterns", `{"q":"undo","limit":"many","format":"json"}`, "CLIENT_ERROR", "Invalid request: limit must be", 0, false},
	}
	for _, wire := range systemtest.Wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client, hasty := wire.Client(t, s), wire.Client(t, hasty)
			for _, test := range tests {
				client := client
				if strings.Contains(test.arguments, "fault-slow") {
					client = hasty
				}
				r := client.Call(t, test.tool, test.arguments)
				var e toolError
				r.Object(t, 0, &e)
				status, _ := e.Details["statusCode"].(float64)
				if e.Kind != "toolError:v1" || e.Code != test.code || e.Retryable != test.retryable || status != test.status ||
					!strings.HasPrefix(e.Message, test.message) || !r.Tool(t).IsError {
					t.Errorf("%s %s: %+v", test.tool, test.arguments, e)
				}
			}
			for _, arguments := range []string{`{"code":"// fault-500"}`, `{"code":"// fault-500","language":"go"}`} {
				result := client.Call(t, "review_code", arguments).Tool(t)
				if len(result.Content) != 1 || !strings.HasPrefix(result.Text(), "Internal server error: ") {
					t.Errorf("review_code %s: %+v", arguments, result)
				}
			}
			if text := client.Call(t, "list_analysis_rules", `{"category":"taste"}`).Tool(t).Text(); !strings.HasPrefix(text, "Resource not found: ") {
				t.Errorf("an unknown category: %s", text)
			}
		})
	}
}

// The kinds of Markdown sentences, which have neither code nor status, for clients that know the page.
func TestKindsOfSentences(t *testing.T) {
	t.Parallel()
	client := systemtest.HTTP(t, newSystem(t, patterns.Options{}), testkit.Legacy)
	for fault, want := range map[string]recourse.Kind{
		"401": recourse.KindUnauthenticated, "404": recourse.KindNotFound, "400": recourse.KindClientError, "500": recourse.KindServerError,
		"drop": recourse.KindTimeout, "odd": recourse.KindUnknown,
	} {
		if e := client.Call(t, "search_patterns", `{"q":"fault-`+fault+`"}`).Read(t, rules(t)); e == nil || e.Kind != want {
			t.Errorf("%s: read as %v, want %s", fault, e, want)
		}
	}
}

// Successes and failures have the same blocks in each format.
func TestFailuresFollowTheFormatOfSuccesses(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/same-format-as-success")

	client := systemtest.HTTP(t, newSystem(t, patterns.Options{}), testkit.Modern)
	for _, tool := range []struct{ name, success, failure string }{
		{"search_patterns", `"q":"undo"`, `"q":"fault-500"`},
		{"get_pattern", `"id":"observer"`, `"id":"fault-500"`},
	} {
		for _, format := range []struct {
			argument string
			json     []bool // by block
		}{
			{``, []bool{false}},
			{`,"format":"markdown"`, []bool{false}},
			{`,"format":"xml"`, []bool{false}},
			{`,"format":"json"`, []bool{true}},
			{`,"format":"both"`, []bool{false, true}},
		} {
			for _, arguments := range []string{tool.success, tool.failure} {
				result := client.Call(t, tool.name, "{"+arguments+format.argument+"}").Tool(t)
				var got []bool
				for _, block := range result.Content {
					got = append(got, json.Valid([]byte(block.Text)))
				}
				if diff := cmp.Diff(format.json, got); diff != "" || result.IsError != (arguments == tool.failure) {
					t.Errorf("%s {%s%s}, isError %t, which blocks are JSON (-want +got):\n%s", tool.name, arguments, format.argument, result.IsError, diff)
				}
			}
		}
	}
}

// A question is the page's object for questions.
type question struct {
	Kind       string `json:"kind"`
	Type       string `json:"type"`
	NeedsInput struct {
		Fields      []string            `json:"fields"`
		Reason      string              `json:"reason"`
		Suggestions map[string][]string `json:"suggestions"`
	} `json:"needsInput"`
	Options []recourse.Option `json:"options"`
}

func ask(t *testing.T, client systemtest.Client, tool, arguments string) question {
	t.Helper()
	r := client.Call(t, tool, arguments)
	var q question
	r.Object(t, 0, &q)
	if q.Kind != "needsInput:v1" || q.Type != "elicitation" || r.Tool(t).IsError {
		t.Fatalf("%s %s: got %s, want a question", tool, arguments, r.Result)
	}
	return q
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/question-empty-query", "patterns/question-too-many", "patterns/question-empty-id",
		"patterns/question-not-found", "patterns/question-suggestions")

	s := newSystem(t, patterns.Options{})
	for _, wire := range systemtest.Wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, s)

			for _, empty := range []string{`{"format":"json"}`, `{"q":"","format":"json"}`, `{"q":" ","format":"json"}`} {
				if q := ask(t, client, "search_patterns", empty); !slices.Equal(q.NeedsInput.Fields, []string{"q"}) {
					t.Errorf("%s: %+v", empty, q)
				}
			}
			if q := ask(t, client, "get_pattern", `{"id":"","format":"json"}`); !slices.Equal(q.NeedsInput.Fields, []string{"id"}) {
				t.Errorf("an empty id: %+v", q)
			}

			many := ask(t, client, "search_patterns", `{"q":"object","format":"json"}`)
			if !slices.Equal(many.NeedsInput.Fields, []string{"category", "difficulty"}) || len(many.Options) < 3 {
				t.Errorf("too many hits: %+v", many)
			}
			for _, narrowed := range []string{`{"q":"object","category":"creational"}`, `{"q":"object","difficulty":"beginner"}`} {
				if text := client.Call(t, "search_patterns", narrowed).Tool(t).Text(); !strings.Contains(text, "patterns for “object”") {
					t.Errorf("%s: %s", narrowed, text)
				}
			}

			unknown := ask(t, client, "get_pattern", `{"id":"singelton","format":"json"}`)
			if diff := cmp.Diff([]string{"singleton"}, unknown.NeedsInput.Suggestions["id"]); diff != "" {
				t.Errorf("suggestions (-want +got):\n%s", diff)
			}
			if q := ask(t, client, "get_pattern", `{"id":"object-thing","format":"json"}`); len(q.NeedsInput.Suggestions["id"]) != 5 || len(q.Options) != 5 {
				t.Errorf("got suggestions %+v, want five", q)
			}
			if q := ask(t, client, "get_pattern", `{"id":"fault-404","format":"json"}`); q.NeedsInput.Suggestions != nil {
				t.Errorf("no hits: %+v", q)
			}
			id := unknown.Options[0].Value
			if text := client.Call(t, "get_pattern", `{"id":"`+id+`"}`).Tool(t).Text(); !strings.HasPrefix(text, "# Singleton") {
				t.Errorf("the suggested id fails: %s", text)
			}
		})
	}
}

// The server's own limit has status 429, which no library has answered with.
func TestOwnLimit(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/gateway-429")

	for _, wire := range systemtest.Wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, newSystem(t, patterns.Options{PerMinute: 1}))
			var e toolError
			for range 3 { // a minute may end between two calls
				r := client.Call(t, "get_pattern", `{"id":"observer","format":"json"}`)
				e = toolError{}
				if r.Object(t, 0, &e); e.Code != "" {
					break
				}
			}
			if e.Code != "CLIENT_ERROR" || e.Details["statusCode"] != 429.0 || e.Retryable || !strings.Contains(e.Message, "Try again in ") {
				t.Errorf("%+v", e)
			}
		})
	}
}

// A client that only knows the page repeats what is retryable, with growing waits, and nothing else.
func TestClientRepeats(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/retry-true", "patterns/retry-false")

	client := systemtest.HTTP(t, newSystem(t, patterns.Options{}), testkit.Legacy)
	for _, test := range []struct {
		id    string
		waits []time.Duration
	}{
		{"observer", nil},
		{"fault-once", []time.Duration{time.Second}},
		{"fault-500", []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		{"fault-400", nil},
		{"fault-429", nil},
		{"fault-401", nil},
	} {
		calls := 0
		last, waits := systemtest.Follow(t, rules(t), retry.Reads, 0, func() systemtest.Reply {
			calls++
			return client.Call(t, "get_pattern", `{"id":"`+test.id+`","format":"json"}`)
		})
		if diff := cmp.Diff(test.waits, waits); diff != "" || calls != len(test.waits)+1 {
			t.Errorf("%s: %d calls, and waits (-want +got):\n%s", test.id, calls, diff)
		}
		if failed := last.Tool(t).IsError; failed != (test.id == "fault-500" || test.id == "fault-400" || test.id == "fault-429" || test.id == "fault-401") {
			t.Errorf("%s: the last answer has isError %t", test.id, failed)
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	client := systemtest.HTTP(t, newSystem(t, patterns.Options{}), testkit.Modern)
	want := []string{"analyze_code", "get_pattern", "get_skill", "list_analysis_rules", "list_skills", "review_code", "search_patterns"}
	if diff := cmp.Diff(want, client.Tools(t)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	const code = `{"code":"var total int\nfunc f(a, b, c, d, e, f int) {}\nx.A().B().C().D()"}`
	for tool, want := range map[string]string{"analyze_code": "line 2, `long-parameter-list`", "review_code": "line 3: consider `facade`"} {
		if text := client.Call(t, tool, code).Tool(t).Text(); !strings.Contains(text, want) {
			t.Errorf("%s: %s", tool, text)
		}
	}
	if text := client.Call(t, "list_analysis_rules", `{}`).Tool(t).Text(); strings.Count(text, "\n- ") != 4 {
		t.Error(text)
	}
	r := client.Call(t, "get_pattern", `{"id":"observer"}`)
	if r.Status != http.StatusOK || r.Header.Get("X-Request-Id") == "" {
		t.Errorf("status %d, headers %v", r.Status, r.Header)
	}
}

// The demo's scenes can be called.
func TestScenes(t *testing.T) {
	t.Parallel()
	s := newSystem(t, patterns.Options{})
	client := systemtest.Stdio(t, s.MCPServer())
	for _, scene := range s.Scenes() {
		if text := client.Call(t, scene.Tool, scene.Arguments).Tool(t).Text(); text == "" {
			t.Errorf("%s: no text", scene.Title)
		}
	}
}

// The client of the Go SDK gets the text for the model.
func TestSDKClient(t *testing.T) {
	t.Parallel()
	session := systemtest.SDK(t, newSystem(t, patterns.Options{}))
	for _, call := range []struct {
		tool, arguments, want string
		isError               bool
	}{
		{"search_patterns", `{"q":"undo"}`, "**Memento**", false},
		{"get_pattern", `{"id":"singelton"}`, "There is no pattern", false},
		{"get_pattern", `{"id":"fault-429","format":"both"}`, `"statusCode": 429`, true},
	} {
		text, isError := systemtest.SDKText(t, session, call.tool, call.arguments)
		if !strings.Contains(text, call.want) || isError != call.isError {
			t.Errorf("%s %s: isError %t, %s", call.tool, call.arguments, isError, text)
		}
	}
}
