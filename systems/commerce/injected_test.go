package commerce_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/systems/commerce"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

// However the answer to a write gets lost, and whether the write was done or not, one order results, and the client
// knows it.
func TestOneOrderWhateverIsLost(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/client-verifies")

	for _, fault := range []string{
		"refuse",
		"reset-before",
		"reset-before, effect: after",
		"reset-within",
		"reset-after",
		"hang",
		"hang, effect: after",
		"{drip: 10s}",
		"truncate",
		"twice",
		"{status: 502, html: true}",
		"{status: 502, html: true}, effect: after",
		"{contract: commerce, code: 4001}",
		"{contract: commerce, code: 4001}, effect: after",
		"{contract: commerce, code: 4002}, effect: after",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				agent := systemtest.NewAgent(t, newSystem(t, commerce.Options{}), rules(t),
					"- {match: {tool: create-sales-order}, times: 1, fault: "+fault+"}", recovery.WithAttemptTimeout(30*time.Second))
				agent.Call(t, "create-sales-order", newOrder("lost-1", "ada@example.com", "1"), "")
				if n := agent.Reached()["create-sales-order"]; n != 1 {
					t.Errorf("the order was made %d times", n)
				}
			})
		})
	}
}
