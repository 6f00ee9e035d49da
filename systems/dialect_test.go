package systems_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// A failure in a server's own variant of a contract is read correctly and written in the contract's own form.
func TestDialects(t *testing.T) {
	t.Parallel()
	const page = `{"kind":"toolError:v1","code":"SERVER_ERROR","message":"Internal server error: Database connection failed","retryable":true,"details":{"statusCode":500}}`
	domain := func(object string) testkit.Fault { return faults.Result("", inCommerce(object)) }
	structured := func(object string) testkit.Fault {
		return faults.Result("", `{"content":[{"type":"text","text":`+protocol.Quote(object)+`}],"structuredContent":`+object+`,"isError":true}`)
	}
	for _, tt := range []struct {
		name, contract string
		fault          testkit.Fault
		want, not      []string
		after          time.Duration
	}{
		{
			name: "a requested JSON block, without a format parameter in the schema", contract: "patterns",
			fault: faults.Result("", inPatterns(t, "json", page)),
			want:  []string{`"content":[{"type":"text","text":"{\n  \"kind\": \"toolError:v1\"`}, not: []string{"text/markdown"},
		},
		{
			name: "retryable left out means false, which the code says is wrong", contract: "patterns",
			fault: structured(`{"kind":"toolError:v1","code":"SERVER_ERROR","message":"Internal server error: x"}`),
			want:  []string{`"retryable":true`},
		},
		{
			name: "a code that is never retryable, although the server says so", contract: "patterns",
			fault: structured(`{"kind":"toolError:v1","code":"CLIENT_ERROR","message":"Invalid request: x","retryable":true,"details":{"statusCode":429}}`),
			want:  []string{`"code":"CLIENT_ERROR"`, `"retryable":false`},
		},
		{
			name: "an unlisted code: the server decides", contract: "patterns",
			fault: structured(`{"kind":"toolError:v1","code":"SLOW_DOWN","message":"x","retryable":true,"details":{"statusCode":429}}`),
			want:  []string{`"code":"SLOW_DOWN"`, `"retryable":true`},
		},
		{
			name: "a token that expired is never retryable", contract: "fieldmcp",
			fault: structured(`{"error":true,"code":"TOKEN_EXPIRED","message":"x","retryable":true}`),
			want:  []string{`"code":"TOKEN_EXPIRED"`, `"retryable":false`},
		},
		{
			name: "invalid params as in the documentation", contract: "commerce",
			fault: faults.RPCError("", -32602, "Invalid params", `{"field":"order.customer.email"}`),
			want:  []string{`"code":-32602`, `"data":{"field":"order.customer.email"`}, not: []string{"originalError"},
		},
		{
			name: "Ajv's missing property", contract: "commerce",
			fault: faults.RPCError("", 2001, "must have required property 'order'", `{}`),
			want:  []string{`"code":2002`, `"field":"order"`},
		},
		{
			name: "Ajv's missing property inside another", contract: "commerce",
			fault: faults.RPCError("", 2001, "data/order/items/0 must have required property 'sku'", `{"field":"data"}`),
			want:  []string{`"field":"order.items.0.sku"`},
		},
		{
			name: "a field as a JSON pointer", contract: "commerce",
			fault: faults.RPCError("", 2001, "Validation failed", `{"field":"order/items/0","reason":"must be object"}`),
			want:  []string{`"field":"order.items.0"`},
		},
		{
			name: "a wait in the data", contract: "commerce", after: 5 * time.Second,
			fault: faults.RPCError("", 3001, "Rate limit exceeded", `{"retryAfter":5000}`),
			want:  []string{`"code":3001`, `"retryAfter":5`},
		},
		{
			name: "an own reason, and a context that is a text", contract: "commerce",
			fault: domain(`{"code":4001,"message":"x","retryable":false,"details":{"reason":"stock_changed","context":"in the warehouse"}}`),
			want:  []string{`"reason":"effect_unknown"`, `"context":"in the warehouse"`},
		},
		{
			name: "a context that is a list", contract: "commerce",
			fault: domain(`{"code":2001,"message":"x","retryable":false,"details":{"reason":"stock_changed","context":["a","b"]}}`),
			want:  []string{`"reason":"stock_changed"`, `"context":["a","b"]`},
		},
		{
			name: "an unlisted code in a range", contract: "commerce",
			fault: domain(`{"code":3500,"message":"x","retryable":false}`),
			want:  []string{`"code":3500`}, not: []string{"ADAPTER_ERROR"},
		},
		{
			name: "a time-out of a write", contract: "commerce",
			fault: domain(`{"code":3002,"message":"x","retryable":true}`),
			want:  []string{`"code":3002`, `"retryable":false`, `"reason":"effect_unknown"`},
		},
		{
			name: "a code alone", contract: "studies",
			fault: faults.ToolError("", "[rate_limited]"),
			want:  []string{`"text":"[rate_limited] `},
		},
		{
			name: "a code, and its sentence on the next line", contract: "studies",
			fault: faults.ToolError("", "[timeout]\nThe backend took too long."),
			want:  []string{`"text":"[timeout] The backend took too long.`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const tool = "act" // accepts any arguments
			srv := testkit.NewServer(t, testkit.WithTools(testkit.Tool{Name: tool, Definition: `{"name":"act","inputSchema":{"type":"object"}}`}))
			srv.Always(tool, tt.fault)
			entry := []string{"contract: " + tt.contract, "reads: " + tt.contract, "tools: {act: {read_only: " + strconv.FormatBool(tt.contract == "patterns" || tt.contract == "fieldmcp") + "}}"}
			client := gatewaytest.Start(t, srv.URL(), entry...).Client(t, testkit.Legacy)
			a, err := client.Call(t.Context(), tool, `{"format":"json"}`)
			if err != nil {
				t.Fatal(err)
			}
			got := gatewaytest.Shown(t, a)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("%s is not in %s", want, got)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(got, not) {
					t.Errorf("%s is in %s", not, got)
				}
			}
			if tt.after > 0 && gatewaytest.Record(t, a).RetryAfter != tt.after {
				t.Errorf("got wait %s, want %s", gatewaytest.Record(t, a).RetryAfter, tt.after)
			}
		})
	}
}
