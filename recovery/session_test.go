package recovery_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/systems/commerce"
)

// mcpGo returns a session of mcp-go with the server at url; base sends the requests.
func mcpGo(t *testing.T, url string, base http.RoundTripper) *client.Client {
	t.Helper()
	session, err := client.NewStreamableHttpClient(url, transport.WithHTTPBasicClient(&http.Client{Transport: recovery.NewMCPTransport(base)}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the test is over
	if err := session.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var hello mcpgo.InitializeRequest
	hello.Params.ProtocolVersion = "2025-11-25"
	hello.Params.ClientInfo = mcpgo.Implementation{Name: "test", Version: "1"}
	if _, err := session.Initialize(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	return session
}

func goCall(tool string, arguments map[string]any) mcpgo.CallToolRequest {
	var r mcpgo.CallToolRequest
	r.Params.Name, r.Params.Arguments = tool, arguments
	return r
}

// A session of mcp-go recovers like one of the Go SDK; the transport passes on what mcp-go drops of a failure.
func TestMCPGo(t *testing.T) {
	t.Parallel()
	shop := contract.MustBuiltin("commerce")
	system, err := commerce.New(commerce.Options{Logger: slog.New(slog.DiscardHandler), Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = system.Close() }) // the test is over
	url := testkit.Serve(t, system.Handler()) + system.Entrance().Path
	caller := recovery.New(mcpGo(t, url, nil), shop, recovery.WithRandom(func() float64 { return 0 }))
	order := map[string]any{"order": map[string]any{
		"externalId": "fault-timeout-1", "customer": map[string]any{"email": "ada@example.com"},
		"shippingAddress": map[string]any{"line1": "1 Mill Lane", "city": "Salem", "postalCode": "97301", "country": "US"},
		"lineItems":       []any{map[string]any{"sku": "MUG-BLUE", "quantity": 1}},
	}}
	var report recovery.Report
	result, err := caller.CallTool(recovery.WithReport(t.Context(), &report), goCall("create-sales-order", order))
	if err != nil || report.Attempts() != 1 || report.Verifications() != 1 {
		t.Fatalf("%v after %d calls and %d verify calls", err, report.Attempts(), report.Verifications())
	}
	if text, ok := result.Content[0].(mcpgo.TextContent); !ok || !strings.Contains(text.Text, "fault-timeout-1") {
		t.Errorf("%+v", result)
	}
	_, err = caller.CallTool(t.Context(), goCall("create-sales-order", map[string]any{"order": map[string]any{}}))
	if e, ok := errors.AsType[*recourse.Error](err); !ok || e.Kind.Class() != recourse.ClassInput {
		t.Errorf("%v", err)
	}
}

// The wait of an HTTP 429 is kept, although mcp-go does not pass it on.
func TestMCPGoLimit(t *testing.T) {
	t.Parallel()
	rules := contract.MustBuiltin("fieldmcp")
	_, base := failing(t, inject.MCP, `{times: 1, fault: {contract: fieldmcp, code: "429", wait: 1s}}`)
	var limits []time.Duration
	caller := recovery.New(mcpGo(t, testkit.Serve(t, echoServer()), base), rules, recovery.WithHooks(recovery.Hooks{Observe: func(_ context.Context, s recovery.Step) {
		if s.Action == recovery.ActionWait {
			limits = append(limits, s.Took)
		}
	}}))
	if _, err := caller.CallTool(t.Context(), goCall("echo", nil)); err != nil || len(limits) != 1 || limits[0] != time.Second {
		t.Errorf("%v after waits of %v", err, limits)
	}
}
