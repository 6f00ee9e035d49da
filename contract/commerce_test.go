package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// The members of details, and the records that override retryable.
func TestCommerceDetails(t *testing.T) {
	t.Parallel()
	late := recourse.Timeout("the warehouse", 0).WithEffect(recourse.EffectUnknown)
	cancel := contracttest.ToolCall()
	cancel.Tool, cancel.Arguments = "cancel-order", []byte(`{"orderId":"ord-1"}`)
	const verify = "It is not known whether the call took effect. Before calling again: get-orders(ids=['ord-1']), and look at the order's status."
	tests := map[string]struct {
		from *recourse.Error
		call contract.Call
		want string
	}{
		"several violations": {
			from: recourse.New(recourse.KindInvalidValue, "Two mistakes.").WithViolations(
				recourse.Violation{Param: "order.customer.email", Rule: "format", Got: []byte(`"secret"`), Want: "an address", Message: "must be an address"},
				recourse.Violation{Param: "order.lineItems.0.quantity", Rule: "minimum", Got: []byte(`0`), Want: "at least 1"},
			),
			want: `{"code":2003,"message":"Two mistakes.","retryable":false,"details":{"field":"order.customer.email","reason":"format",` +
				`"suggestion":"Correct the format of order.customer.email: it must be an address.","context":{"name":"INVALID_FORMAT","category":"Validation","violations":[` +
				`{"field":"order.customer.email","reason":"format","expected":"an address","message":"must be an address"},` +
				`{"field":"order.lineItems.0.quantity","reason":"minimum","expected":"at least 1"}]}}}`,
		},
		"a wait, a request id and a detail": {
			from: recourse.RateLimited(12*time.Second).WithRequestID("req-1").WithDetail("shop", "north"),
			want: `{"code":3001,"message":"Too many requests.","retryable":true,"details":{"reason":"rate_limited","suggestion":"Wait 12 s, then repeat the call.",` +
				`"context":{"name":"RATE_LIMIT_EXCEEDED","category":"System","retryAfter":12,"requestId":"req-1","shop":"north"}}}`,
		},
		"a write with unknown effect": {
			from: late, call: cancel,
			want: `{"code":3002,"message":"the warehouse did not answer in time.","retryable":false,"details":{"reason":"effect_unknown","suggestion":"` +
				strings.ReplaceAll(verify, `\\`, `\`) + `","context":{"name":"TIMEOUT","category":"System"}}}`,
		},
		"the same for a tool that reads": {
			from: late.WithEffect(recourse.EffectNone),
			want: `{"code":3002,"message":"the warehouse did not answer in time.","retryable":true,"details":{"reason":"timeout","suggestion":"Repeat the call, with growing waits.",` +
				`"context":{"name":"TIMEOUT","category":"System"}}}`,
		},
		"an adapter's own word": {
			from: recourse.ServerError("", 0).WithMessage("Payment declined").WithUpstream(recourse.Upstream{Code: "PAYMENT_DECLINED"}),
			want: `{"code":4001,"message":"Payment declined","retryable":false,"details":{"reason":"server_error","suggestion":"See what the adapter means by PAYMENT_DECLINED.",` +
				`"originalError":"PAYMENT_DECLINED","context":{"name":"ADAPTER_ERROR","category":"Adapter"}}}`,
		},
		"an adapter that allows a retry": {
			from: recourse.ServerError("", 0).WithMessage("Busy").WithRetry(recourse.RetrySameCall),
			want: `{"code":4001,"message":"Busy","retryable":true,"details":{"reason":"server_error","suggestion":"Repeat the call, with growing waits.",` +
				`"context":{"name":"ADAPTER_ERROR","category":"Adapter"}}}`,
		},
		"an adapter that allows a retry despite an unknown effect": {
			from: recourse.ServerError("", 0).WithMessage("Busy").WithRetry(recourse.RetrySameCall).WithEffect(recourse.EffectUnknown), call: cancel,
			want: `{"code":4001,"message":"Busy","retryable":false,"details":{"reason":"effect_unknown","suggestion":"` +
				strings.ReplaceAll(verify, `\\`, `\`) + `","context":{"name":"ADAPTER_ERROR","category":"Adapter"}}}`,
		},
		"an adapter that allows no retry": {
			from: recourse.ServerError("", 0).WithMessage("Busy").WithEffect(recourse.EffectUnknown), call: cancel,
			want: `{"code":4001,"message":"Busy","retryable":false,"details":{"reason":"effect_unknown","suggestion":"` +
				strings.ReplaceAll(verify, `\\`, `\`) + `","context":{"name":"ADAPTER_ERROR","category":"Adapter"}}}`,
		},
		"an unknown order": {
			from: recourse.NotFound("order", "ord-9"),
			want: `{"code":4001,"message":"There is no order \"ord-9\".","retryable":false,"details":{"reason":"not_found",` +
				`"suggestion":"Look up the present state, then call again with what is there.","originalError":"ORDER_NOT_FOUND","context":{"name":"ADAPTER_ERROR","category":"Adapter"}}}`,
		},
		"an order in another state": {
			from: recourse.InvalidState("It was shipped.").WithResource("order", "ord-9"),
			want: `{"code":4001,"message":"It was shipped.","retryable":false,"details":{"reason":"invalid_state",` +
				`"suggestion":"Look up the present state, then call again with what is there.","originalError":"INVALID_ORDER_STATE","context":{"name":"ADAPTER_ERROR","category":"Adapter"}}}`,
		},
	}
	c := contract.MustBuiltin("commerce")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := tt.call
			if call.Method == "" {
				call = contracttest.ToolCall()
			}
			a := c.Write(tt.from, &call)
			var result struct {
				Content []struct{ Text string }
				Error   rawText
				IsError bool
			}
			contracttest.Unmarshal(t, a.Result, &result)
			if diff := cmp.Diff(tt.want, result.Content[0].Text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if string(result.Error) != tt.want || !result.IsError {
				t.Errorf("error %s, isError %t", result.Error, result.IsError)
			}
			if strings.Contains(string(a.Result), "secret") {
				t.Error("the answer has an argument's value")
			}
			// Without _meta, the kind is still read, and writing gives the same again.
			e := contracttest.ReadBack(t, c, contracttest.WithoutMeta(t, a))
			if e.Kind != tt.from.Kind {
				t.Errorf("read as %s", e.Kind)
			}
			if again := contracttest.WithoutMeta(t, c.Write(e, &call)); string(again.Result) != string(contracttest.WithoutMeta(t, a).Result) {
				t.Errorf("written again:\n%s", again.Result)
			}
		})
	}
}

// rawText is a JSON value as written.
type rawText string

func (r *rawText) UnmarshalJSON(raw []byte) error {
	*r = rawText(raw)
	return nil
}

// Invalid arguments are refused with the protocol's own error, with the dotted path.
func TestCommerceInvalidParams(t *testing.T) {
	t.Parallel()
	call := contracttest.ToolCall()
	call.At = contract.AtArguments
	a := contract.MustBuiltin("commerce").Write(recourse.Missing("order.customer.email"), &call)
	const want = `{"code":-32602,"message":"Invalid params: order.customer.email is required; Provide order.customer.email.","data":{"field":"order.customer.email","error":` +
		`{"code":2002,"message":"Parameter order.customer.email is required.","retryable":false,"details":{"field":"order.customer.email","reason":"required",` +
		`"suggestion":"Provide order.customer.email.","context":{"name":"MISSING_REQUIRED_FIELD","category":"Validation","violations":[` +
		`{"field":"order.customer.email","reason":"required","message":"order.customer.email is required"}]}}}}}`
	if diff := cmp.Diff(want, string(contracttest.RPCText(a))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Arguments of other methods, and unknown tools, get the protocol's own error.
	if a := contract.MustBuiltin("commerce").Write(recourse.UnknownTool("x"), &call); a.RPCCode != -32602 || !strings.HasPrefix(a.Message, `There is no tool named "x". `) {
		t.Errorf("unknown tool: %d %s", a.RPCCode, a.Message)
	}
}

// The failures of the public reference server are understood if the server is known to follow the contract.
func TestCommerceReads(t *testing.T) {
	t.Parallel()
	type read struct {
		Kind               recourse.Kind
		Upstream, Resource string
		Retry              recourse.Retry
		Message, Param     string
	}
	order := func(message string) read {
		return read{recourse.KindNotFound, "ORDER_NOT_FOUND", "ord-1", recourse.RetryAfterFix, message, ""}
	}
	tests := map[string]struct {
		result, rpc string
		want        read
		known       bool // it is a failure of an unknown server, too
		after       time.Duration
	}{
		"a failure inside a success": {
			result: string(textResult(t, "{\n  \"success\": false,\n  \"error\": {\n    \"code\": \"ORDER_NOT_FOUND\",\n    \"details\": {\n      \"orderId\": \"ord-1\"\n    },\n    \"name\": \"AdapterError\"\n  }\n}", false)),
			want:   order("There is no order \"ord-1\"."),
		},
		"with a message and the adapter's word on retrying": {
			result: string(textResult(t, `{"success":false,"error":{"code":"BUSY","message":"Too busy","details":{"retryable":true}}}`, false)),
			want:   read{recourse.KindServerError, "BUSY", "", recourse.RetrySameCall, "Too busy", ""},
		},
		"with a text":    {result: string(textResult(t, `{"success":false,"error":"It broke"}`, false)), want: read{Kind: recourse.KindServerError, Retry: recourse.RetrySameCall, Message: "It broke"}},
		"with no reason": {result: string(textResult(t, `{"success":false,"reason":"declined"}`, false)), want: read{Kind: recourse.KindServerError, Retry: recourse.RetrySameCall}},
		"a bare text":    {result: string(textResult(t, "Order not found: ord-1", true)), want: order("Order not found: ord-1"), known: true},
		"behind a prefix": {
			result: string(textResult(t, "**Error:** Order not found: ord-1", true)), want: order("Order not found: ord-1"), known: true,
		},
		"a bare word": {
			result: string(textResult(t, "ORDER_NOT_FOUND", true)), known: true,
			want: read{recourse.KindNotFound, "ORDER_NOT_FOUND", "", recourse.RetryAfterFix, "ORDER_NOT_FOUND", ""},
		},
		"a bare text about a state": {
			result: string(textResult(t, "Cannot cancel order ord-1 in status shipped", true)), known: true,
			want: read{recourse.KindInvalidState, "INVALID_ORDER_STATE", "ord-1", recourse.RetryReRead, "Cannot cancel order ord-1 in status shipped", ""},
		},
		"a bare text about a timeout": {
			result: string(textResult(t, "Operation timed out after 5000ms", true)), known: true,
			want: read{Kind: recourse.KindTimeout, Retry: recourse.RetrySameCall, Message: "Operation timed out after 5000ms"},
		},
		"a bare text about a timeout, without a duration": {
			result: string(textResult(t, "Operation timed out", true)), known: true,
			want: read{Kind: recourse.KindTimeout, Retry: recourse.RetrySameCall, Message: "Operation timed out"},
		},
		"a bare text about a limit, with a wait": {
			result: string(textResult(t, "Rate limit exceeded, retry after 5000ms", true)), known: true,
			want: read{Kind: recourse.KindRateLimited, Retry: recourse.RetrySameCall, Message: "Rate limit exceeded, retry after 5000ms"}, after: 5 * time.Second,
		},
		"a bare text about a limit": {
			result: string(textResult(t, "Rate limit exceeded", true)), known: true,
			want: read{Kind: recourse.KindRateLimited, Retry: recourse.RetrySameCall, Message: "Rate limit exceeded"},
		},
		"a bare text about a backend": {
			result: string(textResult(t, "Backend unavailable: warehouse", true)), known: true,
			want: read{Kind: recourse.KindUnavailable, Retry: recourse.RetrySameCall, Message: "Backend unavailable: warehouse"},
		},
		"a bare text about a missing argument": {
			result: string(textResult(t, "Feature not implemented: returns", true)), known: true,
			want: read{Kind: recourse.KindNotImplemented, Retry: recourse.RetryNever, Message: "Feature not implemented: returns"},
		},
		"a JSON-RPC error in the contract's range": {
			rpc: `{"code":2001,"message":"MCP error 2001: Validation failed for field order: must be object","data":{"retryable":false,"isProtocolError":false,"field":"order","reason":"must be object","value":{"order":7}}}`,
			want: read{
				Kind: recourse.KindInvalidValue, Retry: recourse.RetryAfterFix, Param: "order",
				Message: "Validation failed for field order: must be object",
			},
			known: true,
		},
		"with the adapter's word in data": {
			rpc:  `{"code":4001,"message":"No such order","data":{"retryable":false,"originalError":"ORDER_NOT_FOUND","details":{"orderId":"ord-1"}}}`,
			want: order("No such order"), known: true,
		},
		"without data": {
			rpc: `{"code":2003,"message":"Bad date"}`, want: read{Kind: recourse.KindInvalidValue, Retry: recourse.RetryAfterFix, Message: "Bad date"}, known: true,
		},
		"a code of the protocol": {
			rpc: `{"code":-32603,"message":"Adapter Error: down","data":{"code":"DOWN","retryable":true}}`, known: true,
			want: read{Kind: recourse.KindInternal, Upstream: "DOWN", Retry: recourse.RetrySameCall, Message: "Adapter Error: down"},
		},
	}
	c := contract.MustBuiltin("commerce")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := contract.Reader{Contracts: contract.Builtin().All(), Weak: c}
			var reading contract.Reading
			if tt.rpc != "" {
				reading = r.RPC([]byte(tt.rpc))
			} else {
				var ok bool
				if reading, ok = r.Result([]byte(tt.result)); !ok {
					t.Fatal("not read as a failure")
				}
				if _, ok := reader().Result([]byte(tt.result)); ok != tt.known {
					t.Errorf("from an unknown server: read as a failure: %t", ok)
				}
			}
			e := reading.Error()
			got := read{e.Kind, e.Upstream.Code, e.Resource.ID, e.RetryAdvice(), e.Message, ""}
			if len(e.Violations) > 0 {
				got.Param = e.Violations[0].Param
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || e.RetryAfter != tt.after {
				t.Errorf("by %s, after %s (-want +got):\n%s", reading.Sign, e.RetryAfter, diff)
			}
		})
	}
}

