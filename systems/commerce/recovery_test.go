package commerce_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/promises"
	"github.com/recoursehq/recourse/internal/testkit"
	"github.com/recoursehq/recourse/systems/commerce"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

// A write whose answer is lost is settled by the call that the failure names, and is never made twice.
func TestClientVerifies(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/client-verifies")

	client := systemtest.HTTP(t, newSystem(t, commerce.Options{Timeout: 50 * time.Millisecond}), testkit.Modern)
	result, report, err := systemtest.Recover(t, rules(t), client, "create-sales-order", newOrder("fault-timeout-9", "ada@example.com", "1"))
	if err != nil || !strings.Contains(string(result), "fault-timeout-9") {
		t.Errorf("%s %v", result, err)
	}
	if report.Attempts() != 1 || report.Verifications() != 1 {
		t.Errorf("%d attempts and %d verify calls", report.Attempts(), report.Verifications())
	}
	orders := client.Call(t, "get-orders", `{"externalIds":["fault-timeout-9"]}`)
	if n := strings.Count(string(orders.Result), `"externalId":"fault-timeout-9"`); n == 0 || strings.Count(string(orders.Result), `"SO-`) > 2*n {
		t.Errorf("the orders are %s", orders.Result)
	}
	_, report, err = systemtest.Recover(t, rules(t), client, "cancel-order", `{"orderId":"SO-1001","reason":"fault-timeout"}`)
	if err != nil || report.Attempts() != 1 || report.Verifications() != 1 {
		t.Errorf("%v after %d attempts and %d verify calls", err, report.Attempts(), report.Verifications())
	}
	// The contract does not say what a fulfillment looks like that was made by this call: nothing decides.
	_, report, err = systemtest.Recover(t, rules(t), client, "cancel-order", `{"orderId":"SO-404"}`)
	if recourse.From(err).Kind != recourse.KindNotFound || report.Attempts() != 1 {
		t.Errorf("%v after %d attempts", err, report.Attempts())
	}
}
