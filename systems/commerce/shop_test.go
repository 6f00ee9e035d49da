package commerce_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/systems/commerce"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

const email = "ada@example.com"

// available returns how many of a sku are in stock.
func available(t *testing.T, client systemtest.Client, sku string) int {
	t.Helper()
	found := list[commerce.Stock](t, client, "get-inventory", `{"skus":["`+sku+`"]}`)
	if len(found) != 1 {
		t.Fatalf("%s: %+v", sku, found)
	}
	return found[0].Available
}

// refusal returns the failure of a call; its Code is 0 after a success.
func refusal(t *testing.T, client systemtest.Client, tool, arguments string) failure {
	t.Helper()
	var f failure
	client.Call(t, tool, arguments).Object(t, 0, &f)
	return f
}

// An order takes goods out of stock, and cancelling puts them back: nothing can be ordered twice, in one line or in
// several.
func TestStock(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/code-4001", "commerce/original-error")

	client := systemtest.HTTP(t, newSystem(t, commerce.Options{}), testkit.Legacy)
	towels := func(id, quantities string) string {
		var items []string
		for q := range strings.SplitSeq(quantities, "+") {
			items = append(items, `{"sku":"TOWEL-1","quantity":`+q+`}`)
		}
		return orderOf(id, email, strings.Join(items, ","))
	}
	for _, step := range []struct {
		tool, arguments, original string
		left                      int
	}{
		{"create-sales-order", towels("a", "4+4"), "INSUFFICIENT_INVENTORY", 7},
		{"create-sales-order", towels("a", "3+2"), "", 2},
		{"create-sales-order", towels("a", "3+2"), "", 2}, // the same order
		{"create-sales-order", towels("a", "2"), "EXTERNAL_ID_REUSED", 2},
		{"create-sales-order", towels("b", "3"), "INSUFFICIENT_INVENTORY", 2},
		{"create-sales-order", towels("b", "2"), "", 0},
		{"create-sales-order", towels("c", "1"), "INSUFFICIENT_INVENTORY", 0},
		{"cancel-order", `{"orderId":"SO-1003"}`, "", 5},
		{"cancel-order", `{"orderId":"SO-1003"}`, "INVALID_ORDER_STATE", 5},
		{"create-sales-order", towels("c", "5"), "", 0},
	} {
		f := refusal(t, client, step.tool, step.arguments)
		if f.Details.OriginalError != step.original || (f.Code == 4001) != (step.original != "") || f.Retryable {
			t.Errorf("%s %s: %+v", step.tool, step.arguments, f)
		}
		if left := available(t, client, "TOWEL-1"); left != step.left {
			t.Errorf("%s %s: got %d left, want %d", step.tool, step.arguments, left, step.left)
		}
	}
	// The same request still finds the order after a change.
	client.Call(t, "update-order", `{"id":"SO-1004","updates":{"note":"ring twice"}}`)
	if f := refusal(t, client, "create-sales-order", towels("b", "2")); f.Code != 0 {
		t.Errorf("%+v", f)
	}
}

