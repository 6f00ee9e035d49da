package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/mcptool"
)

type fieldArgs struct {
	FieldID string `json:"field_id"`
	Years   int    `json:"years,omitempty"`
}

type fieldOut struct {
	Name string  `json:"name"`
	Area float64 `json:"area"`
}

// fieldHandler is a typed handler without typed output.
type fieldHandler = mcp.ToolHandlerFor[fieldArgs, any]

func fails(err error) fieldHandler {
	return func(context.Context, *mcp.CallToolRequest, fieldArgs) (*mcp.CallToolResult, any, error) {
		return nil, nil, err
	}
}

var none []int

// farm has one tool for each way to fail.
func farm() *mcp.Server {
	server := newServer()
	reads := &mcp.ToolAnnotations{ReadOnlyHint: true}
	add := func(name string, a *mcp.ToolAnnotations, h fieldHandler) {
		mcp.AddTool(server, &mcp.Tool{Name: name, Annotations: a}, h)
	}
	add("get_field", reads, func(_ context.Context, _ *mcp.CallToolRequest, in fieldArgs) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.FieldID + ": North field"}}}, nil, nil
	})
	add("not_found", reads, fails(fmt.Errorf("look up: %w", recourse.NotFound("field", "F-9"))))
	add("unavailable", nil, fails(recourse.Unavailable("John Deere").WithOrigin(recourse.OriginProvider).CausedBy(errors.New("dial tcp 10.0.0.1: refused"))))
	add("plain", nil, fails(errors.New("pq: password authentication failed for postgres://farm:s3cr3t@db/fields")))
	add("plain_read", reads, fails(errors.New("pq: deadlock")))
	add("deadline", reads, fails(fmt.Errorf("query: %w", context.DeadlineExceeded)))
	add("wrapped_rpc", nil, fails(fmt.Errorf("adapter: %w", &jsonrpc.Error{Code: -32602, Message: "Unknown field", Data: json.RawMessage(`{"field":"x"}`)})))
	add("rpc", nil, fails(&jsonrpc.Error{Code: 2001, Message: "Bad order"}))
	add("panics", nil, func(context.Context, *mcp.CallToolRequest, fieldArgs) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New(strings.Repeat("x", none[0]))
	})
	add("ad_hoc", reads, func(context.Context, *mcp.CallToolRequest, fieldArgs) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "The season is over."}}}, nil, nil
	})
	server.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, recourse.Conflict("The field is being harvested.")
		})
	object := json.RawMessage(`{"type":"object"}`)
	server.AddTool(&mcp.Tool{Name: "raw_structured", InputSchema: object, OutputSchema: object},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{
				IsError: true, StructuredContent: map[string]any{"reason": "locked"}, Content: []mcp.Content{&mcp.TextContent{Text: `{"reason":"locked"}`}},
			}, nil
		})
	server.AddTool(&mcp.Tool{Name: "question", InputSchema: object},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, StructuredContent: map[string]any{"kind": "needsInput:v1", "type": "elicitation", "message": "Which one?"}}, nil
		})
	server.AddTool(&mcp.Tool{Name: "raw_plain", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("secret")
		})
	structured := func(context.Context, *mcp.CallToolRequest, fieldArgs) (*mcp.CallToolResult, fieldOut, error) {
		return &mcp.CallToolResult{IsError: true, StructuredContent: map[string]any{
			"error": map[string]any{"code": "FIELD_LOCKED", "message": "The field is locked by another job."},
		}}, fieldOut{}, nil
	}
	mcp.AddTool(server, &mcp.Tool{Name: "overwritten"}, structured)
	mcptool.AddTool(server, &mcp.Tool{Name: "kept"}, structured)
	mcptool.AddTool(server, &mcp.Tool{Name: "kept_odd"}, func(context.Context, *mcp.CallToolRequest, fieldArgs) (*mcp.CallToolResult, fieldOut, error) {
		return &mcp.CallToolResult{
			IsError: true, StructuredContent: map[string]any{"reason": "locked"}, Content: []mcp.Content{&mcp.TextContent{Text: "It is locked."}},
		}, fieldOut{}, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "typed"}, func(context.Context, *mcp.CallToolRequest, fieldArgs) (*mcp.CallToolResult, fieldOut, error) {
		return nil, fieldOut{}, recourse.RateLimited(12 * time.Second)
	})
	return server
}

