package mcptool_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
)

// A server is put under a contract in three lines, and its tools return ordinary Go
// errors.
func ExampleUse() {
	server := mcp.NewServer(&mcp.Implementation{Name: "farm", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get_field"},
		func(_ context.Context, _ *mcp.CallToolRequest, in struct {
			FieldID string `json:"field_id"`
		},
		) (*mcp.CallToolResult, any, error) {
			return nil, nil, recourse.NotFound("field", in.FieldID)
		})

	mcptool.Use(server, contract.MustBuiltin(contract.Default))

	fmt.Println(textOf(server, "get_field", `{"field_id":"F-9"}`))
	fmt.Println(textOf(server, "get_field", `{"field":"F-9"}`))
	// Output:
	// [not_found] There is no field "F-9".
	// Nothing was changed. Look for a valid identifier, then call again with it.
	// [missing_param] field_id is required; field is not a known parameter (did you mean field_id?).
	// Nothing was done. Add field_id and correct the rest, then call again.
}

// An own contract, which is usually in a file beside the program.
func ExampleUse_own() {
	shop, err := contract.Builtin().Load("shop.yaml", []byte(`
form: 1
name: shop
extends: recourse
codes:
- code: out_of_stock
  kind: conflict
  for: [{kind: conflict, upstream_code: OUT_OF_STOCK}]
  hint: Offer the customer another size, then call again.
`))
	if err != nil {
		fmt.Println(err) // every mistake, with its position
		return
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	addTool(server, "order_create", recourse.Conflict("The boots are sold out in size 42.").WithCode("shop", "out_of_stock"))
	mcptool.Use(server, shop, silent)

	fmt.Println(textOf(server, "order_create", `{}`))
	// Output:
	// [out_of_stock] The boots are sold out in size 42.
	// Offer the customer another size, then call again.
}

// The contract fieldmcp: a JSON object with a code and the next step.
func ExampleUse_fieldmcp() {
	server := mcp.NewServer(&mcp.Implementation{Name: "farm", Version: "1.0.0"}, nil)
	addTool(server, "deere_list_resources", nil)
	addTool(server, "get_field", recourse.NotFound("field", "F-9").WithRequestID("req-1"))

	fieldmcp := contract.MustBuiltin("fieldmcp")
	mcptool.Use(server, fieldmcp, silent)

	fmt.Println(textOf(server, "get_field", `{}`))
	// Output:
	// {"error":true,"code":"FIELD_NOT_FOUND","message":"There is no field \"F-9\".","retryable":false,"suggestedAction":"Use deere_list_resources with resourceType='fields' to find valid field IDs.","requestId":"req-1","resourceId":"F-9","resourceType":"field"}
}

// The contract commerce: a numeric code, and the adapter's own word beside it.
func ExampleUse_commerce() {
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1.0.0"}, nil)
	addTool(server, "cancel-order", recourse.New(recourse.KindServerError, "The order is unknown to the warehouse.").
		WithUpstream(recourse.Upstream{Code: "ORDER_NOT_FOUND"}).WithEffect(recourse.EffectNone).WithRetry(recourse.RetryNever).WithRequestID("req-1"))

	commerce := contract.MustBuiltin("commerce")
	mcptool.Use(server, commerce, silent)

	fmt.Println(textOf(server, "cancel-order", `{}`))
	// Output:
	// {"code":4001,"message":"The order is unknown to the warehouse.","retryable":false,"details":{"reason":"server_error","suggestion":"See what the adapter means by ORDER_NOT_FOUND.","originalError":"ORDER_NOT_FOUND","context":{"name":"ADAPTER_ERROR","category":"Adapter","requestId":"req-1"}}}
}

// The contract studies: if the answer to a write was lost, the failure names the call that settles whether it landed.
func ExampleUse_studies() {
	server := mcp.NewServer(&mcp.Implementation{Name: "studies", Version: "1.0.0"}, nil)
	addTool(server, "study_get", nil)
	addTool(server, "study_create", recourse.Timeout("The backend", 20*time.Second))

	studies := contract.MustBuiltin("studies")
	mcptool.Use(server, studies, silent)

	fmt.Println(textOf(server, "study_create", `{"workspace_id":"w-1"}`))
	// Output:
	// [timeout] The backend did not answer within 20 s. Suggestions: The write may have landed. Before calling again run study_get(workspace_id='w-1') and check the study list
}

// The contract patterns: the call chooses the form of the answer, and a failure that needs a decision of the caller is
// a question.
func ExampleUse_patterns() {
	server := mcp.NewServer(&mcp.Implementation{Name: "patterns", Version: "1.0.0"}, nil)
	addTool(server, "get_pattern", &recourse.NeedsInput{
		Message: "There is no pattern singelton.", Reason: "pattern_not_found", Fields: []string{"id"},
		Suggestions: map[string][]string{"id": {"singleton"}},
	})

	patterns := contract.MustBuiltin("patterns")
	mcptool.Use(server, patterns, silent)

	fmt.Println(textOf(server, "get_pattern", `{}`))
	// Output:
	// There is no pattern singelton.
	//
	// Suggestions for `id`: `singleton`.
}

// The contract terra: one sentence, which is the identity of the failure.
func ExampleUse_terra() {
	server := mcp.NewServer(&mcp.Implementation{Name: "health", Version: "1.0.0"}, nil)
	addTool(server, "get_sleep_data", recourse.Missing("fields", "select"))

	terra := contract.MustBuiltin("terra")
	mcptool.Use(server, terra, silent)

	fmt.Println(textOf(server, "get_sleep_data", `{}`))
	// Output:
	// fields or select are required
}

// What a tool does to the world, and how to find out what became of it.
func ExampleWithTool() {
	server := mcp.NewServer(&mcp.Implementation{Name: "farm", Version: "1.0.0"}, nil)
	addTool(server, "order_get", nil)
	addTool(server, "order_create", errors.New("pq: connection reset by peer"))

	mcptool.Use(server, contract.MustBuiltin(contract.Default), silent, mcptool.WithTool("order_create",
		mcptool.WithTimeout(20*time.Second),
		mcptool.WithVerify(mcptool.Verify{Tool: "order_get", From: map[string]string{"reference": "/reference"}, LookAt: "status"})))

	fmt.Println(textOf(server, "order_create", `{"reference":"A-17"}`))
	// Output:
	// [internal] An internal error occurred.
	// It is not known whether the call took effect. Before calling again: order_get(reference='A-17'), and look at status.
}

// A payment that happens once, however often it is asked for.
func ExampleWithOnce() {
	server := mcp.NewServer(&mcp.Implementation{Name: "bank", Version: "1.0.0"}, nil)
	payments := 0
	mcp.AddTool(server, &mcp.Tool{Name: "pay"}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		payments++
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("payment %d", payments)}}}, nil, nil
	})

	mcptool.Use(server, contract.MustBuiltin(contract.Default), silent,
		mcptool.WithTool("pay", mcptool.WithOnce(mcptool.Once{Key: []string{"/reference"}})))

	fmt.Println(textOf(server, "pay", `{"reference":"A-17","amount":12}`))
	fmt.Println(textOf(server, "pay", `{"reference":"A-17","amount":12}`))
	fmt.Println(textOf(server, "pay", `{"reference":"A-17","amount":13}`))
	// Output:
	// payment 1
	// payment 1
	// [conflict] The key of this call belongs to one with other arguments. They differ in /amount.
	// Nothing was done. If this is the same call, repeat its arguments; if it is another one, give it another key.
}

