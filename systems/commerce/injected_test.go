package commerce_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/inject"
	"github.com/recoursehq/recourse/internal/testkit"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/systems/commerce"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

// However the answer to a write gets lost, and whether the write was made or not, there is one order in the end, and the
// client knows it.
func TestOneOrderWhateverIsLost(t *testing.T) {
	t.Parallel()

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
				injector, session := injected(t, fault)
				client := recovery.New(session, rules(t), recovery.WithAttemptTimeout(30*time.Second),
					recovery.WithTimeout(10*time.Minute), recovery.WithLogger(systemtest.Quiet()))
				report := new(recovery.Report)
				result, err := client.CallTool(recovery.WithReport(t.Context(), report), &mcp.CallToolParams{
					Name: "create-sales-order", Arguments: json.RawMessage(newOrder("lost-1", "ada@example.com", "1")),
				})
				if err != nil || result.IsError {
					t.Errorf("%+v %v", result, err)
				}
				l := injector.Ledger()
				if n := l.Reached("create-sales-order", ""); n != 1 {
					t.Errorf("the order was made %d times: %+v\n%+v", n, l, report)
				}
			})
		})
	}
}

// injected returns a session of the Go SDK with a system of which the first order meets a fault.
func injected(t *testing.T, fault string) (*inject.Injector, *mcp.ClientSession) {
	t.Helper()
	plan, err := inject.Parse("faults.yaml", []byte("rules: [{match: {tool: create-sales-order}, times: 1, fault: "+fault+"}]"),
		inject.Options{Traffic: inject.MCP})
	if err != nil {
		t.Fatal(err)
	}
	dial := func() *http.Transport {
		transport := &http.Transport{DialContext: testkit.Dial, DisableCompression: true}
		t.Cleanup(transport.CloseIdleConnections)
		return transport
	}
	system := newSystem(t, commerce.Options{})
	target, err := url.Parse(testkit.ServeInMemory(t, system.Handler()) + system.Entrance().Path)
	if err != nil {
		t.Fatal(err)
	}
	injector := inject.New(plan)
	listener, err := testkit.ListenInMemory()
	if err != nil {
		t.Fatal(err)
	}
	server := inject.Server(inject.Front(inject.NewTransport(injector, inject.MCP, dial()), target))
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // until it is closed
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1.0.0"}, nil).
		Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint:             "http://" + listener.Addr().String() + target.Path,
			HTTPClient:           &http.Client{Transport: recovery.NewMCPTransport(dial(), rules(t))},
			DisableStandaloneSSE: true,
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return injector, session
}
