package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// Few agent frameworks show a model what a JSON-RPC error says, and some of them end with it. Whatever goes wrong with the call of
// a tool is told in a result.
func TestCallsFailInResults(t *testing.T) {
	t.Parallel()
	ordered := `{"reference":"A-17","amount":1}`
	cases := map[string]struct {
		tool, arguments string
		fault           testkit.Fault
		initialize      testkit.Fault
		says            string
	}{
		"an unknown tool":          {tool: "order_crate", says: "[unknown_tool]"},
		"bad arguments":            {tool: testkit.OrderCreate, arguments: `{"amount":"x"}`, says: "reference"},
		"a lost session":           {fault: faults.StatusWith("lost", http.StatusNotFound, "text/plain", "session not found"), says: "["},
		"and no other":             {fault: faults.SessionLost(), initialize: faults.Status(http.StatusInternalServerError, faults.None), says: "["},
		"no such method":           {fault: faults.RPCError("method", -32601, "Method not found", ""), says: "Method not found"},
		"no request":               {fault: faults.RPCError("request", -32600, "Invalid Request", ""), says: "Invalid Request"},
		"invalid params":           {fault: faults.RPCError("params", -32602, "Unknown tool: order_create", ""), says: "order_create"},
		"a code of its own":        {fault: faults.RPCError("code", -32000, "no paper", ""), says: "no paper"},
		"a link":                   {fault: faults.RPCError("link", -32042, "Connect your account.", `{"elicitations":[{"mode":"url","elicitationId":"1","url":"https://example.com/connect","message":"Connect."}]}`), says: "https://example.com/connect"},
		"no such method by HTTP":   {fault: faults.RPCStatus("method", http.StatusNotFound, -32601, "Method not found", ""), says: "Method not found"},
		"bad request":              {fault: faults.StatusWith("400", http.StatusBadRequest, "text/plain", "no"), says: "["},
		"not allowed":              {fault: faults.Status(http.StatusMethodNotAllowed, faults.None), says: "["},
		"too large for the server": {fault: faults.Status(http.StatusRequestEntityTooLarge, faults.None), says: "["},
		"reset":                    {fault: faults.ResetBeforeAnswer(), says: "It is not known"},
	}
	for _, way := range waysIn("timeout: 3s") {
		for name, c := range cases {
			t.Run(way.name+", "+name, func(t *testing.T) {
				t.Parallel()
				o := way.open(t)
				if c.tool == "" {
					c.tool, c.arguments = testkit.OrderCreate, ordered
				}
				if c.fault.Name != "" {
					o.srv.Always(c.tool, c.fault)
				}
				if c.initialize.Name != "" {
					o.srv.Always("initialize", c.initialize)
				}
				a, err := o.Call(t.Context(), c.tool, c.arguments)
				if err != nil {
					t.Fatal(err)
				}
				result, err := a.ToolResult()
				if err != nil || a.Status != http.StatusOK || !result.IsError || !strings.Contains(string(a.Body), c.says) {
					t.Errorf("got HTTP %d %.600s", a.Status, a.Body)
				}
			})
		}
	}
}