// An order is shipped in parts, but never more than was ordered; and no more can be returned than was shipped.
func TestPartialFulfillment(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/invalid-order-state")

	client := systemtest.HTTP(t, newSystem(t, commerce.Options{}), testkit.Modern)
	if f := refusal(t, client, "create-sales-order", orderOf("a", email, `{"sku":"MUG-RED","quantity":3},{"sku":"TOWEL-1","quantity":2}`)); f.Code != 0 {
		t.Fatalf("%+v", f)
	}
	items := func(sku string, quantity int) string { return fmt.Sprintf(`[{"sku":%q,"quantity":%d}]`, sku, quantity) }
	ship := func(lines string) string { return `{"orderId":"SO-1003","lineItems":` + lines + `}` }
	back := func(lines string) string { return `{"return":{"orderId":"SO-1003","lineItems":` + lines + `}}` }
	for _, step := range []struct{ tool, arguments, original, status string }{
		{"create-return", back(items("MUG-RED", 1)), "INVALID_ORDER_STATE", "open"},
		{"fulfill-order", ship(items("MUG-RED", 4)), "QUANTITY_EXCEEDS_ORDER", "open"},
		{"fulfill-order", ship(items("MUG-BLUE", 1)), "QUANTITY_EXCEEDS_ORDER", "open"},
		{"fulfill-order", ship(items("MUG-RED", 2)), "", "partially_fulfilled"},
		{"cancel-order", `{"orderId":"SO-1003"}`, "INVALID_ORDER_STATE", "partially_fulfilled"},
		{"update-order", `{"id":"SO-1003","updates":{"note":"x"}}`, "INVALID_ORDER_STATE", "partially_fulfilled"},
		{"fulfill-order", ship(items("MUG-RED", 2)), "QUANTITY_EXCEEDS_ORDER", "partially_fulfilled"},
		{"create-return", back(items("MUG-RED", 3)), "QUANTITY_EXCEEDS_ORDER", "partially_fulfilled"},
		{"create-return", back(items("MUG-RED", 2)), "", "partially_fulfilled"},
		{"create-return", back(items("MUG-RED", 1)), "QUANTITY_EXCEEDS_ORDER", "partially_fulfilled"},
		{"fulfill-order", `{"orderId":"SO-1003"}`, "", "fulfilled"},
		{"fulfill-order", `{"orderId":"SO-1003"}`, "INVALID_ORDER_STATE", "fulfilled"},
		{"create-return", back(items("MUG-RED", 1)), "", "fulfilled"},
	} {
		f := refusal(t, client, step.tool, step.arguments)
		if f.Details.OriginalError != step.original || (f.Code == 4001) != (step.original != "") {
			t.Errorf("%s %s: %+v", step.tool, step.arguments, f)
		}
		if orders := list[commerce.Order](t, client, "get-orders", `{"ids":["SO-1003"]}`); orders[0].Status != step.status {
			t.Errorf("%s %s: the order is %s, want %s", step.tool, step.arguments, orders[0].Status, step.status)
		}
	}
	var shipped []commerce.LineItem
	for _, f := range list[commerce.Fulfillment](t, client, "get-fulfillments", `{"orderIds":["SO-1003"]}`) {
		shipped = append(shipped, f.LineItems...)
	}
	want := []commerce.LineItem{{SKU: "MUG-RED", Quantity: 2}, {SKU: "MUG-RED", Quantity: 1}, {SKU: "TOWEL-1", Quantity: 2}}
	if diff := cmp.Diff(want, shipped); diff != "" {
		t.Errorf("shipped (-want +got):\n%s", diff)
	}
}

// Results come in pages, and can be limited to a period.
func TestPagesAndPeriods(t *testing.T) {
	t.Parallel()
	client := systemtest.HTTP(t, newSystem(t, commerce.Options{}), testkit.Legacy)
	for i := range 10 {
		if f := refusal(t, client, "create-sales-order", newOrder(fmt.Sprintf("p-%d", i), email, "1")); f.Code != 0 {
			t.Fatalf("%+v", f)
		}
	}
	for _, test := range []struct {
		tool, arguments string
		first           string
		count, total    int
		more            bool
	}{
		{"get-orders", `{}`, "SO-1001", 10, 12, true},
		{"get-orders", `{"pageSize":null,"skip":0}`, "SO-1001", 10, 12, true},
		{"get-orders", `{"skip":10}`, "SO-1011", 2, 12, false},
		{"get-orders", `{"pageSize":5,"skip":5}`, "SO-1006", 5, 12, true},
		{"get-orders", `{"pageSize":100}`, "SO-1001", 12, 12, false},
		{"get-orders", `{"skip":1000000}`, "", 0, 12, false},
		{"get-orders", `{"createdAtMax":"2026-01-15T09:30:00Z"}`, "SO-1001", 2, 2, false},
		{"get-orders", `{"createdAtMax":"2026-01-15T09:29:59Z"}`, "", 0, 0, false},
		{"get-orders", `{"createdAtMin":"2026-01-15T10:30:01+01:00","pageSize":1}`, "SO-1003", 1, 10, true},
		{"get-orders", `{"updatedAtMin":"2026-02-01T00:00:00Z","updatedAtMax":"2026-02-28T00:00:00Z"}`, "SO-1002", 1, 1, false},
		{"get-fulfillments", `{"createdAtMin":"2026-02-03T16:00:00Z"}`, "F-2001", 1, 1, false},
		{"get-fulfillments", `{"createdAtMin":"2026-02-03T16:00:01Z"}`, "", 0, 0, false},
		{"get-returns", `{"createdAtMin":"2026-02-03T16:00:01Z"}`, "", 0, 0, false},
		{"get-product-variants", `{"pageSize":2}`, "", 2, 3, true},
		{"get-products", `{"skip":1}`, "P-2", 1, 2, false},
		{"get-customers", `{"skip":1}`, "C-2", 1, 2, false},
		{"get-inventory", `{"pageSize":1}`, "", 1, 3, true},
	} {
		var page struct {
			Count, Total int
			HasMore      bool
			Items        []struct{ ID string }
		}
		client.Call(t, test.tool, test.arguments).Object(t, 0, &page)
		first := ""
		if len(page.Items) > 0 {
			first = page.Items[0].ID
		}
		if first != test.first || page.Count != test.count || len(page.Items) != test.count || page.Total != test.total || page.HasMore != test.more {
			t.Errorf("%s %s: %+v", test.tool, test.arguments, page)
		}
	}
}

