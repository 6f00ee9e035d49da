package once_test

import (
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
