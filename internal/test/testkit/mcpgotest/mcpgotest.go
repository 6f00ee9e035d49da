// Package mcpgotest serves a real MCP server built with mcp-go to tests. It is separate from package testkit
// so that testkit's importers do not depend on mcp-go.
package mcpgotest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// NewServer serves a server built with mcp-go, with sessions, until the test ends, and returns its endpoint's
// URL. It has the tools of [sdk.GoServer]. With mcp-go's defaults, it does not validate arguments, and
// an error that a tool returns becomes a JSON-RPC error.
func NewServer(tb testing.TB) string {
	tb.Helper()
	handler, closeSessions := NewHandler()
	tb.Cleanup(closeSessions) // after the listener is closed
	return testkit.Serve(tb, handler) + "/mcp"
}

// NewHandler returns the handler of [NewServer], for programs, and a function that ends its sessions after
// serving.
func NewHandler() (handler http.Handler, closeSessions func()) {
	s := server.NewMCPServer("mcp-go", "1.0.0", server.WithToolCapabilities(true))
	s.AddTool(
		mcp.NewTool(sdk.Echo, mcp.WithString("message", mcp.Required()), mcp.WithReadOnlyHintAnnotation(true)),
		mcp.NewStructuredToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in echoed) (echoed, error) {
			return in, nil
		}))
	s.AddTool(
		mcp.NewTool(sdk.Add, mcp.WithNumber("a", mcp.Required()), mcp.WithNumber("b", mcp.Required()),
			mcp.WithOutputSchema[total](), mcp.WithReadOnlyHintAnnotation(true)),
		mcp.NewStructuredToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in addends) (total, error) {
			return total{Sum: in.A + in.B}, nil
		}))
	s.AddTool(mcp.NewTool(sdk.Fail), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New(sdk.FailText)
	})
	s.AddTool(mcp.NewTool(sdk.Leak), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New(faults.LeakText)
	})
	s.AddTool(mcp.NewTool(sdk.Slow, mcp.WithInteger("ms", mcp.Required())), slowTool)
	s.AddTool(mcp.NewTool(sdk.Progress, mcp.WithInteger("count", mcp.Required())), progressTool)
	s.AddTool(
		mcp.NewTool(sdk.Order,
			mcp.WithString("reference", mcp.Required(), mcp.MinLength(1)),
			mcp.WithNumber("amount", mcp.Required()),
			mcp.WithString("currency", mcp.Enum("EUR", "USD")),
			mcp.WithSchemaAdditionalProperties(false)),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("order " + req.GetString("reference", "") + " created"), nil
		})

	streamable := server.NewStreamableHTTPServer(s)
	return streamable, func() {
		// Without an HTTP server of its own it only ends sessions, and cannot fail.
		_ = streamable.Shutdown(context.Background())
	}
}

type echoed struct {
	Message string `json:"message"`
}

type addends struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type total struct {
	Sum float64 `json:"sum"`
}

func slowTool(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	select {
	case <-time.After(time.Duration(req.GetInt("ms", 0)) * time.Millisecond):
		return mcp.NewToolResultText("done"), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("slow: %w", context.Cause(ctx))
	}
}

func progressTool(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
		return mcp.NewToolResultText("done"), nil
	}
	count := req.GetInt("count", 0)
	for i := range count {
		err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{
			"progressToken": req.Params.Meta.ProgressToken, "progress": i + 1, "total": count,
		})
		if err != nil {
			return nil, fmt.Errorf("progress: %w", err)
		}
	}
	return mcp.NewToolResultText("done"), nil
}
