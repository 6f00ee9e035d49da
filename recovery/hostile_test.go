package recovery_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/recovery"
)

// Whatever wait an answer states, the call ends in time, and waits no less than the plausible part of it.
func TestImplausibleWaits(t *testing.T) {
	t.Parallel()
	for stated, want := range map[string]time.Duration{ // the time of the second call; 0 means none
		`-5`: 2 * time.Second, `0`: 2 * time.Second, `null`: 2 * time.Second, `"soon"`: 2 * time.Second, `[7]`: 2 * time.Second, `{}`: 2 * time.Second,
		`-1e300`: 2 * time.Second, `0.5`: 500 * time.Millisecond, `7`: 7 * time.Second, `119`: 119 * time.Second,
		`120`: 2 * time.Minute, `300`: 0, `86400`: 0, `31536000`: 0, `9223372036`: 0, `9223372037`: 0, `1e18`: 0, `1e300`: 0, `99999999999999999999999`: 0,
	} {
		for _, code := range []string{"RATE_LIMIT_PROVIDER", "PROVIDER_TIMEOUT"} {
			t.Run(code+stated, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					lie := fmt.Sprintf(`{"error":true,"code":%q,"message":"m","retryable":true,"retryAfter":%s}`, code, stated)
					text, err := json.Marshal(lie)
					if err != nil {
						t.Fatal(err)
					}
					s := serve("fieldmcp", map[string][]any{"get": {`{"isError":true,"content":[{"type":"text","text":` + string(text) + `}]}`, done}})
					_, report, err := call(t, s, "get", "")
					switch {
					case want == 0 && (err == nil || len(s.calls) != 1 || time.Since(s.began) != 0):
						t.Errorf("%v after %v", err, s.times)
					case want != 0 && (err != nil || len(s.calls) != 2 || s.times[1] != want):
						t.Errorf("%v after calls at %v", err, s.times)
					}
					for _, step := range report.Steps {
						if step.Took < 0 {
							t.Errorf("%+v", step)
						}
					}
				})
			})
		}
	}
}

// The same for Retry-After.
func TestImplausibleRetryAfter(t *testing.T) {
	t.Parallel()
	for stated, want := range map[string]time.Duration{ // the wait; 0 means none
		"-1": time.Second, "0": time.Second, "soon": time.Second, "1.5": 1500 * time.Millisecond, "": time.Second, "7": 7 * time.Second,
		"Thu, 21 Oct 1999 07:28:00 GMT": time.Second, "Fri, 31 Dec 9999 23:59:59 GMT": 0, "31536000": 0, "99999999999999999999999": 0,
	} {
		t.Run(stated, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				front := roundTripper(func(r *http.Request) (*http.Response, error) {
					calls++
					if calls > 1 {
						return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
					}
					return &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {stated}}, Body: http.NoBody, Request: r}, nil
				})
				client := http.Client{Transport: recovery.NewHTTPTransport(front, "The shop", contract.MustBuiltin("recourse"), recovery.WithRandom(func() float64 { return 0 }))}
				began := time.Now()
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop.example/", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				took := time.Since(began)
				if want == 0 && (took != 0 || resp.StatusCode != http.StatusTooManyRequests) || want != 0 && (took != want || resp.StatusCode != http.StatusOK) {
					t.Errorf("%s: HTTP %d after %s", stated, resp.StatusCode, took)
				}
			})
		})
	}
}

