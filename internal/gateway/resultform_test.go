package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
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

// So is that of a call that is too large, whose id comes last, as with the official SDKs.
func TestLargeCallsFailInResults(t *testing.T) {
	t.Parallel()
	const form = `{"method":"tools/call","params":{"name":"order_create","arguments":{"reference":%q}},"jsonrpc":"2.0","id":"last"}`
	message := fmt.Sprintf(form, strings.Repeat("a", 20<<10))
	for _, era := range testkit.Eras {
		for name, body := range map[string]io.Reader{"": strings.NewReader(message), "_in_chunks": struct{ io.Reader }{strings.NewReader(message)}} {
			t.Run(era.String()+name, func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t)
				c := startConfig(t, "max_request: 8KiB\nservers: {farm: {url: '"+srv.URL()+"'}}\n").Client(t, era)
				header := http.Header{}
				if era == testkit.Modern {
					header = http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"order_create"}}
				}
				a, err := c.Send(t.Context(), http.MethodPost, body, header)
				if err != nil {
					t.Fatal(err)
				}
				result, err := a.ToolResult()
				if err != nil || a.Status != http.StatusOK || !result.IsError || !strings.Contains(string(a.Body), `"id":"last"`) ||
					!strings.Contains(string(a.Body), `"effect":"none"`) {
					t.Errorf("got HTTP %d %.600s", a.Status, a.Body)
				}
			})
		}
	}
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		srv := testkit.NewServer(t)
		g, _ := gatewaytest.New(t, "max_request: 8KiB\nservers: {farm: {url: '"+srv.URL()+"'}}\n")
		var out bytes.Buffer
		if err := g.ServeStdio(t.Context(), gatewaytest.Path, strings.NewReader(message+"\n"), &out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), `"id":"last"`) || !strings.Contains(out.String(), `"isError":true`) {
			t.Errorf("got %s", out.String())
		}
	})
}
