package patterns_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/patterns"
)

// Retries depend on retryable alone. The error has the sentence for the user; code and details are in the log.
func TestClientGoesByRetryable(t *testing.T) {
	t.Parallel()
	const get, analyze, second = "get_pattern", "analyze_code", time.Second
	backoff := []time.Duration{second, 2 * second, 4 * second}
	for _, tt := range []struct {
		name, faults    string
		tool, arguments string
		code, sentence  string
		logged          []string
		reached         int
		waits           []time.Duration
		promises        []string
	}{
		{
			name: "a server failure that passes", faults: "- {times: 2, effect: after, fault: {contract: patterns, code: SERVER_ERROR}}",
			tool: get, arguments: `{"id":"observer"}`, reached: 3, waits: backoff[:2], promises: []string{"patterns/retry-true"},
		},
		{
			name: "a network failure that lasts", tool: get, arguments: `{"id":"fault-drop","format":"json"}`, code: "NETWORK_ERROR", sentence: "The pattern library",
			logged: []string{"code=NETWORK_ERROR"}, reached: 4, waits: backoff, promises: []string{"patterns/retry-true", "patterns/client-message"},
		},
		{
			name: "a failure with a status", tool: get, arguments: `{"id":"fault-500","format":"json"}`, code: "SERVER_ERROR", sentence: "HTTP 500",
			logged: []string{"code=SERVER_ERROR", "status=500"}, reached: 4, waits: backoff, promises: []string{"patterns/client-log"},
		},
		{
			name: "a refused request", tool: get, arguments: `{"id":"fault-400","format":"json"}`, code: "CLIENT_ERROR", sentence: "HTTP 400",
			logged: []string{"code=CLIENT_ERROR", "status=400"}, reached: 1, promises: []string{"patterns/retry-false", "patterns/client-message", "patterns/client-log"},
		},
		{
			name: "a limit, which is not retryable in this contract", tool: get, arguments: `{"id":"fault-429","format":"json"}`, code: "CLIENT_ERROR",
			sentence: "limits requests", logged: []string{"status=429"}, reached: 1, promises: []string{"patterns/retry-false"},
		},
		{
			name: "not found", tool: analyze, arguments: `{"code":"// fault-404"}`, code: "NOT_FOUND", reached: 1,
			promises: []string{"patterns/retry-false"},
		},
		{
			name: "missing credentials", tool: analyze, arguments: `{"code":"// fault-401"}`, code: "AUTHENTICATION_ERROR", reached: 1,
			promises: []string{"patterns/retry-false"},
		},
		{
			name: "an unknown failure", tool: get, arguments: `{"id":"fault-odd","format":"json"}`, code: "UNKNOWN_ERROR",
			logged: []string{"code=UNKNOWN_ERROR"}, reached: 1, promises: []string{"patterns/retry-false", "patterns/client-log"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			promises.Covers(t, tt.promises...)
			var log bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			agent := systemtest.NewAgent(t, newSystem(t, patterns.Options{}), rules(t), tt.faults, recovery.WithLogger(logger))
			if e := agent.Call(t, tt.tool, tt.arguments, tt.code).Failure; e != nil && !strings.Contains(e.Message, tt.sentence) {
				t.Errorf("got message %q", e.Message)
			}
			for _, want := range tt.logged {
				if !strings.Contains(log.String(), want) {
					t.Errorf("no %s in the log: %s", want, &log)
				}
			}
			agent.CheckReached(t, map[string]int{tt.tool: tt.reached})
			agent.CheckWaits(t, tt.waits...)
		})
	}
}

// If a tool has a format argument, the client asks for JSON, unless the caller has chosen a format.
func TestClientAsksForJSON(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/client-format")

	takes := contract.Tool{Name: "search_patterns", InputSchema: json.RawMessage(`{"properties":{"q":{},"format":{}}}`)}
	takesNone := contract.Tool{Name: "analyze_code", InputSchema: json.RawMessage(`{"properties":{"code":{}}}`)}
	agent := systemtest.NewAgent(t, newSystem(t, patterns.Options{}), rules(t), "", recovery.WithTools([]contract.Tool{takes, takesNone}))
	for _, test := range []struct{ tool, arguments, code, sent string }{
		{"search_patterns", `{"q":"hook"}`, "", `{"format":"json","q":"hook"}`},
		{"search_patterns", `{"q":"fault-400"}`, "CLIENT_ERROR", `{"format":"json","q":"fault-400"}`},
		{"search_patterns", `{"q":"proxy","format":"markdown"}`, "", `{"format":"markdown","q":"proxy"}`},
		{"analyze_code", `{"code":"// fault-400"}`, "CLIENT_ERROR", `{"code":"// fault-400"}`},
	} {
		answer := agent.Call(t, test.tool, test.arguments, test.code)
		calls := agent.Injector.Ledger().Calls
		if last := calls[len(calls)-1]; last.Arguments != test.sent || last.Reached != 1 {
			t.Errorf("sent %+v, want %s", last, test.sent)
		}
		if isJSON := json.Valid([]byte(answer.Text)); test.code == "" && isJSON != strings.Contains(test.sent, "json") {
			t.Errorf("%s is answered with %s", test.sent, answer.Text)
		}
	}
}