type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A write is repeated only if the verify call proves that it had no effect.
func TestUselessVerifyCalls(t *testing.T) {
	t.Parallel()
	question := contract.MustBuiltin("commerce").Ask(&recourse.NeedsInput{Message: "Which?", Fields: []string{"id"}}, &contract.Call{Method: "tools/call", Tool: "get-orders"})
	for name, answer := range map[string]any{
		"hangs":                    time.Hour,
		"a question":               string(question.Result),
		"an empty result":          `{"content":[]}`,
		"an empty text":            `{"content":[{"type":"text","text":""}]}`,
		"an array":                 `{"content":[{"type":"text","text":"[]"}]}`,
		"a text instead of a list": `{"content":[],"structuredContent":{"items":"none"}}`,
		"another list":             `{"content":[],"structuredContent":{"orders":[]}}`,
		"an error in plain text":   `{"content":[{"type":"text","text":"Error: database is locked"}],"isError":true}`,
		"an error as a success":    `{"content":[{"type":"text","text":"Error: database is locked"}]}`,
		"forbidden":                recourse.PermissionDenied(),
		"a long limit":             recourse.RateLimited(time.Hour),
		"broken off":               mcp.ErrConnectionClosed,
		"an effect":                recourse.Timeout("", 0).WithEffect(recourse.EffectApplied),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := serve("commerce", map[string][]any{"create-sales-order": {lost.WithMessage("Lost.")}, "get-orders": {answer}})
				_, report, err := call(t, s, "create-sales-order", `{"order":{"externalId":"e-1"}}`)
				e, ok := errors.AsType[*recourse.Error](err)
				if !ok || e.Kind != recourse.KindTimeout || e.Effect != recourse.EffectUnknown || e.Message != "Lost." {
					t.Errorf("%#v", err)
				}
				if report.Attempts() != 1 || report.Verifications() < 1 || time.Since(s.began) > 5*time.Minute {
					t.Errorf("%d attempts and %d verify calls in %s", report.Attempts(), report.Verifications(), time.Since(s.began))
				}
			})
		})
	}
}

// A server's record may name a place that is none: nothing is asked then.
func TestVerifyCallsFromNowhere(t *testing.T) {
	t.Parallel()
	for _, place := range []string{`null`, `[]`, `["/id","/id"]`, `[1]`, `7`, `"/nothing"`, `["/nothing"]`} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, err := contract.Builtin().Load("ours.yaml", []byte("form: 1\nname: ours\nextends: recourse\nread_only: [get]\ncodes: []\n"))
				if err != nil {
					t.Fatal(err)
				}
				failed := `{"content":[],"isError":true,"_meta":{"` + recourse.MetaKey +
					`":{"v":1,"kind":"timeout","effect":"unknown","verify":{"tool":"get","from":{"id":` + place + `}}}}}`
				s := &server{contract: c, began: time.Now(), script: map[string][]any{"put": {failed}, "get": {`{"content":[]}`}}}
				_, err = recovery.New(s, c).CallTool(t.Context(), &mcp.CallToolParams{Name: "put", Arguments: map[string]any{"id": "a"}})
				if e := recourse.From(err); e.Kind != recourse.KindTimeout || len(s.calls) != 1 {
					t.Errorf("%v after %q", err, s.calls)
				}
			})
		})
	}
}

// A missing result is a failure: callers do not expect a nil result.
func TestNoResult(t *testing.T) {
	t.Parallel()
	report := new(recovery.Report)
	result, err := recovery.New(noResult{}, contract.MustBuiltin("recourse")).
		CallTool(recovery.WithReport(t.Context(), report), &mcp.CallToolParams{Name: "order"})
	e, ok := errors.AsType[*recourse.Error](err)
	if !ok || e.Kind != recourse.KindBadResponse || e.Effect != recourse.EffectUnknown || result != nil || report.Attempts() != 1 {
		t.Errorf("%v, %v after %d attempts", result, err, report.Attempts())
	}
}

type noResult struct{}

func (noResult) CallTool(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	return nil, nil
}