// Values out of range are refused before the adapter is called, with the rule and the place of the first mistake.
func TestBounds(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/code-2001", "commerce/code-2002", "commerce/code-2003", "commerce/format-rules", "commerce/tool-validation",
		"commerce/reason-rule", "commerce/field-details-field")

	long := strings.Repeat("ä", 1001)
	withAddress := func(country string) string { return strings.Replace(newOrder("a", email, "1"), `"US"`, country, 1) }
	many := strings.Repeat(`{"sku":"MUG-RED","quantity":1},`, 100) + `{"sku":"MUG-RED","quantity":1}`
	client := systemtest.HTTP(t, newSystem(t, commerce.Options{Adapter: shelf{}}), testkit.Legacy) // the adapter would answer 5001
	for _, test := range []struct {
		tool, arguments string
		code            int
		field, reason   string
	}{
		{"create-sales-order", newOrder("", email, "1"), 2001, "order.externalId", "minLength"},
		{"create-sales-order", newOrder(strings.Repeat("ä", 101), email, "1"), 2001, "order.externalId", "maxLength"},
		{"create-sales-order", newOrder(strings.Repeat("ä", 100), email, "1"), 5001, "", "not_implemented"},
		{"create-sales-order", newOrder("a", "ada", "1"), 2003, "order.customer.email", "format"},
		{"create-sales-order", newOrder("a", "Ada <ada@example.com>", "1"), 2003, "order.customer.email", "format"},
		{"create-sales-order", withAddress(`"us"`), 2003, "order.shippingAddress.country", "pattern"},
		{"create-sales-order", withAddress(`"USA"`), 2003, "order.shippingAddress.country", "pattern"},
		{"create-sales-order", newOrder("a", email, "0"), 2001, "order.lineItems.0.quantity", "minimum"},
		{"create-sales-order", newOrder("a", email, "-1"), 2001, "order.lineItems.0.quantity", "minimum"},
		{"create-sales-order", newOrder("a", email, "1000001"), 2001, "order.lineItems.0.quantity", "maximum"},
		{"create-sales-order", newOrder("a", email, "1000000"), 5001, "", "not_implemented"},
		{"create-sales-order", orderOf("a", email, ``), 2001, "order.lineItems", "minItems"},
		{"create-sales-order", orderOf("a", email, many), 2001, "order.lineItems", "maxItems"},
		{"create-sales-order", strings.Replace(newOrder("a", email, "1"), `"lineItems"`, `"note":"`+long+`","lineItems"`, 1), 2001, "order.note", "maxLength"},
		{"create-sales-order", `{"order":{"externalId":"a","customer":{"email":"ada@example.com"},"lineItems":[{"sku":"a","quantity":1}]}}`, 2002, "order.shippingAddress", "required"},
		{"cancel-order", `{"orderId":"a","reason":"` + long + `"}`, 2001, "reason", "maxLength"},
		{"update-order", `{"id":"a","updates":{}}`, 2001, "updates", "minProperties"},
		{"update-order", `{"id":"a","updates":{"note":"` + long + `"}}`, 2001, "updates.note", "maxLength"},
		{"update-order", `{"id":"a","updates":{"shippingAddress":{"line1":"1","city":"1","postalCode":"1","country":"x"}}}`, 2003, "updates.shippingAddress.country", "pattern"},
		{"fulfill-order", `{"orderId":"a","lineItems":[]}`, 2001, "lineItems", "minItems"},
		{"fulfill-order", `{"orderId":"a","lineItems":[{"sku":"a","quantity":0}]}`, 2001, "lineItems.0.quantity", "minimum"},
		{"fulfill-order", `{"orderId":"a","trackingNumber":"` + long + `"}`, 2001, "trackingNumber", "maxLength"},
		{"create-return", `{"return":{"orderId":"a","lineItems":[]}}`, 2001, "return.lineItems", "minItems"},
		{"create-return", `{"return":{"orderId":"a","lineItems":[{"sku":"a","quantity":1},{"sku":"b","quantity":-2}]}}`, 2001, "return.lineItems.1.quantity", "minimum"},
		{"create-return", `{"return":{"orderId":"a","lineItems":[{"sku":"a","quantity":1}],"reason":"` + long + `"}}`, 2001, "return.reason", "maxLength"},
		{"get-orders", `{"pageSize":0}`, 2001, "pageSize", "minimum"},
		{"get-customers", `{"pageSize":101}`, 2001, "pageSize", "maximum"},
		{"get-products", `{"skip":-1}`, 2001, "skip", "minimum"},
		{"get-inventory", `{"skip":1000001}`, 2001, "skip", "maximum"},
		{"get-orders", `{"createdAtMin":"2026-02-30T00:00:00Z"}`, 2003, "createdAtMin", "format"},
		{"get-fulfillments", `{"createdAtMax":"yesterday"}`, 2003, "createdAtMax", "format"},
		{"get-returns", `{"updatedAtMin":"2026-02-01"}`, 2003, "updatedAtMin", "format"},
		{"get-orders", `{"updatedAtMax":"2026-02-01T00:00:00"}`, 2003, "updatedAtMax", "format"},
	} {
		f := refusal(t, client, test.tool, test.arguments)
		if f.Code != test.code || f.Details.Field != test.field || f.Details.Reason != test.reason || f.Retryable {
			t.Errorf("%s %.200s: %+v", test.tool, test.arguments, f)
		}
		if test.code != 5001 && f.Details.Suggestion == "" {
			t.Errorf("%s %.200s: no advice", test.tool, test.arguments)
		}
	}
}

