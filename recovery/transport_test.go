package recovery_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/recovery"
)

var (
	_ recovery.Session[*mcp.CallToolParams, *mcp.CallToolResult]     = (*mcp.ClientSession)(nil)
	_ recovery.Session[mcpgo.CallToolRequest, *mcpgo.CallToolResult] = (*client.Client)(nil)
)

// failing returns a transport in which calls fail by a rule, and the injector that counts them.
func failing(t *testing.T, traffic inject.Traffic, rule string) (*inject.Injector, http.RoundTripper) {
	t.Helper()
	plan, err := inject.Parse("faults.yaml", []byte("rules: ["+rule+"]"), inject.Options{Traffic: traffic})
	if err != nil {
		t.Fatal(err)
	}
	injector := inject.New(plan)
	return injector, inject.NewTransport(injector, traffic, http.DefaultTransport)
}

// made returns how often the call has been sent.
func made(i *inject.Injector) int { return i.Ledger().Calls[0].Calls }

func echoServer() http.Handler {
	s := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "echo"}}}, nil, nil
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

// Through a session of the Go SDK, the caller gets what an HTTP answer says: fieldmcp's limit, terra's 502 and 401. The
// session continues.
func TestMCPTransport(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		contract, fault string // for the first call
		kind            recourse.Kind
		wait            time.Duration
		calls           int
	}{
		"a limit that passes":           {"fieldmcp", `{contract: fieldmcp, code: "429", wait: 1s}`, "", time.Second, 2},
		"a bad gateway that passes":     {"terra", "{contract: terra, code: upstream-down}", "", 0, 2},
		"a connection that breaks once": {"terra", "reset-before", "", 0, 2},
		"bad credentials":               {"terra", "{contract: terra, code: credentials-invalid}", recourse.KindUnauthenticated, 0, 1},
		"a failure of the server":       {"terra", "{contract: terra, code: before-tool}", recourse.KindInternal, 0, 1},
		"a 500 of a proxy":              {"terra", "{status: 500, body: <html>oops</html>}", recourse.KindServerError, 0, 1},
		"a 503 of a proxy":              {"terra", "{status: 503, html: true}", "", 0, 2},
		"an unreadable message": {
			"fieldmcp", `{status: 503, body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'}`, recourse.KindMalformed, 0, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			injector, transport := failing(t, inject.MCP, "{times: 1, fault: "+test.fault+"}")
			c := contract.MustBuiltin(test.contract)
			sdk := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			session, err := sdk.Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: testkit.Serve(t, echoServer()), HTTPClient: &http.Client{Transport: recovery.NewMCPTransport(transport)},
				DisableStandaloneSSE: true,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			report := new(recovery.Report)
			caller := recovery.New(session, c, recovery.WithRandom(func() float64 { return 0 }))
			result, err := caller.CallTool(recovery.WithReport(t.Context(), report), &mcp.CallToolParams{Name: "echo"})
			if test.kind == "" && (err != nil || firstText(result) != "echo") {
				t.Errorf("%v %v", result, err)
			}
			if test.kind != "" && !errors.Is(err, test.kind) {
				t.Errorf("%v", err)
			}
			if n := made(injector); n != test.calls {
				t.Errorf("%d calls", n)
			}
			if report.Waited() < test.wait {
				t.Errorf("waited %v", report.Waited())
			}
			if _, err := session.ListTools(t.Context(), nil); err != nil {
				t.Errorf("the session ended: %v", err)
			}
		})
	}
}

func TestHTTPTransport(t *testing.T) {
	t.Parallel()
	const key = "Idempotency-Key"
	for name, test := range map[string]struct {
		method string
		header http.Header
		rule   string
		calls  int
		want   int
	}{
		"a read":                      {"GET", nil, "times: 1, fault: {status: 503, body: no}", 2, 200},
		"a read of a missing item":    {"GET", nil, "fault: {status: 404, body: no}", 1, 404},
		"a write with unknown effect": {"POST", nil, "effect: after, fault: {status: 500, body: no}", 1, 500},
		"a write that was refused":    {"POST", nil, "times: 1, fault: {status: 429, body: no}", 2, 200},
		"a write with a key":          {"POST", http.Header{key: {"k"}}, "times: 1, effect: after, fault: {status: 503, body: no}", 2, 200},
		"a replacement":               {"PUT", nil, "times: 1, effect: after, fault: {status: 503, body: no}", 2, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			injector, transport := failing(t, inject.API, "{"+test.rule+"}")
			url := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(w, r.Body) // as far as it arrives
			}))
			req, err := http.NewRequestWithContext(t.Context(), test.method, url, strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			maps.Copy(req.Header, test.header)
			c := &http.Client{Transport: recovery.NewHTTPTransport(transport, "The API", contract.MustBuiltin("recourse"), recovery.WithRandom(func() float64 { return 0 }))}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if want := map[bool]string{true: "body", false: "no"}[test.want == 200]; err != nil || resp.StatusCode != test.want || string(body) != want {
				t.Errorf("%d %q %v", resp.StatusCode, body, err)
			}
			if n := made(injector); n != test.calls {
				t.Errorf("%d calls, want %d", n, test.calls)
			}
		})
	}
}
