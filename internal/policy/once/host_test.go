package once_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// Writes of a host on stdio, of either era, are settled like those over HTTP.
func TestOnceOfAHost(t *testing.T) {
	t.Parallel()
	const modern = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, e := range testkit.EraPairs {
		t.Run(e.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithEra(e.Server))
			s, _ := onceStore(t)
			h := gatewaytest.StartHost(t, startOnce(t, srv, s, "once: {grace: 0s}, "+orderVerify).Gateway)
			meta := modern
			if e.Client == testkit.Legacy {
				meta = ""
				h.Initialize()
			}
			call := func() string {
				h.Send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"order_create","arguments":` + testkit.OrderArgs + meta + `}}`)
				return <-h.Lines
			}
			srv.Next(testkit.OrderCreate, faults.ResetBeforeAnswer())
			if a := call(); !strings.Contains(a, `"isError":true`) {
				t.Fatalf("got %s", a)
			}
			if a := call(); !strings.Contains(a, `"verified":true`) || srv.Orders("A-17") != 1 {
				t.Errorf("got %s with %d orders", a, srv.Orders("A-17"))
			}
		})
	}
}

// The verify call has the headers that mirror its own arguments.
func TestOnceMirrorsTheVerifyCall(t *testing.T) {
	t.Parallel()
	find := testkit.Tool{
		Name: "find",
		Definition: `{"name":"find","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{` +
			`"reference":{"type":"string","x-mcp-header":"Reference"}}}}`,
		Result: func(json.RawMessage) string { return `{"content":[],"structuredContent":{"reference":"A-17"}}` },
	}
	srv := testkit.NewServer(t, testkit.WithTools(find), testkit.WithEra(testkit.Modern))
	s, _ := onceStore(t)
	c := startOnce(t, srv, s, "once: {grace: 0s}, "+strings.Replace(orderVerify, "order_get", "find", 1)).Client(t, testkit.Modern)
	srv.Next(testkit.OrderCreate, faults.ResetBeforeAnswer())
	if a := order(t, c, testkit.OrderArgs, ""); a.Succeeded() {
		t.Fatalf("got %s", a.Body)
	}
	if a := order(t, c, testkit.OrderArgs, ""); !strings.Contains(string(a.Body), `"verified":true`) {
		t.Errorf("got %s", a.Body)
	}
	calls := srv.Calls("find")
	if len(calls) == 0 || !slices.Equal(calls[0].Header["Mcp-Param-Reference"], []string{"A-17"}) {
		t.Errorf("got the verify calls %+v", calls)
	}
}