func TestFailures(t *testing.T) {
	t.Parallel()

	const good = `{"field_id":"F-1"}`
	tests := []struct {
		tool, arguments string
		want            recourse.Error // kind, message, origin and effect
		text            string         // in the recourse contract
	}{
		{"not_found", good, recourse.Error{
			Kind: recourse.KindNotFound, Message: `There is no field "F-9".`, Origin: recourse.OriginServer, Effect: recourse.EffectNone,
		}, "[not_found] There is no field \"F-9\".\nNothing was changed. Look for a valid identifier, then call again with it."},
		{"unavailable", good, recourse.Error{
			Kind: recourse.KindUnavailable, Message: "John Deere is not available at the moment.", Origin: recourse.OriginProvider, Effect: recourse.EffectUnknown,
		}, ""},
		{"plain", good, recourse.Error{
			Kind: recourse.KindInternal, Message: recourse.KindInternal.Sentence(), Origin: recourse.OriginServer, Effect: recourse.EffectUnknown,
		}, ""},
		{"plain_read", good, recourse.Error{
			Kind: recourse.KindInternal, Message: recourse.KindInternal.Sentence(), Origin: recourse.OriginServer, Effect: recourse.EffectNone,
		}, ""},
		{"deadline", good, recourse.Error{
			Kind: recourse.KindTimeout, Message: "The server did not answer in time.", Origin: recourse.OriginServer, Effect: recourse.EffectNone,
		}, ""},
		{"wrapped_rpc", good, recourse.Error{
			Kind: recourse.KindInvalidValue, Message: "Unknown field", Origin: recourse.OriginServer, Effect: recourse.EffectNone,
			Details: map[string]json.RawMessage{"data": json.RawMessage(`{"field":"x"}`)},
		}, ""},
		{"rpc", good, recourse.Error{
			Kind: recourse.KindUnknown, Message: "Bad order", Origin: recourse.OriginServer, Effect: recourse.EffectUnknown,
		}, ""},
		{"panics", good, recourse.Error{
			Kind: recourse.KindInternal, Message: recourse.KindInternal.Sentence(), Origin: recourse.OriginServer, Effect: recourse.EffectUnknown,
		}, ""},
		{"ad_hoc", good, recourse.Error{
			Kind: recourse.KindUnknown, Message: "The season is over.", Origin: recourse.OriginServer, Effect: recourse.EffectNone,
		}, ""},
		{"raw", `{}`, recourse.Error{
			Kind: recourse.KindConflict, Message: "The field is being harvested.", Origin: recourse.OriginServer, Effect: recourse.EffectNone,
		}, ""},
		{"raw_plain", `{}`, recourse.Error{
			Kind: recourse.KindInternal, Message: recourse.KindInternal.Sentence(), Origin: recourse.OriginServer, Effect: recourse.EffectUnknown,
		}, ""},
		{"kept", good, recourse.Error{
			Kind: recourse.KindUnknown, Message: "The field is locked by another job.", Origin: recourse.OriginServer, Effect: recourse.EffectUnknown,
			Details: map[string]json.RawMessage{"structuredContent": json.RawMessage(`{"error":{"code":"FIELD_LOCKED","message":"The field is locked by another job."}}`)},
		}, ""},
		{"kept_odd", good, recourse.Error{
			Kind: recourse.KindConflict, Message: "It is locked.", Origin: recourse.OriginServer, Effect: recourse.EffectNone,
			Details: map[string]json.RawMessage{"structuredContent": json.RawMessage(`{"reason":"locked"}`)},
		}, ""},
		{"raw_structured", `{}`, recourse.Error{
			Kind: recourse.KindUnknown, Message: `{"reason":"locked"}`, Origin: recourse.OriginServer, Effect: recourse.EffectUnknown,
			Details: map[string]json.RawMessage{"structuredContent": json.RawMessage(`{"reason":"locked"}`)},
		}, ""},
		{"question", `{}`, recourse.Error{
			Kind: recourse.KindMissingParam, Message: "Which one?", Origin: recourse.OriginCaller, Effect: recourse.EffectNone,
		}, ""},
		{"overwritten", good, recourse.Error{
			Kind: recourse.KindInternal, Message: recourse.KindInternal.Sentence(), Origin: recourse.OriginServer, Effect: recourse.EffectUnknown,
		}, ""},
		{"typed", good, recourse.Error{
			Kind: recourse.KindRateLimited, Message: recourse.KindRateLimited.Sentence(), Origin: recourse.OriginServer, Effect: recourse.EffectNone,
			RetryAfter: 12 * time.Second,
		}, ""},
		{"get_field", `{"years":"many"}`, recourse.Error{
			Kind: recourse.KindMissingParam, Message: "field_id is required; years must be an integer.", Origin: recourse.OriginCaller, Effect: recourse.EffectNone,
			Details: map[string]json.RawMessage{"tool": json.RawMessage(`"get_field"`)},
		}, ""},
	}
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			var log journal
			server := farm()
			mcptool.Use(server, contract.MustBuiltin(contract.Default), mcptool.WithLogger(log.logger()))
			client := w.dial(t, server)
			for _, test := range tests {
				r := client.call(t, test.tool, test.arguments)
				got := r.record(t)
				if got.RequestID == "" || !strings.Contains(log.String(), "request_id="+got.RequestID) {
					t.Errorf("%s: no request id %q in the log:\n%s", test.tool, got.RequestID, log.String())
				}
				core := recourse.Error{Kind: got.Kind, Message: got.Message, Origin: got.Origin, Effect: got.Effect, RetryAfter: got.RetryAfter, Details: got.Details}
				if diff := cmp.Diff(fields(&test.want), fields(&core)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", test.tool, diff)
				}
				result := r.result(t)
				if !result.IsError || (result.ResultType == "complete") != w.modern {
					t.Errorf("%s: %s", test.tool, r.Result)
				}
				if test.text != "" && result.Text() != test.text {
					t.Errorf("%s: text\n%s\nwant\n%s", test.tool, result.Text(), test.text)
				}
				if strings.Contains(string(r.Result), "s3cr3t") || strings.Contains(string(r.Result), "10.0.0.1") {
					t.Errorf("%s leaks: %s", test.tool, r.Result)
				}
			}
			r := client.call(t, "get_field", good)
			if diff := cmp.Diff("F-1: North field", r.result(t).Text()); diff != "" || r.result(t).IsError {
				t.Errorf("success: %s", r.Result)
			}
			if strings.Contains(log.String(), "s3cr3t") {
				t.Errorf("the log leaks:\n%s", log.String())
			}
		})
	}
}