// An unlisted number has the meaning of its range, and a listed one that of the table, whatever its range.
func TestCommerceNumbers(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("commerce")
	for number, kind := range map[string]recourse.Kind{
		"1001": recourse.KindClientError, "2999": recourse.KindInvalidValue, "3003": recourse.KindInvalidState,
		"4999": recourse.KindServerError, "5999": recourse.KindServerError, "9999": recourse.KindUnknown,
		"3001": recourse.KindRateLimited, "3002": recourse.KindTimeout, "4001": recourse.KindServerError,
	} {
		r := contract.Reader{Contracts: []*contract.Contract{c}, Weak: c}
		reading, ok := r.Result([]byte(`{"error":{"code":` + number + `,"message":"x"}}`))
		if !ok || reading.Error().Kind != kind || reading.Error().Code != number {
			t.Errorf("%s: %v, code %s, want %s", number, reading.Error(), reading.Error().Code, kind)
		}
	}
}

// The source document's texts belong to this contract: it reads the names in them, and no other contract does.
func TestCommerceTexts(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("commerce")
	for _, text := range []string{
		"Operation timed out after 5000ms", "Rate limit exceeded, retry after 5000ms", "Backend unavailable: warehouse",
		"Feature not implemented: returns",
	} {
		r := contract.Reader{Contracts: contract.Builtin().All(), Weak: c}
		reading, ok := r.Result(textResult(t, text, true))
		if !ok || reading.Contract != c {
			t.Errorf("%q is read as a failure: %t, by %s of %v", text, ok, reading.Sign, reading.Contract)
		}
	}
}

