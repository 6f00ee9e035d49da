package commerce_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/systems/commerce"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

// Retries depend on retryable alone: whatever failed, and wherever the failure is in the answer.
func TestClientGoesByRetryable(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/retry-backoff", "commerce/retry-not", "commerce/client-reads-both", "commerce/client-undecided")

	const get, all, cancel, second = "get-orders", `{}`, "cancel-order", time.Second
	backoff := []time.Duration{second, 2 * second, 4 * second}
	fault := func(keys string) string { return "- {match: {tool: get-orders}, " + keys + "}" }
	for _, tt := range []struct {
		name, faults    string
		tool, arguments string
		code            string
		reached         map[string]int
		waits           []time.Duration
	}{
		{
			name: "a limit that passes", faults: fault("times: 1, fault: {contract: commerce, code: 3001, wait: 12s}"), tool: get, arguments: all,
			reached: map[string]int{get: 1}, waits: []time.Duration{12 * second},
		},
		{
			name: "no answer in time", faults: fault("effect: after, fault: {contract: commerce, code: 3002}"), tool: get, arguments: all, code: "3002",
			reached: map[string]int{get: 4}, waits: backoff,
		},
		{name: "an outage", tool: get, arguments: `{"ids":["fault-down"]}`, code: "4002", reached: map[string]int{get: 4}, waits: backoff},
		{name: "an adapter that allows a retry", tool: get, arguments: `{"ids":["fault-locked"]}`, code: "4001", reached: map[string]int{get: 4}, waits: backoff},
		{name: "an adapter that allows no retry", tool: get, arguments: `{"ids":["fault-adapter"]}`, code: "4001", reached: map[string]int{get: 1}},
		{
			name: "not supported", faults: fault("effect: after, fault: {contract: commerce, code: 5001}"), tool: get, arguments: all, code: "5001",
			reached: map[string]int{get: 1},
		},
		{name: "no such order", tool: cancel, arguments: `{"orderId":"SO-404"}`, code: "4001", reached: map[string]int{cancel: 1}},
		{
			name: "a limit of a write", faults: "- {match: {tool: cancel-order}, times: 1, fault: {contract: commerce, code: 3001, wait: 12s}}",
			tool: cancel, arguments: `{"orderId":"SO-1001"}`, reached: map[string]int{cancel: 1}, waits: []time.Duration{12 * second},
		},
		{
			name: "a write without a conclusive verify answer", faults: "- {match: {tool: update-order}, effect: after, fault: reset-before}",
			tool: "update-order", arguments: `{"id":"SO-1001","updates":{"note":"ring twice"}}`, code: "unreachable",
			reached: map[string]int{"update-order": 1, get: 1}, waits: []time.Duration{second},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			agent := systemtest.NewAgent(t, newSystem(t, commerce.Options{}), rules(t), tt.faults)
			agent.Call(t, tt.tool, tt.arguments, tt.code)
			agent.CheckReached(t, tt.reached)
			agent.CheckWaits(t, tt.waits...)
		})
	}
}

// A mistake is reported with its field and rule, and is not sent twice; the corrected input is sent.
func TestClientChangesInput(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/client-changes-input", "commerce/client-reads-both")

	good := newOrder("mended", "ada@example.com", "1")
	for name, tt := range map[string]struct{ code, wrong, param string }{
		"refused before the tool runs": {"-32602", `{}`, "order"},
		"a format, found by the tool":  {"2003", newOrder("mended", "ada", "1"), "order.customer.email"},
		"a value, found by the tool":   {"2001", newOrder("mended", "ada@example.com", "0"), "order.lineItems.0.quantity"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := systemtest.NewAgent(t, newSystem(t, commerce.Options{}), rules(t), "")
			for range 2 {
				e := agent.Call(t, "create-sales-order", tt.wrong, tt.code).Failure
				if len(e.Violations) == 0 || e.Violations[0].Param != tt.param {
					t.Errorf("got violations %+v", e.Violations)
				}
			}
			agent.CheckReached(t, map[string]int{"create-sales-order": 1})
			agent.Call(t, "create-sales-order", good, "")
			agent.CheckReached(t, map[string]int{"create-sales-order": 2})
			agent.CheckWaits(t)
		})
	}
}

// A write whose answer is lost is settled by its verify call, and is never made twice.
func TestClientVerifies(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/client-verifies")

	agent := systemtest.NewAgent(t, newSystem(t, commerce.Options{Timeout: 50 * time.Millisecond}), rules(t), "")
	made := agent.Call(t, "create-sales-order", newOrder("fault-timeout-9", "ada@example.com", "1"), "")
	if !strings.Contains(made.Text, "fault-timeout-9") {
		t.Errorf("got order %s", made.Text)
	}
	agent.Call(t, "cancel-order", `{"orderId":"SO-1001","reason":"fault-timeout"}`, "")
	agent.CheckReached(t, map[string]int{"create-sales-order": 1, "cancel-order": 1, "get-orders": 2})
}