func TestUnknownTool(t *testing.T) {
	t.Parallel()

	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			server := farm()
			mcptool.Use(server, contract.MustBuiltin(contract.Default), mcptool.WithLogger(slog.New(slog.DiscardHandler)))
			client := w.dial(t, server)
			r := client.call(t, "get_feild", `{}`)
			if got := r.record(t); got.Kind != recourse.KindUnknownTool || got.Message != `There is no tool named "get_feild". Did you mean get_field?` {
				t.Errorf("got %v", got)
			}
			if got := client.call(t, "late", `{"x":1}`).record(t); got.Kind != recourse.KindUnknownTool {
				t.Fatalf("late: %v", got)
			}
			mcp.AddTool(server, &mcp.Tool{Name: "late"}, fails(recourse.Conflict("late")))
			if got := client.call(t, "late", `{"field_id":1}`).record(t); got.Kind != recourse.KindInvalidType {
				t.Errorf("a tool added later: %v", got)
			}
			mcp.AddTool(server, &mcp.Tool{Name: "late", InputSchema: json.RawMessage(`{"type":"object"}`)}, fails(recourse.Conflict("late")))
			if got := client.call(t, "late", `{"years":1}`).record(t); got.Kind != recourse.KindConflict {
				t.Errorf("a tool with a relaxed schema: %v", got)
			}
			server.RemoveTools("late")
			if got := client.call(t, "late", `{}`).record(t); got.Kind != recourse.KindUnknownTool {
				t.Errorf("a removed tool: %v", got)
			}
		})
	}
}