// A hook that panics or hangs only loses its own effect: the call returns the failure from before.
func TestHooksThatFail(t *testing.T) {
	t.Parallel()
	question := string(contract.MustBuiltin("patterns").Ask(
		&recourse.NeedsInput{Message: "Which?", Fields: []string{"q"}}, &contract.Call{Method: "tools/call", Tool: "search_patterns"}).Result)
	partly := recourse.Partial([]recourse.SucceededItem{{ID: "a"}}, []recourse.FailedItem{{ID: "b", Error: recourse.NotFound("field", "b")}})
	for name, test := range map[string]struct {
		contract, tool string
		answers        map[string][]any
		with           func(does func()) recovery.Option
		want           error
	}{
		"connect": {
			"fieldmcp", "get",
			map[string][]any{"get": {recourse.NotConnected("John Deere")}},
			func(does func()) recovery.Option {
				return recovery.WithHooks(recovery.Hooks{Connect: func(context.Context, *recourse.Error) error { does(); return nil }})
			}, recourse.KindNotConnected,
		},
		"answer": {
			"patterns", "search_patterns",
			map[string][]any{"search_patterns": {question}},
			func(does func()) recovery.Option {
				return recovery.WithHooks(recovery.Hooks{Answer: func(context.Context, *recourse.NeedsInput) (map[string]any, error) { does(); return nil, nil }})
			}, nil,
		},
		"landed": {
			"studies", "study_create",
			map[string][]any{"study_create": {lost}, "study_get": {`{"content":[],"structuredContent":{"studies":[]}}`}},
			func(does func()) recovery.Option {
				return recovery.WithHooks(recovery.Hooks{Landed: func(context.Context, recovery.Verification) (bool, error) { does(); return false, nil }})
			}, recourse.KindTimeout,
		},
		"succeeded": {
			"fieldmcp", "deere_get_fields",
			map[string][]any{"deere_get_fields": {partly}},
			func(does func()) recovery.Option {
				return recovery.WithHooks(recovery.Hooks{Succeeded: func(context.Context, []recourse.SucceededItem) error { does(); return nil }})
			}, recourse.KindPartial,
		},
	} {
		for how, does := range map[string]func(){"panics": func() { panic("no") }, "hangs": func() { time.Sleep(time.Hour) }} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := serve(test.contract, test.answers)
					_, report, err := call(t, s, test.tool, `{"workspace_id":"w-1","fieldIds":["a","b"]}`, test.with(does))
					if _, asked := errors.AsType[*recourse.NeedsInput](err); test.want == nil && !asked || test.want != nil && !errors.Is(err, test.want) {
						t.Errorf("%v", err)
					}
					if report.Attempts() != 1 || time.Since(s.began) > 5*time.Minute {
						t.Errorf("%d attempts in %s", report.Attempts(), time.Since(s.began))
					}
					if !slices.ContainsFunc(report.Steps, func(s recovery.Step) bool { return strings.HasPrefix(s.Reason, "the hook has failed: ") }) {
						t.Errorf("no step reports the hook: %+v", report.Steps)
					}
					time.Sleep(time.Hour) // the hanging hook must not block the call
				})
			})
		}
	}
	t.Run("observer panics", func(t *testing.T) {
		t.Parallel()
		s := serve("fieldmcp", map[string][]any{"get": {done}})
		var log strings.Builder
		_, report, err := call(t, s, "get", "", recovery.WithHooks(recovery.Hooks{Observe: func(context.Context, recovery.Step) { panic("no") }}),
			recovery.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		if err != nil || report.Attempts() != 1 || !strings.Contains(log.String(), "the observer of a call has panicked") {
			t.Errorf("%v, %s", err, log.String())
		}
	})
}

// An answer that arrives byte by byte is read like one that arrives at once.
func TestAnswerThatDrips(t *testing.T) {
	t.Parallel()
	body := "data: " + strings.Repeat("x", 1<<20) + "\n\n"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", strings.NewReader(`{"method":"tools/call","id":7}`))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	resp, err := recovery.NewMCPTransport(answering{"text/event-stream", body}).RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if took := time.Since(began); err != nil || !strings.HasPrefix(string(got), body) || took > 20*time.Second {
		t.Errorf("%d bytes after %s, %v", len(got), took, err)
	}
}