// A server may write the whole result as its text: it is read as this contract's, and both are edited alike.
func TestCommerceWrappedInText(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("commerce")
	const own = `{"code":3500,"message":"Locked","retryable":false,"details":{"reason":"stock","originalError":"STOCK_LOCKED","context":{"shelf":[7]}}}`
	const late = `{"code":3002,"message":"Late","retryable":true,"details":{"extra":1}}`
	for name, tt := range map[string]struct{ object, code string }{"a code of its own": {own, "3500"}, "in doubt": {late, "3002"}} {
		for place, member := range map[string]string{"in the text": "", "in both": `,"error":` + tt.object} {
			t.Run(name+" "+place, func(t *testing.T) {
				t.Parallel()
				result := strings.TrimSuffix(string(textResult(t, `{"error":`+tt.object+`,"trace":"t-1"}`, true)), "}") + member + "}"
				reader := contract.Reader{Contracts: []*contract.Contract{c}, Own: c}
				reading, ok := reader.Result([]byte(result))
				if !ok || reading.Contract != c || reading.Error().Code != tt.code {
					t.Fatalf("read as %s", reading.Sign)
				}
				call := contracttest.ToolCall()
				call.Relay.Original, call.Relay.OriginalContract = []byte(result), c
				e := reading.Error()
				if tt.code == "3002" {
					e = e.WithEffect(recourse.EffectUnknown)
				}
				a := c.Write(e, &call)
				var got struct {
					Content []struct {
						Text string `json:"text"`
					} `json:"content"`
					Error json.RawMessage `json:"error"`
				}
				var text struct {
					Error json.RawMessage `json:"error"`
					Trace string          `json:"trace"`
				}
				if err := json.Unmarshal(a.Result, &got); err != nil || len(got.Content) != 1 {
					t.Fatalf("%v: %s", err, a.Result)
				}
				if err := json.Unmarshal([]byte(got.Content[0].Text), &text); err != nil || text.Trace != "t-1" {
					t.Fatalf("%v: %s", err, got.Content[0].Text)
				}
				if diff := cmp.Diff(string(got.Error), string(text.Error)); diff != "" {
					t.Errorf("the text (+) and the member (-) differ:\n%s", diff)
				}
				for _, want := range []string{`"retryable":false`, `"code":` + tt.code} {
					if !strings.Contains(string(got.Error), want) {
						t.Errorf("%s: no %s", got.Error, want)
					}
				}
			})
		}
	}
}

