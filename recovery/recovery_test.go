package recovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/retry"
)

// A server answers calls by a script: each answer once, and the last one from then on. It has the methods of a Go SDK
// session.
type server struct {
	contract *contract.Contract

	mu     sync.Mutex
	script map[string][]any // by tool: an error, a *recourse.Error, or a result as JSON
	calls  []string
	keys   []any // that came with them
	times  []time.Duration
	began  time.Time
}

func serve(name string, script map[string][]any) *server {
	return &server{contract: contract.MustBuiltin(name), script: script, began: time.Now()}
}

func (s *server) CallTool(ctx context.Context, params *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	arguments, err := json.Marshal(params.Arguments)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.calls = append(s.calls, params.Name+string(arguments))
	s.keys = append(s.keys, params.Meta["io.github.recoursehq/idempotencyKey"])
	s.times = append(s.times, time.Since(s.began))
	answers := s.script[params.Name]
	if len(answers) == 0 {
		s.mu.Unlock()
		return nil, fmt.Errorf("no answer to %s", params.Name)
	}
	if len(answers) > 1 {
		s.script[params.Name] = answers[1:]
	}
	s.mu.Unlock()
	switch a := answers[0].(type) {
	case *recourse.Error:
		answer := s.contract.Write(a, &contract.Call{Method: "tools/call", Tool: params.Name, Arguments: arguments})
		if answer.Surface != contract.SurfaceResult {
			return nil, fmt.Errorf("no result: %w", a)
		}
		return resultOf(string(answer.Result))
	case error:
		return nil, a
	case time.Duration: // hang
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(a):
			return resultOf(`{"content":[]}`)
		}
	case string:
		return resultOf(a)
	}
	return nil, errors.New("no such answer")
}

func resultOf(raw string) (*mcp.CallToolResult, error) {
	r := new(mcp.CallToolResult)
	return r, json.Unmarshal([]byte(raw), r)
}

// firstText returns the first text of a result.
func firstText(r *mcp.CallToolResult) string {
	if r == nil || len(r.Content) == 0 {
		return ""
	}
	text, _ := r.Content[0].(*mcp.TextContent)
	return text.Text
}

const done = `{"content":[{"type":"text","text":"done"}]}`

