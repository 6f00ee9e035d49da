package systems_test

import (
	stdcmp "cmp"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// inCommerce returns a failed call in the form of commerce, with the object as text and as structured content.
func inCommerce(object string) string {
	return `{"content":[{"type":"text","text":"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(object) + `"}],"error":` + object + `,"isError":true}`
}

// commerceVerify declares the call that settles whether an order was created.
const commerceVerify = `tools: {get_field: {read_only: true}, order_create: {verify: {tool: order_get, from: {reference: /reference}, look_at: its status}}}`

// The gateway turns all forms of failures that are seen in practice into the form of commerce.
func TestCommerce(t *testing.T) {
	t.Parallel()
	const field, order = `{"field_id":"f-1"}`, `{"reference":"A-17","amount":5}`
	const badDate = `{"code":2003,"message":"Bad date","retryable":false,"details":{"field":"order.date","reason":"format","suggestion":"Correct the format of order.date."}}`
	tests := []struct {
		name, tool, arguments string
		fault                 testkit.Fault
		timeout               string // of calls; "": enough for all repetitions, but less than the waits that servers ask for
		want                  string
		kind                  recourse.Kind
		promises, readings    []string
	}{
		{
			name: "a failure inside a success", tool: testkit.GetField, arguments: field, kind: recourse.KindNotFound,
			fault: faults.Result("", protocol.TextResult("{\n  \"success\": false,\n  \"error\": {\n    \"code\": \"ORDER_NOT_FOUND\",\n    \"details\": {\"orderId\": \"ord-1\"},\n    \"name\": \"AdapterError\"\n  }\n}")),
			want: inCommerce(`{"code":4001,"message":"There is no order \"ord-1\".","retryable":false,"details":{"reason":"not_found",` +
				`"suggestion":"Look up the present state, then call again with what is there.","originalError":"ORDER_NOT_FOUND",` +
				`"context":{"name":"ADAPTER_ERROR","category":"Adapter","requestId":"REQ"}}}`),
			readings: []string{
				"commerce/reads-success-false", "commerce/order-not-found", "commerce/original-error", "commerce/code-4001",
				"commerce/domain-failure-in-result", "commerce/domain-failure-in-text", "commerce/domain-failure-is-error",
				"commerce/field-code", "commerce/field-message", "commerce/field-retryable", "commerce/field-details-reason",
				"commerce/field-details-suggestion", "commerce/field-details-context", "commerce/context-name", "commerce/context-request-id",
				"commerce/reason-rule",
			},
		},
		{
			name: "a bare text", tool: testkit.GetField, arguments: field, kind: recourse.KindNotFound,
			fault: faults.ToolError("", "Order not found: ord-1"),
			want: inCommerce(`{"code":4001,"message":"Order not found: ord-1","retryable":false,"details":{"reason":"not_found",` +
				`"suggestion":"Look up the present state, then call again with what is there.","originalError":"ORDER_NOT_FOUND",` +
				`"context":{"name":"ADAPTER_ERROR","category":"Adapter","requestId":"REQ"}}}`),
			readings: []string{"commerce/reads-bare-not-found"},
		},
		{
			name: "a bare text about a state", tool: testkit.GetField, arguments: field, kind: recourse.KindInvalidState,
			fault: faults.ToolError("", "Cannot cancel order ord-1 in status shipped"),
			want: inCommerce(`{"code":4001,"message":"Cannot cancel order ord-1 in status shipped","retryable":false,"details":{"reason":"invalid_state",` +
				`"suggestion":"Look up the present state, then call again with what is there.","originalError":"INVALID_ORDER_STATE",` +
				`"context":{"name":"ADAPTER_ERROR","category":"Adapter","requestId":"REQ","currentStatus":"shipped","operation":"cancel"}}}`),
			readings: []string{"commerce/invalid-order-state"},
		},
		{
			name: "a bare text of a timeout", tool: testkit.GetField, arguments: field, kind: recourse.KindTimeout,
			fault: faults.ToolError("", "Operation timed out after 5000ms"),
			want: inCommerce(`{"code":3002,"message":"Operation timed out after 5000ms","retryable":true,"details":{"reason":"timeout",` +
				`"suggestion":"Repeat the call, with growing waits.","context":{"name":"TIMEOUT","category":"System","requestId":"REQ","timeoutMs":5000}}}`),
			readings: []string{"commerce/reads-bare-timeout", "commerce/code-3002", "commerce/category-by-table", "commerce/specific-codes"},
		},
		{
			name: "a text after a prefix", tool: testkit.GetField, arguments: field, kind: recourse.KindTimeout,
			fault: faults.ToolError("", "**Error:** Operation timed out after 5000ms"),
			want: inCommerce(`{"code":3002,"message":"Operation timed out after 5000ms","retryable":true,"details":{"reason":"timeout",` +
				`"suggestion":"Repeat the call, with growing waits.","context":{"name":"TIMEOUT","category":"System","requestId":"REQ","timeoutMs":5000}}}`),
			readings: []string{"commerce/reads-bold-error"},
		},
		{
			name: "a text of an SDK", tool: testkit.GetField, arguments: field, kind: recourse.KindMissingParam,
			fault: faults.ToolError("", `validating "arguments": validating root: required: missing properties: ["id"]`),
			want: inCommerce(`{"code":2002,"message":"validating \"arguments\": validating root: required: missing properties: [\"id\"]","retryable":false,` +
				`"details":{"field":"id","reason":"required","suggestion":"Provide id.","context":{"name":"MISSING_REQUIRED_FIELD","category":"Validation",` +
				`"requestId":"REQ","violations":[{"field":"id","reason":"required","message":"missing properties: [\"id\"]"}]}}}`),
			readings: []string{"commerce/reads-sdk-texts", "commerce/code-2002", "commerce/tool-validation", "commerce/field-details-field"},
		},
		{
			name: "a JSON-RPC error of its own", tool: testkit.GetField, arguments: field, kind: recourse.KindInvalidValue,
			fault: faults.RPCError("", 2001, "MCP error 2001: Validation failed for field order: must be object",
				`{"retryable":false,"isProtocolError":false,"field":"order","reason":"must be object","value":{"email":"pat@example.com"}}`),
			want: inCommerce(`{"code":2001,"message":"Validation failed for field order: must be object","retryable":false,"details":{"field":"order",` +
				`"reason":"type","suggestion":"Correct order: it must be object.","context":{"name":"VALIDATION_ERROR","category":"Validation","requestId":"REQ",` +
				`"violations":[{"field":"order","reason":"type","expected":"object","message":"must be object"}],"isProtocolError":false}}}`),
			readings: []string{"commerce/reads-rpc-2001", "commerce/code-2001", "commerce/no-arguments", "commerce/no-personal-data"},
		},
		{
			name: "an adapter that says to repeat", tool: testkit.GetField, arguments: field, kind: recourse.KindServerError,
			fault: faults.RPCError("", 4001, "The shop is busy", `{"retryable":true,"originalError":"BUSY","details":{"shop":"north"}}`),
			want: inCommerce(`{"code":4001,"message":"The shop is busy","retryable":true,"details":{"reason":"server_error",` +
				`"suggestion":"Repeat the call, with growing waits.","originalError":"BUSY","context":{"name":"ADAPTER_ERROR","category":"Adapter",` +
				`"requestId":"REQ","shop":"north"}}}`),
			readings: []string{"commerce/adapter-retryable", "commerce/original-error-from-data"},
		},
		{
			name: "its own object", tool: testkit.GetField, arguments: field, kind: recourse.KindInvalidValue,
			fault:    faults.Result("", `{"error":{"code":2003,"message":"Bad date","retryable":false,"details":{"field":"order.date","reason":"format"}}}`),
			want:     `{"error":` + badDate + `,"content":[{"type":"text","text":` + protocol.Quote(badDate) + `}],"isError":true}`,
			readings: []string{"commerce/code-2003", "commerce/format-rules"},
		},
		{
			name: "a rate limit", tool: testkit.GetField, arguments: field, kind: recourse.KindRateLimited,
			fault: faults.Status(http.StatusTooManyRequests, faults.Plain).With("Retry-After", "12"),
			want: inCommerce(`{"code":3001,"message":"farm limits requests at the moment.","retryable":true,"details":{"reason":"rate_limited",` +
				`"suggestion":"Wait 12 s, then repeat the call.","context":{"name":"RATE_LIMIT_EXCEEDED","category":"System","retryAfter":12,"requestId":"REQ"}}}`),
			promises: []string{"commerce/code-3001", "commerce/context-wait", "commerce/gateway-keeps-it"},
		},
		{
			name: "501", tool: testkit.GetField, arguments: field, kind: recourse.KindNotImplemented,
			fault: faults.Status(http.StatusNotImplemented, faults.Plain),
			want: inCommerce(`{"code":5001,"message":"farm does not implement this.","retryable":false,"details":{"reason":"not_implemented",` +
				`"suggestion":"Use another tool.","context":{"name":"NOT_IMPLEMENTED","category":"Adapter","requestId":"REQ"}}}`),
			promises: []string{"commerce/code-5001"},
		},
		{
			name: "a backend that is away, of a read", tool: testkit.GetField, arguments: field, kind: recourse.KindUnavailable,
			fault: faults.Status(http.StatusServiceUnavailable, faults.Plain),
			want: inCommerce(`{"code":4002,"message":"farm is not available at the moment.","retryable":true,"details":{"reason":"unavailable",` +
				`"suggestion":"Repeat the call, with growing waits.","context":{"name":"BACKEND_UNAVAILABLE","category":"System","requestId":"REQ"}}}`),
			promises: []string{"commerce/code-4002"},
		},
		{
			name: "a backend that is away, of a write", tool: testkit.OrderCreate, arguments: order, kind: recourse.KindUnavailable,
			fault: faults.Status(http.StatusServiceUnavailable, faults.Plain),
			want: inCommerce(`{"code":4002,"message":"farm is not available at the moment.","retryable":false,"details":{"reason":"effect_unknown",` +
				`"suggestion":"It is not known whether the call took effect. Before calling again: order_get(reference='A-17'), and look at its status.",` +
				`"context":{"name":"BACKEND_UNAVAILABLE","category":"System","requestId":"REQ"}}}`),
			promises: []string{"commerce/effect-unknown", "commerce/effect-unknown-reason", "commerce/effect-unknown-verify"},
		},
		{
			name: "no answer to a write", tool: testkit.OrderCreate, arguments: order, kind: recourse.KindTimeout, fault: faults.Hang(), timeout: "1s",
			want: inCommerce(`{"code":3002,"message":"farm did not answer within 1 s.","retryable":false,"details":{"reason":"effect_unknown",` +
				`"suggestion":"It is not known whether the call took effect. Before calling again: order_get(reference='A-17'), and look at its status.",` +
				`"context":{"name":"TIMEOUT","category":"System","requestId":"REQ"}}}`),
			promises: []string{"commerce/effect-unknown"},
		},
		{
			name: "arguments that do not fit", tool: testkit.OrderCreate, kind: recourse.KindMissingParam,
			arguments: `{"amount":-1,"items":[{"sku":"pat@example.com"}],"reference":"A-17"}`,
			want: `{"code":-32602,"message":"Invalid params: items.0.quantity is required; amount must be greater than 0; Provide items.0.quantity.","data":{"field":"items.0.quantity","error":` +
				`{"code":2002,"message":"items.0.quantity is required; amount must be greater than 0.","retryable":false,"details":{"field":"items.0.quantity","reason":"required",` +
				`"suggestion":"Provide items.0.quantity.","context":{"name":"MISSING_REQUIRED_FIELD","category":"Validation","requestId":"REQ","violations":[` +
				`{"field":"items.0.quantity","reason":"required","expected":"an integer","message":"items.0.quantity is required"},` +
				`{"field":"amount","reason":"exclusiveMinimum","expected":"greater than 0","message":"amount must be greater than 0"}],"tool":"order_create"}}}}}`,
			promises: []string{
				"commerce/protocol-failure", "commerce/protocol-failure-field", "commerce/protocol-failure-error", "commerce/protocol-failure-message",
				"commerce/rpc-invalid-params", "commerce/first-violation", "commerce/all-violations", "commerce/no-arguments",
			},
		},
	}
	for _, tt := range tests {
		testkit.Virtual(t, tt.name, func(t *testing.T) {
			promises.Covers(t, tt.promises...)
			promises.Reads(t, tt.readings...)
			srv := testkit.NewServer(t, testkit.InMemory())
			srv.Always(tt.tool, tt.fault)
			client := gatewaytest.Start(t, srv.URL(), "contract: commerce", "reads: commerce", "trust_annotations: false", commerceVerify, "timeout: "+stdcmp.Or(tt.timeout, "10s")).Client(t, testkit.Legacy)
			a, err := client.Call(t.Context(), tt.tool, tt.arguments)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, gatewaytest.Shown(t, a)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if a.Message.Error == nil {
				if e := gatewaytest.Record(t, a); e.Kind != tt.kind || e.Contract != "commerce" {
					t.Errorf("got record %v in %s", e, e.Contract)
				}
			}
			if strings.Contains(string(a.Body), "pat@example.com") {
				t.Errorf("an argument's value is passed on: got %s", a.Body)
			}
		})
	}
}

// A number that the table does not list is read by its range, and passed on.
func TestCommerceRanges(t *testing.T) {
	t.Parallel()
	tests := []struct {
		number   string
		kind     recourse.Kind
		readings []string
	}{
		{number: "1500", kind: recourse.KindClientError, readings: []string{"commerce/range-protocol"}},
		{number: "2999", kind: recourse.KindInvalidValue, readings: []string{"commerce/range-validation"}},
		{number: "3999", kind: recourse.KindInvalidState, readings: []string{"commerce/range-business"}},
		{number: "4999", kind: recourse.KindServerError, readings: []string{"commerce/range-system"}},
		{number: "5999", kind: recourse.KindServerError, readings: []string{"commerce/range-adapter"}},
	}
	srv := testkit.NewServer(t)
	f := gatewaytest.Start(t, srv.URL(), "contract: commerce", "reads: commerce", "timeout: 10s")
	client := f.Client(t, testkit.Legacy)
	for _, tt := range tests {
		promises.Reads(t, tt.readings...)
		srv.Next(testkit.GetField, faults.Result("", `{"error":{"code":`+tt.number+`,"message":"odd","retryable":false}}`))
		a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"f-1"}`)
		if err != nil {
			t.Fatal(err)
		}
		if e := gatewaytest.Record(t, a); e.Kind != tt.kind || !strings.Contains(gatewaytest.Shown(t, a), `"error":{"code":`+tt.number+`,"message":"odd","retryable":false`) {
			t.Errorf("%s: got %s in %s", tt.number, e.Kind, a.Body)
		}
	}
}

// A result with "success":false is a failure only if the server is known to follow the contract.
func TestCommerceSuccess(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/success")
	promises.Reads(t, "commerce/reads-success-false-only-known")
	srv := testkit.NewServer(t)
	known, unknown := gatewaytest.Start(t, srv.URL(), "contract: commerce", "reads: commerce"), gatewaytest.Start(t, srv.URL(), "contract: commerce")
	declined, done := protocol.TextResult(`{"success":false,"reason":"declined"}`), protocol.TextResult(`{"success":true,"order":{"id":"ord-1"}}`)
	for _, tt := range []struct {
		front  *gatewaytest.Front
		result string
		fails  bool
	}{{known, declined, true}, {unknown, declined, false}, {known, done, false}} {
		srv.Next(testkit.GetField, faults.Result("", tt.result))
		a, err := tt.front.Client(t, testkit.Legacy).Call(t.Context(), testkit.GetField, `{"field_id":"f-1"}`)
		if err != nil {
			t.Fatal(err)
		}
		if result, err := a.ToolResult(); err != nil || result.IsError != tt.fails || !tt.fails && string(a.Message.Result) != tt.result {
			t.Errorf("%s: got %s", tt.result, a.Body)
		}
	}
}

// Protocol errors keep their codes, and the cause of an internal error is only in the log.
func TestCommerceProtocol(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/rpc-parse-error", "commerce/rpc-invalid-request", "commerce/rpc-method-not-found",
		"commerce/rpc-internal-error", "commerce/no-secrets", "commerce/cause-logged")
	srv := testkit.NewServer(t)
	f := gatewaytest.Start(t, srv.URL(), "contract: commerce", "reads: commerce", "timeout: 10s")
	client := f.Client(t, testkit.Legacy)
	for body, code := range map[string]int{
		`{"jsonrpc":"2.0",`:                                           -32700,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                    -32600,
		`{"jsonrpc":"2.0","id":1,"method":"no/such"}`:                 -32601,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}`: -32603,
	} {
		if code == -32603 {
			srv.Always("prompts/get", faults.Status(http.StatusInternalServerError, faults.Plain))
		}
		a, err := client.Post(t.Context(), []byte(body), http.Header{})
		if err != nil {
			t.Fatal(err)
		}
		if a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != code {
			t.Errorf("%s: got %s, want %d", body, a.Body, code)
		}
	}
	srv.Next(testkit.GetField, faults.LeakyToolError())
	a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"f-1"}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range faults.Secrets() {
		if strings.Contains(string(a.Body), secret) {
			t.Errorf("%s is in %s", secret, a.Body)
		}
	}
	f.Await(t, func(lines []gatewaytest.LogLine) bool {
		return slices.ContainsFunc(lines, func(l gatewaytest.LogLine) bool { return l.Kind == "server_error" && l.Cause != "" })
	})
}