// A losing session drops parts of results, as some SDKs do.
type losing struct {
	*mcp.ClientSession

	lose func(*mcp.CallToolResult)
}

// CallTool implements [recovery.Session].
func (l losing) CallTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	result, err := l.ClientSession.CallTool(ctx, p)
	if err == nil {
		result.Meta = nil
		l.lose(result)
	}
	return result, err
}

// A failure is read from the JSON block, otherwise from structuredContent, otherwise from the sentence, even without
// isError.
func TestClientFindsFailure(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/client-finds-failure")

	for name, tt := range map[string]struct {
		format string
		lose   func(*mcp.CallToolResult)
	}{
		"the JSON block": {"json", func(r *mcp.CallToolResult) { r.StructuredContent, r.IsError = nil, false }},
		"the JSON block after the sentence": {"both", func(r *mcp.CallToolResult) {
			r.StructuredContent, r.IsError = nil, false
		}},
		"structuredContent": {"markdown", func(r *mcp.CallToolResult) { r.IsError = false }},
		"the sentence":      {"markdown", func(r *mcp.CallToolResult) { r.StructuredContent = nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := systemtest.NewAgent(t, newSystem(t, patterns.Options{}), rules(t), "")
			client := recovery.New(losing{agent.Session, tt.lose}, rules(t), recovery.WithClock(agent.Clock), recovery.WithLogger(systemtest.Quiet()))
			for id, reached := range map[string]int{"fault-500": 4, "fault-400": 1} {
				arguments := `{"id":"` + id + `","format":"` + tt.format + `"}`
				_, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_pattern", Arguments: json.RawMessage(arguments)})
				want := map[string]string{"fault-500": "SERVER_ERROR", "fault-400": "CLIENT_ERROR"}[id]
				if e, ok := errors.AsType[*recourse.Error](err); !ok || e.Code != want {
					t.Errorf("%s: got %v, want %s", arguments, err, want)
				}
				if got := agent.Injector.Ledger().Reached("get_pattern", `{"format":"`+tt.format+`","id":"`+id+`"}`); got != reached {
					t.Errorf("%s reached the server %d times, want %d", arguments, got, reached)
				}
			}
		})
	}
}

// The hook for credentials is called, and then the call is repeated.
func TestClientAuthenticates(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/client-auth")

	asked := 0
	agent := systemtest.NewAgent(t, newSystem(t, patterns.Options{}), rules(t),
		"- {times: 1, effect: after, fault: {contract: patterns, code: AUTHENTICATION_ERROR}}",
		recovery.WithHooks(recovery.Hooks{Connect: func(context.Context, *recourse.Error) error { asked++; return nil }}))
	agent.Call(t, "get_pattern", `{"id":"observer"}`, "")
	agent.CheckReached(t, map[string]int{"get_pattern": 2})
	if agent.CheckWaits(t); asked != 1 {
		t.Errorf("the hook was called %d times", asked)
	}
}

// A question is returned as a question, not as a failure, or is answered by the hook; then the call is repeated with
// the answer.
func TestClientAnswersQuestion(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/client-question")

	for _, tt := range []struct{ tool, arguments, answer, sent string }{
		{"search_patterns", `{"q":""}`, "hook", `{"q":"hook"}`},
		{"get_pattern", `{"id":""}`, "observer", `{"id":"observer"}`},
		{"get_pattern", `{"id":"singelton"}`, "singleton", `{"id":"singleton"}`},
	} {
		for _, answers := range []bool{true, false} {
			var options []recovery.Option
			if answers {
				options = append(options, recovery.WithHooks(recovery.Hooks{Answer: func(_ context.Context, n *recourse.NeedsInput) (map[string]any, error) {
					return map[string]any{n.Fields[0]: tt.answer}, nil
				}}))
			}
			agent := systemtest.NewAgent(t, newSystem(t, patterns.Options{}), rules(t), "", options...)
			if !answers {
				if q := agent.Call(t, tt.tool, tt.arguments, "question").Question; len(q.Fields) == 0 || q.Message == "" {
					t.Errorf("got question %+v", q)
				}
				agent.CheckReached(t, map[string]int{tt.tool: 1})
				continue
			}
			agent.Call(t, tt.tool, tt.arguments, "")
			if n := agent.Injector.Ledger().Reached(tt.tool, tt.sent); n != 1 {
				t.Errorf("%s was sent %d times", tt.sent, n)
			}
			agent.CheckReached(t, map[string]int{tt.tool: 2})
		}
	}
}
