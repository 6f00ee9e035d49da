package once_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// Each contract has a code for what a repetition gets instead of an answer, and says in its own form what to do about it.
func TestOnceInContracts(t *testing.T) {
	t.Parallel()
	for contract, want := range map[string][4]string{ // conflict, unknown, known, in flight
		"recourse": {"conflict", "outcome_unknown", "outcome_known", "in_flight"},
		"fieldmcp": {"INVALID_PARAM_VALUE", "PROVIDER_TIMEOUT", "PROVIDER_ERROR", "PROVIDER_UNAVAILABLE"},
		"commerce": {"2001", "3002", "4001", "4002"},
		"studies":  {"validation_error", "timeout", "client_error", "server_error"},
		"patterns": {"CLIENT_ERROR", "NETWORK_ERROR", "CLIENT_ERROR", "SERVER_ERROR"},
	} {
		t.Run(contract, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.InMemory())
			s, _ := onceStore(t)
			const tool = "read_only: false, once: {key: /reference}"
			c := startOnce(t, srv, s, tool, "contract: "+contract).Client(t, testkit.Modern)
			c.MustListTools(t)
			long := testkit.Fault{Name: "long", Happen: func(e *testkit.Exchange) {
				e.Answer(e.Result(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 300<<10) + `"}]}`))
			}}
			for i, first := range []struct {
				fault testkit.Fault
				again string
				retry recourse.Retry
				says  string
			}{
				{testkit.Fault{}, `{"reference":"A","amount":2}`, recourse.RetryAfterFix, "belongs to one with other arguments. They differ in /amount."},
				{faults.ResetBeforeAnswer(), `{"reference":"B","amount":1}`, recourse.RetryReRead, "it is not known what became of it. It is not made again."},
				{long.Running(true), `{"reference":"C","amount":1}`, recourse.RetryNever, "This call has already been made, and has succeeded."},
				{faults.Hang(), `{"reference":"D","amount":1}`, recourse.RetrySameCall, "The same call is still under way."},
			} {
				if i == 3 {
					c = startOnce(t, srv, s, tool, "contract: "+contract, "timeout: 2s").Client(t, testkit.Modern)
					c.MustListTools(t)
				}
				if first.fault.Happen != nil {
					srv.Next(testkit.OrderCreate, first.fault)
				}
				order(t, c, strings.ReplaceAll(first.again, `2}`, `1}`), "")
				a := order(t, c, first.again, "")
				e := gatewaytest.Record(t, a)
				if e.Code != want[i] || e.RetryAdvice() != first.retry || strings.Count(string(a.Body), first.says) < 1 {
					t.Errorf("got %s, %s: %s", e.Code, e.RetryAdvice(), a.Body)
				}
				if strings.Contains(string(a.Body), "Fix the input") || first.retry == recourse.RetryNever && !strings.Contains(string(a.Body), "Do not make the call again") {
					t.Errorf("got %s", a.Body)
				}
			}
		})
	}
}