// call calls a tool of s once, in virtual time.
func call(t *testing.T, s *server, tool, arguments string, options ...recovery.Option) (*mcp.CallToolResult, *recovery.Report, error) {
	t.Helper()
	if arguments == "" {
		arguments = "{}"
	}
	report := new(recovery.Report)
	options = append([]recovery.Option{recovery.WithRandom(func() float64 { return 0.5 })}, options...)
	client := recovery.New(s, s.contract, options...)
	result, err := client.CallTool(recovery.WithReport(t.Context(), report),
		&mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	return result, report, err
}

func seconds(list ...float64) []time.Duration {
	d := make([]time.Duration, len(list))
	for i, s := range list {
		d[i] = time.Duration(s * float64(time.Second))
	}
	return d
}

// lost is the failure of a write whose answer never arrived.
var lost = recourse.Timeout("", 0).WithEffect(recourse.EffectUnknown)

func TestCalls(t *testing.T) {
	t.Parallel()
	limited := recourse.RateLimited(10 * time.Second).WithOrigin(recourse.OriginProvider)
	unavailable := recourse.Unavailable("John Deere").WithOrigin(recourse.OriginProvider)
	order := `{"order":{"externalId":"e-1"}}`
	for name, test := range map[string]struct {
		contract, tool, arguments string
		script                    map[string][]any
		options                   []recovery.Option
		times                     []time.Duration // of all calls, including verify calls
		kind                      recourse.Kind   // of the error; "" means a result
		text                      string          // of the result
	}{
		"a success": {
			contract: "recourse", tool: "get", script: map[string][]any{"get": {done}}, times: seconds(0), text: "done",
		},
		"fieldmcp waits as long as stated, then twice and four times that": {
			contract: "fieldmcp", tool: "get", script: map[string][]any{"get": {limited}},
			times: seconds(0, 10, 10+20.5, 10+20.5+40.5), kind: recourse.KindRateLimited,
		},
		"fieldmcp waits 2 s if no wait is stated": {
			contract: "fieldmcp", tool: "get", script: map[string][]any{"get": {recourse.Timeout("John Deere", 0), done}},
			times: seconds(0, 2), text: "done",
		},
		"fieldmcp waits 30 s for a provider that is down": {
			contract: "fieldmcp", tool: "get", script: map[string][]any{"get": {unavailable, done}}, times: seconds(0, 30), text: "done",
		},
		"a mistake is not repeated": {
			contract: "fieldmcp", tool: "get", script: map[string][]any{"get": {recourse.Missing("orgId")}},
			times: seconds(0), kind: recourse.KindMissingParam,
		},
		"not found is not repeated": {
			contract: "terra", tool: "get", script: map[string][]any{"get": {recourse.NotFound("user", "u")}},
			times: seconds(0), kind: recourse.KindNotFound,
		},
		"a write with an unknown outcome is not repeated": {
			contract: "recourse", tool: "order", script: map[string][]any{"order": {lost}}, times: seconds(0), kind: recourse.KindTimeout,
		},
		"a write that was never sent is repeated": {
			contract: "recourse", tool: "order", script: map[string][]any{"order": {recourse.Unreachable("").WithEffect(recourse.EffectNone), done}},
			times: seconds(0, 1.5), text: "done",
		},
		"an idempotent write is repeated": {
			contract: "recourse", tool: "order", script: map[string][]any{"order": {recourse.Timeout("", 0), done}},
			options: []recovery.Option{recovery.WithNature("order", retry.Idempotent)}, times: seconds(0, 1.5), text: "done",
		},
		"so is one that its annotations call idempotent": {
			contract: "recourse", tool: "order", script: map[string][]any{"order": {recourse.Timeout("", 0), done}},
			options: []recovery.Option{recovery.WithTools([]*mcp.Tool{{Name: "order", Annotations: &mcp.ToolAnnotations{IdempotentHint: true}}})},
			times:   seconds(0, 1.5), text: "done",
		},
		"and one that only reads, as mcp-go lists it": {
			contract: "recourse", tool: "get", script: map[string][]any{"get": {recourse.Timeout("", 0), done}},
			options: []recovery.Option{recovery.WithTools([]mcpgo.Tool{mcpgo.NewTool("get", mcpgo.WithReadOnlyHintAnnotation(true))})},
			times:   seconds(0, 1.5), text: "done",
		},
		"annotations of an untrusted server say nothing": {
			contract: "recourse", tool: "get", script: map[string][]any{"get": {recourse.Timeout("", 0)}},
			options: []recovery.Option{
				recovery.WithUntrustedServer(),
				recovery.WithTools([]*mcp.Tool{{Name: "get", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}}),
			},
			times: seconds(0), kind: recourse.KindTimeout,
		},
		"a write that has landed is not repeated": {
			contract: "commerce", tool: "create-sales-order", arguments: order,
			script: map[string][]any{"create-sales-order": {lost}, "get-orders": {`{"content":[],"structuredContent":{"items":[{"id":"SO-1"}]}}`}},
			times:  seconds(0, 1.5), text: `{"items":[{"id":"SO-1"}]}`,
		},
		"a write that has not landed is repeated, and verified each time": {
			contract: "commerce", tool: "create-sales-order", arguments: order,
			script: map[string][]any{"create-sales-order": {lost}, "get-orders": {`{"content":[],"structuredContent":{"items":[]}}`}},
			times:  seconds(0, 1.5, 3, 4.5, 7, 8.5, 13, 14.5), kind: recourse.KindTimeout,
		},
		"the verify call is repeated": {
			contract: "commerce", tool: "create-sales-order", arguments: order,
			script: map[string][]any{
				"create-sales-order": {lost, done},
				"get-orders":         {recourse.Unavailable("").WithOrigin(recourse.OriginServer), `{"content":[],"structuredContent":{"items":[]}}`},
			},
			times: seconds(0, 1.5, 3, 4.5), text: "done",
		},
		"a verify answer in another form settles nothing": {
			contract: "commerce", tool: "create-sales-order", arguments: order,
			script: map[string][]any{"create-sales-order": {lost}, "get-orders": {`{"content":[],"structuredContent":{"results":[]}}`}},
			times:  seconds(0, 1.5), kind: recourse.KindTimeout,
		},
		"a verify call that fails settles nothing": {
			contract: "commerce", tool: "create-sales-order", arguments: order,
			script: map[string][]any{"create-sales-order": {lost}, "get-orders": {recourse.NotImplemented("")}},
			times:  seconds(0, 1.5), kind: recourse.KindTimeout,
		},
		"the hook decides if the contract does not": {
			contract: "studies", tool: "study_create", arguments: `{"workspace_id":"w-1","title":"t"}`,
			script: map[string][]any{"study_create": {lost, done}, "study_get": {`{"content":[],"structuredContent":{"studies":[]}}`}},
			options: []recovery.Option{recovery.WithHooks(recovery.Hooks{Landed: func(_ context.Context, v recovery.Verification) (bool, error) {
				if v.Tool != "study_create" || v.Verify.String() != `study_get(workspace_id='w-1')` || !strings.Contains(string(v.Result), "studies") {
					return false, errors.New("about another call")
				}
				return false, nil
			}})},
			times: seconds(0, 1.5, 3), text: "done",
		},
		"a hook that cannot tell decides nothing": {
			contract: "studies", tool: "study_create", arguments: `{"workspace_id":"w-1"}`,
			script: map[string][]any{"study_create": {lost}, "study_get": {`{"content":[],"structuredContent":{"studies":[]}}`}},
			options: []recovery.Option{recovery.WithHooks(recovery.Hooks{Landed: func(context.Context, recovery.Verification) (bool, error) {
				return true, errors.New("no idea")
			}})},
			times: seconds(0, 1.5), kind: recourse.KindTimeout,
		},
		"a hook that panics decides nothing": {
			contract: "studies", tool: "study_create", arguments: `{"workspace_id":"w-1"}`,
			script:  map[string][]any{"study_create": {lost}, "study_get": {`{"content":[],"structuredContent":{"studies":[]}}`}},
			options: []recovery.Option{recovery.WithHooks(recovery.Hooks{Landed: func(context.Context, recovery.Verification) (bool, error) { panic("no") }})},
			times:   seconds(0, 1.5), kind: recourse.KindTimeout,
		},
		"work is polled": {
			contract: "studies", tool: "run_dispatch", arguments: `{"study_id":"s-1"}`,
			script: map[string][]any{
				"run_dispatch": {`{"content":[],"structuredContent":{"next_action":"study_get(study_id=\"s-1\", lean=True)"}}`},
				"study_get": {
					`{"content":[],"structuredContent":{"runtime_status":"queued"}}`, recourse.RateLimited(0).WithOrigin(recourse.OriginServer),
					`{"content":[],"structuredContent":{"runtime_status":"running"}}`, `{"content":[],"structuredContent":{"runtime_status":"completed"}}`,
				},
			},
			times: seconds(0, 1, 3, 7, 15), text: `{"runtime_status":"completed"}`,
		},
		"work is not polled with a tool that writes": {
			contract: "studies", tool: "run_dispatch", arguments: `{"study_id":"s-1"}`,
			script: map[string][]any{
				"run_dispatch": {`{"content":[],"structuredContent":{"next_action":"study_delete(study_id=\"s-1\")"}}`}, "study_delete": {done},
			},
			times: seconds(0), text: "next_action",
		},
		"work is not polled with an unknown tool": {
			contract: "studies", tool: "run_dispatch", arguments: `{"study_id":"s-1"}`,
			script:  map[string][]any{"run_dispatch": {`{"content":[],"structuredContent":{"next_action":"study_get(study_id=\"s-1\")"}}`}},
			options: []recovery.Option{recovery.WithTools([]*mcp.Tool{{Name: "run_dispatch"}})}, times: seconds(0), text: "next_action",
		},
		"a wait beyond the deadline ends the call": {
			contract: "fieldmcp", tool: "get", script: map[string][]any{"get": {limited}},
			options: []recovery.Option{recovery.WithTimeout(9 * time.Second)}, times: seconds(0), kind: recourse.KindRateLimited,
		},
		"a wait of years is limited to a day": {
			contract: "fieldmcp", tool: "get", script: map[string][]any{"get": {recourse.RateLimited(1e6 * time.Hour).WithOrigin(recourse.OriginProvider), done}},
			options: []recovery.Option{recovery.WithTimeout(1000 * time.Hour)}, times: []time.Duration{0, recourse.MaxWait}, text: "done",
		},
		"an account is connected once": {
			contract: "fieldmcp", tool: "get", script: map[string][]any{"get": {recourse.NotConnected("John Deere")}},
			options: []recovery.Option{recovery.WithHooks(recovery.Hooks{Connect: func(context.Context, *recourse.Error) error { return nil }})},
			times:   seconds(0, 0), kind: recourse.KindNotConnected,
		},
		"an unconnected account": {
			contract: "fieldmcp", tool: "get", script: map[string][]any{"get": {recourse.NotConnected("John Deere")}},
			options: []recovery.Option{recovery.WithHooks(recovery.Hooks{Connect: func(context.Context, *recourse.Error) error { return errors.New("no") }})},
			times:   seconds(0), kind: recourse.KindNotConnected,
		},
		"a hook that hangs": {
			contract: "fieldmcp", tool: "get", script: map[string][]any{"get": {recourse.NotConnected("John Deere")}},
			options: []recovery.Option{
				recovery.WithTimeout(time.Minute),
				recovery.WithHooks(recovery.Hooks{Connect: func(ctx context.Context, _ *recourse.Error) error { <-ctx.Done(); return nil }}),
			},
			times: seconds(0), kind: recourse.KindNotConnected,
		},
		"an attempt that hangs leaves time for the next": {
			contract: "fieldmcp", tool: "get", script: map[string][]any{"get": {time.Hour, done}},
			options: []recovery.Option{recovery.WithAttemptTimeout(20 * time.Second)}, times: seconds(0, 22), text: "done",
		},
		"a write that hangs leaves time for the verify call": {
			contract: "commerce", tool: "create-sales-order", arguments: order,
			script:  map[string][]any{"create-sales-order": {time.Hour}, "get-orders": {`{"content":[],"structuredContent":{"items":[{"id":"SO-1"}]}}`}},
			options: []recovery.Option{recovery.WithTimeout(20 * time.Second)}, times: seconds(0, 16.5), text: `"SO-1"`,
		},
		"a write without a verify call gets the whole time": {
			contract: "recourse", tool: "put", script: map[string][]any{"put": {19 * time.Second}},
			options: []recovery.Option{recovery.WithTimeout(20 * time.Second)}, times: seconds(0), text: `"content":[]`,
		},
		"a session that has ended": {
			contract: "commerce", tool: "create-sales-order", arguments: order,
			script: map[string][]any{"create-sales-order": {mcp.ErrConnectionClosed}, "get-orders": {mcp.ErrConnectionClosed}},
			times:  seconds(0, 1.5, 3, 5.5, 10), kind: recourse.KindUnreachable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := serve(test.contract, test.script)
				result, report, err := call(t, s, test.tool, test.arguments, test.options...)
				if diff := cmp.Diff(test.times, s.times); diff != "" {
					t.Errorf("calls %v at (-want +got):\n%s", s.calls, diff)
				}
				switch e, _ := errors.AsType[*recourse.Error](err); {
				case test.kind == "" && err != nil:
					t.Error(err)
				case test.kind == "":
					if raw, _ := json.Marshal(result); !strings.Contains(string(raw), test.text) {
						t.Errorf("no %q in %s", test.text, raw)
					}
				case e == nil || e.Kind != test.kind:
					t.Errorf("%v (%#v), want %s", err, e, test.kind)
				}
				if n := report.Attempts() + report.Verifications(); n > len(s.calls) {
					t.Errorf("%d calls are reported, want %d", n, len(s.calls))
				}
			})
		})
	}
}

func TestQuestionIsAnswered(t *testing.T) {
	t.Parallel()
	s := serve("patterns", nil)
	question := s.contract.Ask(&recourse.NeedsInput{Message: "Which one?", Fields: []string{"q"}}, &contract.Call{Method: "tools/call", Tool: "search_patterns"})
	s.script = map[string][]any{"search_patterns": {string(question.Result), done}}
	_, _, err := call(t, s, "search_patterns", `{}`, recovery.WithHooks(recovery.Hooks{Answer: func(_ context.Context, n *recourse.NeedsInput) (map[string]any, error) {
		return map[string]any{n.Fields[0]: "retry"}, nil
	}}))
	if want := []string{`search_patterns{}`, `search_patterns{"q":"retry"}`}; err != nil || !slices.Equal(s.calls, want) {
		t.Errorf("%v %q", err, s.calls)
	}
	s.script = map[string][]any{"search_patterns": {string(question.Result)}}
	_, _, err = call(t, s, "search_patterns", `{}`)
	if n, ok := errors.AsType[*recourse.NeedsInput](err); !ok || n.Message != "Which one?" {
		t.Errorf("%v", err)
	}
}