// An http.Client whose failures a tool returns as they are.
func ExampleTransport() {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "12")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer backend.Close()
	client := &http.Client{Transport: mcptool.Transport(nil, "John Deere")}
	defer client.CloseIdleConnections()

	resp, err := client.Get(backend.URL)
	if err == nil {
		_ = resp.Body.Close()
	}
	e := recourse.From(err)
	fmt.Println(errors.Is(err, recourse.KindRateLimited), e.RetryAfter, e.Effect, e.Message)
	// Output:
	// true 12s none John Deere limits requests at the moment.
}

// An endpoint for callers with a key, with a limit of a hundred calls a minute.
func ExampleGuard() {
	server := mcp.NewServer(&mcp.Implementation{Name: "farm", Version: "1.0.0"}, nil)
	fieldmcp := contract.MustBuiltin("fieldmcp")
	mcptool.Use(server, fieldmcp)

	endpoint := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	guarded := mcptool.Guard(endpoint, fieldmcp,
		mcptool.WithAuthenticator(keys{"Authorization", map[string]string{"Bearer field_live_1": "org-1"}}),
		mcptool.WithLimiter(mcptool.NewWindows(nil,
			mcptool.Policy{Name: "minute", Limit: 100, Window: time.Minute}, mcptool.Policy{Name: "month", Limit: 17_000})),
		mcptool.WithLockout(25, 15*time.Minute), silent)

	answer := httptest.NewRecorder()
	guarded.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/mcp", http.NoBody))
	fmt.Println(answer.Code, answer.Header().Get("WWW-Authenticate"))
	// Output:
	// 401 Bearer
}

// silent keeps the log out of the examples.
var silent = mcptool.WithLogger(slog.New(slog.DiscardHandler))

// addTool adds a tool that accepts anything and ends with err.
func addTool(server *mcp.Server, name string, err error) {
	mcp.AddTool(server, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, any, error) {
		return nil, nil, err
	})
}

// textOf calls a tool as a client does, and returns what a model sees.
func textOf(server *mcp.Server, tool, arguments string) string {
	ctx := context.Background()
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, there, nil); err != nil {
		return err.Error()
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "example", Version: "1"}, nil).Connect(ctx, here, nil)
	if err != nil {
		return err.Error()
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: jsonText(arguments)})
	if err != nil {
		return err.Error()
	}
	text, _ := result.Content[0].(*mcp.TextContent)
	return text.Text
}

// jsonText is JSON that is marshalled as it is.
type jsonText string

// MarshalJSON returns the text.
func (t jsonText) MarshalJSON() ([]byte, error) { return []byte(t), nil }
