package systems_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// Data about people and machines in a failure is masked wherever the server writes it, even if the arguments of the
// call have it.
func TestCommercePersonalData(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/no-personal-data", "commerce/no-arguments", "commerce/no-secrets")
	const people = "pat@example.com paid with 4111 1111 1111 1111 at 10.1.2.3:5432"
	leaks := []string{"pat@example.com", "4111 1111", "10.1.2.3"}
	for name, fault := range map[string]testkit.Fault{
		"in the message":                 faults.Result("", `{"error":{"code":4001,"message":"`+people+`","retryable":false}}`),
		"in the context":                 faults.Result("", `{"error":{"code":4001,"message":"No","retryable":false,"details":{"context":{"who":"`+people+`"}}}}`),
		"in the names of the context":    faults.Result("", `{"error":{"code":4001,"message":"No","retryable":false,"details":{"context":{"`+people+`":1}}}}`),
		"in the suggestion":              faults.Result("", `{"error":{"code":4001,"message":"No","retryable":false,"details":{"suggestion":"Ask `+people+`"}}}`),
		"in a text":                      faults.ToolError("", "Cannot ship: "+people),
		"in a JSON-RPC error":            faults.RPCError("", 2001, "Validation failed for field order: "+people, `{"field":"order","value":"`+people+`"}`),
		"in a failure marked as success": faults.Result("", protocol.TextResult(`{"success":false,"error":{"code":"X","message":"`+people+`","details":{"customer":{"email":"pat@example.com"}}}}`)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			srv.Always(testkit.OrderCreate, fault)
			for _, mode := range []string{"off", "secrets", "all"} {
				client := gatewaytest.Start(t, srv.URL(), "contract: commerce", "reads: commerce", "redact: "+mode, commerceVerify).Client(t, testkit.Modern)
				a, err := client.Call(t.Context(), testkit.OrderCreate, `{"reference":"10.1.2.3:5432","amount":1,"note":"`+people+`"}`)
				if err != nil {
					t.Fatal(err)
				}
				for _, leak := range leaks {
					if strings.Contains(string(a.Body), leak) {
						t.Errorf("redact %s: %s is shown: %s", mode, leak, a.Body)
					}
				}
			}
		})
	}
}