// The default timeout of a call is 10 seconds.
func TestDefaultTimeout(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/code-3002")
	synctest.Test(t, func(t *testing.T) {
		client := systemtest.Stdio(t, newSystem(t, commerce.Options{}).MCPServer())
		start := time.Now()
		f := refusal(t, client, "get-orders", `{"ids":["fault-timeout"]}`)
		if took := time.Since(start); f.Code != 3002 || !f.Retryable || took != 10*time.Second {
			t.Errorf("after %s: %+v", took, f)
		}
	})
}

// All callers share the limit, and its failure states the wait.
func TestLimit(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/code-3001", "commerce/context-wait")
	for _, limit := range []int64{3, 0} {
		most := limit
		if most == 0 {
			most = 600
		}
		synctest.Test(t, func(t *testing.T) {
			client := systemtest.Stdio(t, newSystem(t, commerce.Options{PerMinute: limit}).MCPServer())
			for i := range most {
				if f := refusal(t, client, "get-products", `{}`); f.Code != 0 {
					t.Fatalf("call %d: %+v", i, f)
				}
			}
			f := refusal(t, client, "get-products", `{}`)
			if wait := f.Details.Context.RetryAfter; f.Code != 3001 || !f.Retryable || wait <= 0 || wait > 60 {
				t.Errorf("%+v", f)
			}
			time.Sleep(time.Duration(f.Details.Context.RetryAfter * float64(time.Second)))
			if f := refusal(t, client, "get-products", `{}`); f.Code != 0 {
				t.Errorf("after the wait: %+v", f)
			}
		})
	}
}
