package e2e_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// Additional tools and resources of a [goModernServer].
const (
	toolAsk   = "ask"         // asks for a name, and then, in a second round, for a sample; returns both
	toolLog   = "log"         // logs "logged" as a warning
	toolTouch = "touch"       // changes noteURI
	noteURI   = "demo://note" // can be subscribed to
)

// goModernServer serves, until the test ends, a server built with the Go SDK that only speaks the modern
// era, and returns its endpoint's URL.
func goModernServer(tb testing.TB) string {
	tb.Helper()
	server := newGoServer(&mcp.ServerOptions{
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		Logger:             slog.New(slog.DiscardHandler),
	})
	server.AddResource(&mcp.Resource{Name: "note", URI: noteURI},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "a note"}}}, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: toolAsk}, askTool)
	mcp.AddTool(server, &mcp.Tool{Name: toolLog}, logTool)
	mcp.AddTool(server, &mcp.Tool{Name: toolTouch},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			return textContent("touched"), nil, server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: noteURI})
		})
	handler, closeSessions := serveGo(server, true)
	tb.Cleanup(closeSessions) // after the listener is closed
	return testkit.Serve(tb, onlyModern(handler)) + "/mcp"
}

func askTool(_ context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	name, _ := req.Params.InputResponses["name"].(*mcp.ElicitResult)
	if name != nil {
		return &mcp.CallToolResult{
			RequestState: fmt.Sprint(name.Content["name"]),
			InputRequests: mcp.InputRequestMap{"sample": &mcp.CreateMessageParams{
				MaxTokens: 5,
				Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "x"}}},
			}},
		}, nil, nil
	}
	if sample := req.Params.InputResponses["sample"]; sample != nil {
		var text []string
		switch s := sample.(type) {
		case *mcp.CreateMessageResult:
			text = append(text, textOf(s.Content))
		case *mcp.CreateMessageWithToolsResult:
			for _, content := range s.Content {
				text = append(text, textOf(content))
			}
		}
		return textContent(req.Params.RequestState + " " + strings.Join(text, " ")), nil, nil
	}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{
		Message: "What is your name?",
		RequestedSchema: map[string]any{
			"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []any{"name"},
		},
	}}}, nil, nil
}

func textOf(content mcp.Content) string {
	text, _ := content.(*mcp.TextContent)
	if text == nil {
		return ""
	}
	return text.Text
}

func logTool(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	return textContent("done"), nil, req.Session.Log(ctx, &mcp.LoggingMessageParams{
		Level: "warning", Data: "logged",
	})
}