// A wait that stands beside the members of the object is a wait as well, and what is written afterwards says so in its place.
func TestCommerceWaitBesideItsMembers(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("commerce")
	for members, want := range map[string]time.Duration{
		`"retryAfter":9`:      9 * time.Second,
		`"retryAfter":9000`:   9 * time.Second,
		`"retryAfterMs":9000`: 9 * time.Second,
		`"retry_after":9`:     9 * time.Second,
		`"details":{"retryAfter":9000,"reason":"limit"}`: 9 * time.Second,
		`"details":{"context":{"retryAfterMs":9000}}`:    9 * time.Second,
		`"details":{"context":{"retryAfter":9}}`:         9 * time.Second,
		`"details":{"context":{"retryAfter":5400}}`:      90 * time.Minute, // the contract's own place: seconds
		`"retryAfter":"soon"`:                            0,
		`"retryAfter":-1`:                                0,
	} {
		object := `{"code":3001,"message":"Too many requests.","retryable":true,` + members + `}`
		original := []byte(`{"error":` + object + `,"content":[{"type":"text","text":` + quote(t, object) + `}],"isError":true}`)
		reading, ok := contract.NewReader(c).Result(original)
		if !ok || reading.Error().RetryAfter != want {
			t.Errorf("%s: %s, want %s", members, reading.Error().RetryAfter, want)
			continue
		}
		call := contracttest.ToolCall()
		call.Relay = contract.Relay{Original: original, OriginalContract: c}
		written := string(c.Write(reading.Error(), &call).Result)
		if says := fmt.Sprintf(`"retryAfter":%d`, int(want.Seconds())); want > 0 && !strings.Contains(written, says) || !strings.Contains(written, members[:12]) {
			t.Errorf("%s: written as %s", members, written)
		}
	}
}

