package recovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/recovery"
)

// Cancelling ends a wait of any kind immediately: no call follows, and the error is the failure before the wait.
func TestCancelInEachWait(t *testing.T) {
	t.Parallel()
	const order = `{"order":{"externalId":"e-1"}}`
	question := `{"content":[],"structuredContent":{"kind":"needsInput:v1","type":"elicitation","message":"Which?","needsInput":{"fields":["id"]}}}`
	partly := recourse.Partial([]recourse.SucceededItem{{ID: "a"}}, []recourse.FailedItem{{ID: "b", Error: recourse.Unavailable("John Deere")}})
	down := recourse.Unavailable("John Deere").WithOrigin(recourse.OriginProvider)
	for name, test := range map[string]struct {
		contract, tool, arguments string
		script                    map[string][]any
		shared                    func(t *testing.T, s *server, shared *recovery.Shared) // earlier calls
		options                   []recovery.Option
		at                        time.Duration
		calls                     int
		kind                      recourse.Kind // "" means success
	}{
		"during the call": {
			contract: "recourse", tool: "order", script: map[string][]any{"order": {time.Hour}}, at: time.Second, calls: 1, kind: recourse.KindCancelled,
		},
		"before a retry": {
			contract: "fieldmcp", tool: "get", script: map[string][]any{"get": {down}}, at: 10 * time.Second, calls: 1, kind: recourse.KindUnavailable,
		},
		"before its turn after a limit": {
			contract: "fieldmcp", tool: "get", script: map[string][]any{"get": {recourse.RateLimited(time.Minute).WithOrigin(recourse.OriginProvider)}},
			shared: func(t *testing.T, s *server, shared *recovery.Shared) {
				t.Helper()
				_, _, _ = call(t, s, "get", "", recovery.WithShared(shared), recovery.WithTimeout(time.Second)) // fails
			},
			at: 10 * time.Second, calls: 1, kind: recourse.KindRateLimited,
		},
		"before a circuit closes": {
			contract: "fieldmcp", tool: "get", script: map[string][]any{"get": {down}},
			shared: func(t *testing.T, s *server, shared *recovery.Shared) {
				t.Helper()
				for range 5 {
					_, _, _ = call(t, s, "get", "", recovery.WithShared(shared), recovery.WithTimeout(time.Second)) // fails
				}
			},
			at: 10 * time.Second, calls: 5, kind: recourse.KindUnavailable,
		},
		"before the verify call": {
			contract: "commerce", tool: "create-sales-order", arguments: order, script: map[string][]any{"create-sales-order": {lost}},
			at: time.Second, calls: 1, kind: recourse.KindTimeout,
		},
		"before a retry of the verify call": {
			contract: "commerce", tool: "create-sales-order", arguments: order,
			script: map[string][]any{"create-sales-order": {lost}, "get-orders": {recourse.Timeout("", 0)}},
			at:     2 * time.Second, calls: 2, kind: recourse.KindTimeout,
		},
		"during the verify call": {
			contract: "commerce", tool: "create-sales-order", arguments: order,
			script: map[string][]any{"create-sales-order": {lost}, "get-orders": {time.Hour}},
			at:     2 * time.Second, calls: 2, kind: recourse.KindTimeout,
		},
		"before a retry of items": {
			contract: "fieldmcp", tool: "deere_get_fields", arguments: `{"fieldIds":["a","b"]}`, script: map[string][]any{"deere_get_fields": {partly}},
			at: time.Second, calls: 1, kind: recourse.KindPartial,
		},
		"while work is running": {
			contract: "studies", tool: "run_dispatch", arguments: `{"study_id":"s-1"}`,
			script: map[string][]any{
				"run_dispatch": {`{"content":[],"structuredContent":{"next_action":"study_get(study_id=\"s-1\")"}}`},
				"study_get":    {`{"content":[],"structuredContent":{"runtime_status":"queued"}}`},
			},
			at: 2 * time.Second, calls: 2,
		},
		"while an account is connected": {
			contract: "fieldmcp", tool: "get", script: map[string][]any{"get": {recourse.NotConnected("John Deere")}},
			options: []recovery.Option{recovery.WithHooks(recovery.Hooks{Connect: func(ctx context.Context, _ *recourse.Error) error { <-ctx.Done(); return nil }})},
			at:      time.Second, calls: 1, kind: recourse.KindNotConnected,
		},
		"while a question is answered": {
			contract: "patterns", tool: "get-pattern", script: map[string][]any{"get-pattern": {question}},
			options: []recovery.Option{recovery.WithHooks(recovery.Hooks{Answer: func(ctx context.Context, _ *recourse.NeedsInput) (map[string]any, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}})},
			at: time.Second, calls: 1, kind: "question",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, shared := serve(test.contract, test.script), recovery.NewShared()
				if test.shared != nil {
					test.shared(t, s, shared)
				}
				arguments := test.arguments
				if arguments == "" {
					arguments = "{}"
				}
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(test.at, cancel)
				began := time.Now()
				options := append([]recovery.Option{recovery.WithShared(shared), recovery.WithRandom(func() float64 { return 0.5 })}, test.options...)
				_, err := recovery.New(s, s.contract, options...).CallTool(ctx, &mcp.CallToolParams{Name: test.tool, Arguments: json.RawMessage(arguments)})
				if took := time.Since(began); took != test.at || len(s.calls) != test.calls {
					t.Errorf("ended after %s and calls %v", took, s.calls)
				}
				_, asked := errors.AsType[*recourse.NeedsInput](err)
				switch {
				case test.kind == "":
					if err != nil {
						t.Error(err)
					}
				case test.kind == "question":
					if !asked {
						t.Error(err)
					}
				case !errors.Is(err, test.kind) || !errors.Is(err, context.Canceled):
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// A session may end at any call. What was done counts, and no write is made twice.
func TestSessionEndsInBetween(t *testing.T) {
	t.Parallel()
	const order = `{"order":{"externalId":"e-1"}}`
	partly := recourse.Partial([]recourse.SucceededItem{{ID: "a"}}, []recourse.FailedItem{{ID: "b", Error: recourse.Timeout("John Deere", 0)}})
	for name, test := range map[string]struct {
		contract, tool, arguments string
		script                    map[string][]any
		writes                    int
		kind                      recourse.Kind
		effect                    recourse.Effect
	}{
		"before the verify call": {
			"commerce", "create-sales-order", order,
			map[string][]any{"create-sales-order": {lost}, "get-orders": {mcp.ErrConnectionClosed}},
			1, recourse.KindTimeout, recourse.EffectUnknown,
		},
		"after a write that has not landed": {
			"commerce", "create-sales-order", order,
			map[string][]any{"create-sales-order": {lost, mcp.ErrConnectionClosed}, "get-orders": {`{"content":[],"structuredContent":{"items":[]}}`, mcp.ErrConnectionClosed}},
			2, recourse.KindUnreachable, recourse.EffectUnknown,
		},
		"during a retry of items": {
			"fieldmcp", "deere_get_fields", `{"fieldIds":["a","b"]}`,
			map[string][]any{"deere_get_fields": {partly, mcp.ErrConnectionClosed}},
			4, recourse.KindPartial, recourse.EffectNone,
		},
		"while work is running": {
			"studies", "run_dispatch", `{"study_id":"s-1"}`,
			map[string][]any{
				"run_dispatch": {`{"content":[],"structuredContent":{"next_action":"study_get(study_id=\"s-1\")"}}`}, "study_get": {mcp.ErrConnectionClosed},
			},
			1, "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := serve(test.contract, test.script)
				result, report, err := call(t, s, test.tool, test.arguments)
				e, _ := errors.AsType[*recourse.Error](err)
				switch {
				case test.kind == "" && (err != nil || result == nil):
					t.Errorf("%v, %v", result, err)
				case test.kind != "" && (e == nil || e.Kind != test.kind || e.Effect != test.effect):
					t.Errorf("%#v", err)
				}
				if report.Attempts() != test.writes || time.Since(s.began) > 5*time.Minute {
					t.Errorf("%d attempts in %s: %v", report.Attempts(), time.Since(s.began), s.calls)
				}
			})
		})
	}
}

// If the deadline comes while many calls wait for the end of an outage, all of them end then, and their failures say
// why.
func TestDeadlineInOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outage{began: time.Now(), fails: func(string, time.Duration) error { return errWay }}
		shared := recovery.NewShared()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				_, err := o.client(shared, time.Hour).CallTool(ctx, &mcp.CallToolParams{Name: "get-orders"})
				if !errors.Is(err, recourse.ClassUpstream) || time.Since(o.began) > 20*time.Second {
					t.Errorf("%v after %s", err, time.Since(o.began))
				}
			})
		}
		all.Wait()
	})
}
