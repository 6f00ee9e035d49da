package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// mcpGoServer serves a server built with mcp-go, with sessions, until the test ends, and returns its endpoint's
// URL. It has the tools of [goServer]. With mcp-go's defaults, it does not validate arguments, and
// an error that a tool returns becomes a JSON-RPC error.
func mcpGoServer(tb testing.TB) string {
	tb.Helper()
	handler, closeSessions := newMCPGoHandler()
	tb.Cleanup(closeSessions) // after the listener is closed
	return testkit.Serve(tb, handler) + "/mcp"
}

// newMCPGoHandler returns the handler of [mcpGoServer], for programs, and a function that ends its sessions after
// serving.
func newMCPGoHandler() (handler http.Handler, closeSessions func()) {
	s := mcpgoserver.NewMCPServer("mcp-go", "1.0.0", mcpgoserver.WithToolCapabilities(true))
	s.AddTool(
		mcp.NewTool(toolEcho, mcp.WithString("message", mcp.Required()), mcp.WithReadOnlyHintAnnotation(true)),
		mcp.NewStructuredToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in echoed) (echoed, error) {
			return in, nil
		}))
	s.AddTool(
		mcp.NewTool(toolAdd, mcp.WithNumber("a", mcp.Required()), mcp.WithNumber("b", mcp.Required()),
			mcp.WithOutputSchema[total](), mcp.WithReadOnlyHintAnnotation(true)),
		mcp.NewStructuredToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in addends) (total, error) {
			return total{Sum: in.A + in.B}, nil
		}))
	s.AddTool(mcp.NewTool(toolFail), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New(failText)
	})
	s.AddTool(mcp.NewTool(toolLeak), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New(faults.LeakText)
	})
	s.AddTool(mcp.NewTool(toolSlow, mcp.WithInteger("ms", mcp.Required())), mcpGoSlowTool)
	s.AddTool(mcp.NewTool(toolProgress, mcp.WithInteger("count", mcp.Required())), mcpGoProgressTool)
	s.AddTool(
		mcp.NewTool(toolOrder,
			mcp.WithString("reference", mcp.Required(), mcp.MinLength(1)),
			mcp.WithNumber("amount", mcp.Required()),
			mcp.WithString("currency", mcp.Enum("EUR", "USD")),
			mcp.WithSchemaAdditionalProperties(false)),
		func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("order " + req.GetString("reference", "") + " created"), nil
		})

	streamable := mcpgoserver.NewStreamableHTTPServer(s)
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

func mcpGoSlowTool(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	select {
	case <-time.After(time.Duration(req.GetInt("ms", 0)) * time.Millisecond):
		return mcp.NewToolResultText("done"), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("slow: %w", context.Cause(ctx))
	}
}

func mcpGoProgressTool(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
		return mcp.NewToolResultText("done"), nil
	}
	count := req.GetInt("count", 0)
	for i := range count {
		err := mcpgoserver.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", map[string]any{
			"progressToken": req.Params.Meta.ProgressToken, "progress": i + 1, "total": count,
		})
		if err != nil {
			return nil, fmt.Errorf("progress: %w", err)
		}
	}
	return mcp.NewToolResultText("done"), nil
}