// A call is answered at its deadline, whether its handler respects the context or not.
func TestDeadline(t *testing.T) {
	t.Parallel()

	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			var log journal
			server, release, started := newServer(), make(chan struct{}), make(chan struct{}, 2)
			mcp.AddTool(server, &mcp.Tool{Name: "deaf"}, func(context.Context, *mcp.CallToolRequest, fieldArgs) (*mcp.CallToolResult, any, error) {
				started <- struct{}{}
				<-release
				return nil, nil, errors.New("too late")
			})
			mcp.AddTool(server, &mcp.Tool{Name: "order_create"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ fieldArgs) (*mcp.CallToolResult, any, error) {
				<-ctx.Done()
				return nil, nil, fmt.Errorf("insert: %w", ctx.Err())
			})
			mcp.AddTool(server, &mcp.Tool{Name: "order_get"}, fails(nil))
			mcp.AddTool(server, &mcp.Tool{Name: "quick"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ fieldArgs) (*mcp.CallToolResult, any, error) {
				if _, ok := ctx.Deadline(); ok {
					return nil, nil, recourse.Conflict("there is a deadline")
				}
				return nil, nil, recourse.NoMatch("field")
			})
			mcptool.Use(server, contract.MustBuiltin(contract.Default), mcptool.WithLogger(log.logger()), mcptool.WithTimeout(40*time.Millisecond),
				mcptool.WithTool("quick", mcptool.WithTimeout(mcptool.NoTimeout)),
				mcptool.WithTool("order_create", mcptool.WithVerify(mcptool.Verify{
					Tool: "order_get", From: map[string]string{"id": "/field_id"}, With: map[string]any{"full": true}, LookAt: "status",
				})))
			client := w.dial(t, server)
			const good = `{"field_id":"F-1"}`

			got := client.call(t, "deaf", good).record(t)
			if got.Kind != recourse.KindTimeout || got.Message != "The tool did not finish within 40 ms." || got.Effect != recourse.EffectUnknown {
				t.Errorf("deaf: %v, effect %s", got, got.Effect)
			}
			<-started
			close(release)

			r := client.call(t, "order_create", good)
			if got := r.record(t); got.Kind != recourse.KindTimeout || got.Verify == nil || got.Verify.String() != `order_get(id='F-1', full=true)` {
				t.Errorf("order_create: %v, verify %v", got, got.Verify)
			}
			if text := r.result(t).Text(); !strings.Contains(text, `Before calling again: order_get(id='F-1', full=true), and look at status.`) {
				t.Errorf("order_create: %s", text)
			}
			if got := client.call(t, "quick", good).record(t); got.Kind != recourse.KindNoMatch {
				t.Errorf("quick: %v", got)
			}
			log.Await(t, "does not heed its context")
		})
	}
}

// The value and the stack of a panic are only in the log.
func TestPanic(t *testing.T) {
	t.Parallel()

	var log journal
	server := farm()
	server.AddResource(&mcp.Resource{URI: "farm://map", Name: "map"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		panic("no map")
	})
	server.AddResource(&mcp.Resource{URI: "farm://gone", Name: "gone"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, mcp.ResourceNotFoundError("farm://gone")
	})
	mcptool.Use(server, contract.MustBuiltin(contract.Default), mcptool.WithLogger(log.logger()))
	client := dialStdio(t, server)
	r := client.call(t, "panics", `{"field_id":"F-1"}`)
	if strings.Contains(string(r.Result), "out of range") {
		t.Errorf("the panic leaks: %s", r.Result)
	}
	for _, want := range []string{"level=ERROR", "panic: runtime error: index out of range [0]", "use_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in the log:\n%s", want, log.String())
		}
	}
	if r := client(t, "resources/read", `{"uri":"farm://map"}`); r.Error == nil || r.Error.Code != -32603 || !strings.HasPrefix(r.Error.Message, recourse.KindInternal.Sentence()) {
		t.Errorf("a panic of a resource: %s %+v", r.Result, r.Error)
	}
	if r := client(t, "tools/list", `{"cursor":"?"}`); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("a list the SDK refuses: %s %+v", r.Result, r.Error)
	}
	if r := client(t, "resources/read", `{"uri":"farm://gone"}`); r.Error == nil || r.Error.Message != "Resource not found" {
		t.Errorf("the SDK's own error: %s %+v", r.Result, r.Error)
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()

	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "id"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ fieldArgs) (*mcp.CallToolResult, any, error) {
		return nil, nil, recourse.Conflict("id " + mcptool.RequestID(ctx))
	})
	mcptool.Use(server, contract.MustBuiltin(contract.Default), mcptool.WithLogger(slog.New(slog.DiscardHandler)))
	for _, era := range []testkit.Era{testkit.Legacy, testkit.Modern} {
		client := testkit.NewClient(t, serve(t, server, era), era)
		if _, err := client.Initialize(t.Context()); err != nil {
			t.Fatal(err)
		}
		client.Header = http.Header{"X-Request-Id": {"abc-1"}}
		a, err := client.Call(t.Context(), "id", `{"field_id":"F-1"}`)
		if err != nil || a.Message == nil {
			t.Fatal(err)
		}
		got := reply{Result: a.Message.Result}.record(t)
		if got.RequestID != "abc-1" || got.Message != "id abc-1" {
			t.Errorf("%s: %v, request id %q", era, got, got.RequestID)
		}
	}
	if id := mcptool.RequestID(t.Context()); id != "" {
		t.Errorf("outside of calls: %q", id)
	}
}

// fields returns the parts of a record that tests compare.
func fields(e *recourse.Error) map[string]any {
	return map[string]any{"kind": e.Kind, "message": e.Message, "origin": e.Origin, "effect": e.Effect, "after": e.RetryAfter, "details": fmt.Sprintf("%s", e.Details)}
}