// The adapter's own boolean decides about a failure of the adapter, wherever it stands.
func TestCommerceAdapterSaysRetryable(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("commerce")
	for _, said := range []string{
		`{"success":false,"error":{"code":"STOCK_LOCKED","message":"Later.","retryable":true}}`,
		`{"success":false,"error":{"code":"STOCK_LOCKED","message":"Later.","details":{"retryable":true}}}`,
	} {
		reading, ok := contract.NewReader(c).Result(textResult(t, said, false))
		if !ok {
			t.Errorf("%s is not read as a failure", said)
			continue
		}
		call := contracttest.ToolCall()
		call.Tool = "get-orders"
		written := string(c.Write(reading.Error(), &call).Result)
		if !strings.Contains(written, `"retryable":true`) || strings.Contains(written, `"retryable":false`) || strings.Count(written, "retryable") != 2 {
			t.Errorf("%s is written as %s", said, written)
		}
	}
}

// Servers with this contract tell a wait in milliseconds, also beside a code of JSON-RPC and beside a sentence.
func TestCommerceWaitsInMilliseconds(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("commerce")
	reader := contract.Reader{Contracts: contract.Builtin().All(), Own: c}
	for raw, want := range map[string]time.Duration{
		`{"code":-32000,"message":"Busy","data":{"retryAfter":4000}}`:                          4 * time.Second,
		`{"code":-32000,"message":"Rate limit exceeded","data":{"retryAfter":250}}`:            250 * time.Millisecond,
		`{"code":-32000,"message":"Rate limit exceeded","data":{"error":{"retryAfter":2500}}}`: 2500 * time.Millisecond,
	} {
		e := reader.RPC([]byte(raw)).Error()
		if e.RetryAfter != want || !strings.Contains(e.Error()+string(e.Details["data"]), "retryAfter") {
			t.Errorf("%s: %s, want %s; details %s", raw, e.RetryAfter, want, e.Details)
		}
	}
	for body, want := range map[string]time.Duration{
		`{"message":"Rate limit","retryAfter":9000}`: 9 * time.Second, // nobody waits for hours
		`{"message":"Rate limit","retryAfter":30}`:   30 * time.Second,
	} {
		header := http.Header{"Content-Type": {"application/json"}}
		reader := contract.Reader{Upstream: c} // in front of an HTTP API
		if e := reader.HTTP(http.StatusTooManyRequests, header, []byte(body)).Error(); e.RetryAfter != want {
			t.Errorf("%s: %s, want %s", body, e.RetryAfter, want)
		}
	}
}
