package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// The tools of the real servers, the same in each.
const (
	toolEcho     = "echo"     // message -> message, as structured content and as text
	toolAdd      = "add"      // a, b -> sum, with an outputSchema
	toolFail     = "fail"     // always fails with failText
	toolLeak     = "leak"     // always fails with LeakText
	toolSlow     = "slow"     // ms -> waits that long unless it is cancelled
	toolProgress = "progress" // count -> reports progress that often
	toolOrder    = "order"    // reference (at least one letter), amount (over 0), currency (EUR, USD)
)

// goServer serves a server built with the Go SDK until the test ends, and returns its endpoint's URL. In the legacy era
// it has sessions; in the modern era it is stateless, and a call ends when its client closes the response.
func goServer(tb testing.TB, era testkit.Era) string {
	tb.Helper()
	handler, closeSessions := newGoHandler(era)
	tb.Cleanup(closeSessions) // after the listener is closed
	return testkit.Serve(tb, handler) + "/mcp"
}

// newGoHandler returns the handler of [goServer], for programs, and a function that ends its sessions
// after serving.
func newGoHandler(era testkit.Era) (handler http.Handler, closeSessions func()) {
	return serveGo(newGoServer(nil), era == testkit.Modern)
}

// newGoServer returns a server with the tools of [goServer].
func newGoServer(opts *mcp.ServerOptions) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1.0.0"}, opts)
	mcp.AddTool(server, &mcp.Tool{Name: toolEcho, Annotations: readOnly()}, echoTool)
	mcp.AddTool(server, &mcp.Tool{Name: toolAdd, Annotations: readOnly()}, addTool)
	mcp.AddTool(server, &mcp.Tool{Name: toolFail}, failTool)
	mcp.AddTool(server, &mcp.Tool{Name: toolLeak}, leakTool)
	mcp.AddTool(server, &mcp.Tool{Name: toolSlow}, slowTool)
	mcp.AddTool(server, &mcp.Tool{Name: toolProgress}, progressTool)
	mcp.AddTool(server, &mcp.Tool{Name: toolOrder, InputSchema: orderSchema}, orderTool)
	return server
}

func serveGo(server *mcp.Server, stateless bool) (handler http.Handler, closeSessions func()) {
	handler = mcp.NewStreamableHTTPHandler(
		func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: stateless, PropagateRequestCancellation: true},
	)
	return handler, func() {
		for session := range server.Sessions() {
			_ = session.Close() // its connection is gone
		}
	}
}

func readOnly() *mcp.ToolAnnotations { return &mcp.ToolAnnotations{ReadOnlyHint: true} }

type echoArgs struct {
	Message string `json:"message"`
}

func echoTool(_ context.Context, _ *mcp.CallToolRequest, in echoArgs) (*mcp.CallToolResult, echoArgs, error) {
	return nil, in, nil
}

type addArgs struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type addResult struct {
	Sum float64 `json:"sum"`
}

func addTool(_ context.Context, _ *mcp.CallToolRequest, in addArgs) (*mcp.CallToolResult, addResult, error) {
	return nil, addResult{Sum: in.A + in.B}, nil
}

// failText is the text of the real servers' tool [toolFail].
const failText = "the field lies fallow"

func failTool(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
	return nil, nil, errors.New(failText)
}

func leakTool(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
	return nil, nil, errors.New(faults.LeakText)
}

type slowArgs struct {
	MS int `json:"ms"`
}

func slowTool(ctx context.Context, _ *mcp.CallToolRequest, in slowArgs) (*mcp.CallToolResult, any, error) {
	if !testkit.Pause(ctx, time.Duration(in.MS)*time.Millisecond) {
		return nil, nil, fmt.Errorf("slow: %w", context.Cause(ctx))
	}
	return textContent("done"), nil, nil
}

type progressArgs struct {
	Count int `json:"count"`
}

func progressTool(ctx context.Context, req *mcp.CallToolRequest, in progressArgs) (*mcp.CallToolResult, any, error) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return textContent("done"), nil, nil
	}
	for i := range in.Count {
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(i + 1), Total: float64(in.Count),
		})
		if err != nil {
			return nil, nil, fmt.Errorf("progress: %w", err)
		}
	}
	return textContent("done"), nil, nil
}

type orderArgs struct {
	Reference string  `json:"reference"`
	Amount    float64 `json:"amount"`
	Currency  string  `json:"currency,omitempty"`
}

// orderSchema is the inputSchema of the tool that validates.
var orderSchema = map[string]any{
	"type": "object",
	"properties": map[string]any{
		"reference": map[string]any{"type": "string", "minLength": 1},
		"amount":    map[string]any{"type": "number", "exclusiveMinimum": 0},
		"currency":  map[string]any{"type": "string", "enum": []any{"EUR", "USD"}},
	},
	"required":             []any{"reference", "amount"},
	"additionalProperties": false,
}

func orderTool(_ context.Context, _ *mcp.CallToolRequest, in orderArgs) (*mcp.CallToolResult, any, error) {
	return textContent("order " + in.Reference + " created"), nil, nil
}

func textContent(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
