package commerce_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/systems/commerce"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

// patience is the timeout of calls in tests where one gets no answer.
const patience = 500 * time.Millisecond

func newSystem(t *testing.T, o commerce.Options) *commerce.System {
	t.Helper()
	o.Logger = systemtest.Quiet()
	s, err := commerce.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func rules(t *testing.T) *contract.Contract {
	t.Helper()
	c := contract.MustBuiltin("commerce")
	return c
}

// A failure is the page's error object.
type failure struct {
	Code      int    `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
	Details   struct {
		Field         string `json:"field"`
		Reason        string `json:"reason"`
		Suggestion    string `json:"suggestion"`
		OriginalError string `json:"originalError"`
		Context       struct {
			Name       string  `json:"name"`
			Category   string  `json:"category"`
			RequestID  string  `json:"requestId"`
			RetryAfter float64 `json:"retryAfter"`
			Violations []struct {
				Field string `json:"field"`
			} `json:"violations"`
		} `json:"context"`
	} `json:"details"`
}

// newOrder returns the arguments of create-sales-order.
func newOrder(externalID, email, quantity string) string {
	return orderOf(externalID, email, `{"sku":"MUG-BLUE","quantity":`+quantity+`}`)
}

func orderOf(externalID, email, items string) string {
	return `{"order":{"externalId":"` + externalID + `","customer":{"email":"` + email + `"},` +
		`"shippingAddress":{"line1":"1 Mill Lane","city":"Salem","postalCode":"97301","country":"US"},` +
		`"lineItems":[` + items + `]}}`
}

// wires are the ways to a system: directly, and through gateways that do not trust it.
func wires() []systemtest.Wire {
	return append(systemtest.Wires(), systemtest.Fronted("contract: commerce", "trust_annotations: false")...)
}

// Every tool failure in the package's documentation, on every wire.
func TestFailures(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/domain-failure-in-result", "commerce/domain-failure-in-text", "commerce/domain-failure-is-error",
		"commerce/field-code", "commerce/field-message", "commerce/field-retryable", "commerce/field-details-suggestion",
		"commerce/field-details-context", "commerce/context-name", "commerce/context-request-id", "commerce/category-by-table",
		"commerce/code-2001", "commerce/code-2002", "commerce/code-2003", "commerce/code-3001", "commerce/code-3002", "commerce/code-4001",
		"commerce/code-4002", "commerce/adapter-retryable", "commerce/original-error", "commerce/order-not-found", "commerce/invalid-order-state",
		"commerce/specific-codes", "commerce/no-arguments", "commerce/no-personal-data", "commerce/field-details-reason")
	categories := map[int]string{
		2001: "Validation", 2002: "Validation", 2003: "Validation", 3001: "System", 3002: "System", 4001: "Adapter", 4002: "System",
	}

	kinds := map[int]recourse.Kind{ // kinds by the code, for clients that know the page; 4001 depends on the adapter
		2001: recourse.KindInvalidValue, 2002: recourse.KindMissingParam, 2003: recourse.KindInvalidValue,
		3001: recourse.KindRateLimited, 3002: recourse.KindTimeout, 4002: recourse.KindUnavailable,
	}

	const good = "ada@example.com"
	tests := []struct {
		name            string
		tool, arguments string
		code            int
		original        string
		retryable       bool
	}{
		{"a quantity", "create-sales-order", newOrder("a", good, "0"), 2001, "", false},
		{"no address", "create-sales-order", `{"order":{"externalId":"a","customer":{"email":"ada@example.com"},"lineItems":[{"sku":"MUG-RED","quantity":1}]}}`, 2002, "", false},
		{"no email address", "create-sales-order", newOrder("a", "ada", "1"), 2003, "", false},
		{"too much", "create-sales-order", newOrder("a", good, "10001"), 4001, "INSUFFICIENT_INVENTORY", false},
		{"no such sku", "create-sales-order", strings.Replace(newOrder("a", good, "1"), "MUG-BLUE", "X", 1), 4001, "SKU_NOT_FOUND", false},
		{"no such order", "cancel-order", `{"orderId":"SO-404"}`, 4001, "ORDER_NOT_FOUND", false},
		{"a shipped order", "cancel-order", `{"orderId":"SO-1002"}`, 4001, "INVALID_ORDER_STATE", false},
		{"a change of a shipped order", "update-order", `{"id":"SO-1002","updates":{"note":"x"}}`, 4001, "INVALID_ORDER_STATE", false},
		{"more than was ordered", "fulfill-order", `{"orderId":"SO-1001","lineItems":[{"sku":"MUG-RED","quantity":9}]}`, 4001, "QUANTITY_EXCEEDS_ORDER", false},
		{"not shipped yet", "create-return", `{"return":{"orderId":"SO-1001","lineItems":[{"sku":"MUG-RED","quantity":1}]}}`, 4001, "INVALID_ORDER_STATE", false},
		{"too many requests", "create-sales-order", newOrder("fault-busy", good, "1"), 3001, "", true},
		{"no answer", "get-orders", `{"ids":["fault-timeout"]}`, 3002, "", true},
		{"the adapter fails", "get-orders", `{"ids":["fault-adapter"]}`, 4001, "BACKEND_BUG", false},
		{"the adapter allows a retry", "create-sales-order", newOrder("fault-locked", good, "1"), 4001, "RECORD_LOCKED", true},
		{"down", "get-inventory", `{"skus":["fault-down"]}`, 4002, "", true},
		{"down, before a write", "cancel-order", `{"orderId":"SO-1001","reason":"fault-down"}`, 4002, "", true},
	}
	s := newSystem(t, commerce.Options{Timeout: patience, PerMinute: 10_000})
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, s)
			for _, test := range tests {
				if test.name == "down, before a write" && strings.HasPrefix(wire.Name, "gateway") {
					test.retryable = false // the gateway does not trust the server that nothing was written
				}
				r := client.Call(t, test.tool, test.arguments)
				var text, member failure
				r.Object(t, 0, &text)
				var result struct {
					Error failure `json:"error"`
				}
				if err := json.Unmarshal(r.Result, &result); err != nil {
					t.Fatal(err)
				}
				member = result.Error
				if diff := cmp.Diff(text, member); diff != "" || !r.Tool(t).IsError {
					t.Errorf("%s: isError, or text and error differ:\n%s", test.name, diff)
				}
				if text.Code != test.code || text.Details.OriginalError != test.original || text.Retryable != test.retryable {
					t.Errorf("%s: %+v", test.name, text)
				}
				if want, listed := kinds[text.Code]; listed {
					if e := r.Read(t, rules(t)); e == nil || e.Kind != want {
						t.Errorf("%s: read as %v, want %s", test.name, e, want)
					}
				}
				about := text.Details.Context
				if about.Category != categories[text.Code] || about.Name == "" || about.RequestID == "" || text.Message == "" ||
					text.Details.Suggestion == "" || text.Details.Reason == "" {
					t.Errorf("%s: a required member is missing: %+v", test.name, text)
				}
				if strings.Contains(string(r.Result), "Mill Lane") || strings.Contains(string(r.Result), good) {
					t.Errorf("%s: the answer has an argument: %s", test.name, r.Result)
				}
			}
		})
	}
}

// Arguments that do not match the schema never reach the adapter.
func TestArguments(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/protocol-failure", "commerce/protocol-failure-message", "commerce/protocol-failure-field",
		"commerce/protocol-failure-error", "commerce/rpc-invalid-params")
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, newSystem(t, commerce.Options{}))
			r := client.Call(t, "create-sales-order", `{"order":{"externalId":"web-9","customer":{"name":"Ada"},"lineItems":[]}}`)
			if r.Error == nil || r.Error.Code != -32602 || r.Error.Message != "Invalid params: order.customer.email is required; Provide order.customer.email." {
				t.Fatalf("%+v, %s", r.Error, r.Result)
			}
			var data struct {
				Field string  `json:"field"`
				Error failure `json:"error"`
			}
			if err := json.Unmarshal(r.Error.Data, &data); err != nil || data.Field != "order.customer.email" || data.Error.Code != 2002 ||
				data.Error.Details.Field != data.Field {
				t.Errorf("%v: %s", err, r.Error.Data)
			}
			r.Error.Data = nil // not every client shows data
			if e := r.Read(t, rules(t)); rules(t).Retryable(e, &contract.Call{Method: "tools/call", At: contract.AtArguments}) {
				t.Errorf("by the table, %+v is retryable", e)
			}
			if orders := list[commerce.Order](t, client, "get-orders", `{"externalIds":["web-9"]}`); len(orders) != 0 {
				t.Errorf("the order was created: %+v", orders)
			}
		})
	}
}

// The reason is the rule that the arguments violate, also if that concerns all of them.
func TestReasonIsTheRule(t *testing.T) {
	t.Parallel()
	for _, wire := range wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, newSystem(t, commerce.Options{}))
			for arguments, want := range map[string][2]string{
				`[]`:            {"arguments", "type"},
				`"SO-1001"`:     {"arguments", "type"},
				`{"orderId":5}`: {"orderId", "type"},
				`{}`:            {"orderId", "required"},
			} {
				r := client.Call(t, "cancel-order", arguments)
				if r.Error == nil {
					t.Errorf("%s: %s", arguments, r.Result)
					continue
				}
				var data struct {
					Error failure `json:"error"`
				}
				if err := json.Unmarshal(r.Error.Data, &data); err != nil {
					t.Fatalf("%s: %v: %s", arguments, err, r.Error.Data)
				}
				if got := [2]string{data.Error.Details.Field, data.Error.Details.Reason}; r.Error.Code != -32602 || got != want {
					t.Errorf("%s: %d, field and reason %q, want %q: %s", arguments, r.Error.Code, got, want, r.Error.Data)
				}
			}
		})
	}
}

// Of several mistakes that the tool finds, the message has the first, and the violations have all.
func TestAllViolations(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/first-violation", "commerce/all-violations", "commerce/field-details-field")
	client := systemtest.HTTP(t, newSystem(t, commerce.Options{}), testkit.Legacy)
	var f failure
	client.Call(t, "create-sales-order",
		`{"order":{"externalId":"a","customer":{"email":"ada"},"lineItems":[{"sku":"MUG-RED","quantity":0}]}}`).Object(t, 0, &f)
	var fields []string
	for _, v := range f.Details.Context.Violations {
		fields = append(fields, v.Field)
	}
	want := []string{"order.customer.email", "order.shippingAddress", "order.lineItems.0.quantity"}
	if diff := cmp.Diff(want, fields); diff != "" || f.Details.Field != want[0] || f.Code != 2003 {
		t.Errorf("%+v (-want +got):\n%s", f, diff)
	}
}

func list[T any](t *testing.T, client systemtest.Client, tool, arguments string) []T {
	t.Helper()
	var answer struct {
		Success bool `json:"success"`
		Items   []T  `json:"items"`
	}
	r := client.Call(t, tool, arguments)
	r.Object(t, 0, &answer)
	if !answer.Success {
		t.Fatalf("%s %s: %s", tool, arguments, r.Result)
	}
	return answer.Items
}

// Each tool does what its description says, by the adapter.
func TestTools(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/tools")

	var all struct {
		Tools []struct {
			Name        string `json:"name"`
			Annotations struct {
				ReadOnlyHint bool `json:"readOnlyHint"`
			} `json:"annotations"`
		} `json:"tools"`
	}
	client := systemtest.HTTP(t, newSystem(t, commerce.Options{}), testkit.Modern)
	if err := json.Unmarshal(client(t, "tools/list", `{}`).Result, &all); err != nil {
		t.Fatal(err)
	}
	var writes, reads []string
	for _, tool := range all.Tools {
		if tool.Annotations.ReadOnlyHint {
			reads = append(reads, tool.Name)
		} else {
			writes = append(writes, tool.Name)
		}
	}
	if diff := cmp.Diff([]string{"cancel-order", "create-return", "create-sales-order", "fulfill-order", "update-order"}, writes); diff != "" {
		t.Errorf("tools that write (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"get-customers", "get-fulfillments", "get-inventory", "get-orders", "get-product-variants", "get-products", "get-returns",
	}, reads); diff != "" {
		t.Errorf("tools that read (-want +got):\n%s", diff)
	}

	for _, call := range []struct{ tool, arguments, want string }{
		{"create-sales-order", newOrder("web-3", "ada@example.com", "2"), `"id":"SO-1003"`},
		{"update-order", `{"id":"SO-1003","updates":{"note":"ring twice"}}`, `"note":"ring twice"`},
		{"fulfill-order", `{"orderId":"SO-1003"}`, `"id":"F-2002"`},
		{"create-return", `{"return":{"orderId":"SO-1003","lineItems":[{"sku":"MUG-BLUE","quantity":1}]}}`, `"id":"R-3001"`},
		{"cancel-order", `{"orderId":"SO-1001","reason":"changed my mind"}`, `"status":"cancelled"`},
		{"get-orders", `{"statuses":["cancelled"]}`, `"id":"SO-1001"`},
		{"get-customers", `{"emails":["ben@example.com"]}`, `"id":"C-2"`},
		{"get-products", `{}`, `"count":2`},
		{"get-product-variants", `{"productIds":["P-1"]}`, `"count":2`},
		{"get-inventory", `{"locationIds":["bend"]}`, `"available":7`},
		{"get-fulfillments", `{"orderIds":["SO-1003"]}`, `"id":"F-2002"`},
		{"get-returns", `{"orderIds":["SO-1003"]}`, `"id":"R-3001"`},
	} {
		result := client.Call(t, call.tool, call.arguments).Tool(t)
		if result.IsError || !strings.Contains(result.Text(), `"success":true`) || !strings.Contains(result.Text(), call.want) {
			t.Errorf("%s %s: %s", call.tool, call.arguments, result.Text())
		}
	}
}

// shelf is a foreign adapter that supports a single tool.
type shelf struct{ commerce.Unsupported }

// A tool returns its adapter's answer, and reports the adapter's error with its own code; what the adapter does not
// support is 5001.
func TestAdapters(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/adapters", "commerce/code-5001", "commerce/success")

	memory := systemtest.HTTP(t, newSystem(t, commerce.Options{}), testkit.Legacy)
	if orders := list[commerce.Order](t, memory, "get-orders", `{"ids":["SO-1001"]}`); len(orders) != 1 || orders[0].Customer.Email != "ada@example.com" {
		t.Errorf("%+v", orders)
	}
	var f failure
	if memory.Call(t, "cancel-order", `{"orderId":"SO-404"}`).Object(t, 0, &f); f.Code != 4001 || f.Details.OriginalError != "ORDER_NOT_FOUND" {
		t.Errorf("%+v", f)
	}

	bare := systemtest.HTTP(t, newSystem(t, commerce.Options{Adapter: shelf{}}), testkit.Legacy)
	arguments := map[string]string{
		"create-sales-order": newOrder("a", "ada@example.com", "1"), "cancel-order": `{"orderId":"a"}`, "update-order": `{"id":"a","updates":{"note":"b"}}`,
		"fulfill-order": `{"orderId":"a"}`, "create-return": `{"return":{"orderId":"a","lineItems":[{"sku":"a","quantity":1}]}}`,
	}
	for _, tool := range bare.Tools(t) {
		if arguments[tool] == "" {
			arguments[tool] = `{}`
		}
		f = failure{}
		if bare.Call(t, tool, arguments[tool]).Object(t, 0, &f); f.Code != 5001 || f.Retryable || f.Message != "The adapter does not support "+tool+"." {
			t.Errorf("%s: %+v", tool, f)
		}
	}
}

// The shop's memory is limited, and a full shop says so.
func TestFullShop(t *testing.T) {
	t.Parallel()
	m := commerce.NewMemory()
	var refused *commerce.AdapterError
	for i := 0; refused == nil && i < 2000; i++ {
		_, err := m.CreateSalesOrder(t.Context(), commerce.NewOrder{ExternalID: strconv.Itoa(i)})
		refused, _ = errors.AsType[*commerce.AdapterError](err)
	}
	if refused == nil || refused.Code != "SHOP_FULL" {
		t.Errorf("%v", refused)
	}
	if o, err := m.CreateSalesOrder(t.Context(), commerce.NewOrder{ExternalID: "7"}); err != nil || o.ExternalID != "7" {
		t.Errorf("an existing order: %+v, %v", o, err)
	}
}

// A write without an answer in time names a verify call, whose answer shows whether the write was done.
func TestUnansweredWrite(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/effect-unknown", "commerce/effect-unknown-reason", "commerce/effect-unknown-verify")
	for _, test := range []struct{ tool, arguments, settle, want string }{
		{"create-sales-order", newOrder("fault-timeout-1", "ada@example.com", "1"), `get-orders(externalIds=['fault-timeout-1'])`, "SO-1003"},
		{"cancel-order", `{"orderId":"SO-1001","reason":"fault-timeout"}`, `get-orders(ids=['SO-1001'])`, "cancelled"},
		{"fulfill-order", `{"orderId":"SO-1001","trackingNumber":"fault-timeout"}`, `get-fulfillments(orderIds=['SO-1001'])`, "F-2002"},
		{"update-order", `{"id":"SO-1001","updates":{"note":"fault-timeout"}}`, `get-orders(ids=['SO-1001'])`, "fault-timeout"},
		{"create-return", `{"return":{"orderId":"SO-1002","lineItems":[{"sku":"TOWEL-1","quantity":1}],"reason":"fault-timeout"}}`, `get-returns(orderIds=['SO-1002'])`, "R-3001"},
	} {
		t.Run(test.tool, func(t *testing.T) {
			t.Parallel()
			wire := wires()[len(test.tool)%len(wires())] // any of them
			client := wire.Client(t, newSystem(t, commerce.Options{Timeout: patience}))
			r := client.Call(t, test.tool, test.arguments)
			var f failure
			r.Object(t, 0, &f)
			if f.Code != 3002 || f.Retryable || f.Details.Reason != "effect_unknown" || !strings.Contains(f.Details.Suggestion, test.settle) {
				t.Fatalf("%+v", f)
			}
			verify := r.Record(t).Verify
			arguments, err := json.Marshal(verify.Args)
			if err != nil {
				t.Fatal(err)
			}
			if text := client.Call(t, verify.Tool, string(arguments)).Tool(t).Text(); !strings.Contains(text, test.want) {
				t.Errorf("%s does not show the write: %s", verify, text)
			}
		})
	}
}

// The demo's scenes can be called.
func TestScenes(t *testing.T) {
	t.Parallel()
	s := newSystem(t, commerce.Options{Timeout: patience})
	client := systemtest.Stdio(t, s.MCPServer())
	for _, scene := range s.Scenes() {
		if r := client.Call(t, scene.Tool, scene.Arguments); r.Error == nil && r.Tool(t).Text() == "" {
			t.Errorf("%s: no text", scene.Title)
		}
	}
}

// The client of the Go SDK gets the text for the model.
func TestSDKClient(t *testing.T) {
	t.Parallel()
	session := systemtest.SDK(t, newSystem(t, commerce.Options{}))
	for _, call := range []struct {
		tool, arguments, want string
		isError               bool
	}{
		{"get-orders", `{}`, `"success":true`, false},
		{"cancel-order", `{"orderId":"SO-404"}`, `"originalError":"ORDER_NOT_FOUND"`, true},
	} {
		text, isError := systemtest.SDKText(t, session, call.tool, call.arguments)
		if !strings.Contains(text, call.want) || isError != call.isError {
			t.Errorf("%s %s: isError %t, %s", call.tool, call.arguments, isError, text)
		}
	}
}

// A mistake in the params themselves is reported without echoing them, since they contain the arguments, and without
// names of Go types.
func TestParamsAreNotEchoed(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/no-arguments", "commerce/rpc-invalid-params")

	const card = "4111 1111 1111 1111"
	const arguments = `"arguments":{"card":"` + card + `"}`
	for _, wire := range systemtest.Wires() {
		t.Run(wire.Name, func(t *testing.T) {
			t.Parallel()
			client := wire.Client(t, newSystem(t, commerce.Options{}))
			for _, bad := range []struct{ method, params, want string }{
				{"tools/call", `{"name":5,` + arguments + `}`, "name cannot be a number"},
				{"tools/call", `{"name":null,"requestState":{},` + arguments + `}`, "requestState cannot be an object"},
				{"tools/call", `{"name":"get-orders","inputResponses":"` + card + `"}`, ""},
				{"prompts/get", `{"name":["` + card + `"]}`, "name cannot be an array"},
				{"resources/read", `{"uri":{"card":"` + card + `"}}`, "uri cannot be an object"},
				{"completion/complete", `{"ref":"` + card + `"}`, ""},
			} {
				r := client(t, bad.method, bad.params)
				if r.Error == nil || r.Error.Code != -32602 || !strings.Contains(r.Error.Message, bad.want) {
					t.Errorf("%s %s: %s %+v", bad.method, bad.params, r.Result, r.Error)
					continue
				}
				if all := string(r.Body) + r.Error.Message + string(r.Error.Data); strings.Contains(all, card) || strings.Contains(all, "mcp.") {
					t.Errorf("%s %s: the answer echoes the params: %s", bad.method, bad.params, all)
				}
			}
		})
	}
}
