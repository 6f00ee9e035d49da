package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// toolConsult is an additional tool of the servers of [goLegacyServer]: it asks for a name and for a
// sample at the same time, and returns both.
const toolConsult = "consult"

// goLegacyServer is [goServer] with sessions, in which it asks.
func goLegacyServer(tb testing.TB) string {
	tb.Helper()
	server := newGoServer(nil)
	mcp.AddTool(server, &mcp.Tool{Name: toolConsult}, consultTool)
	handler, closeSessions := serveGo(server, false)
	tb.Cleanup(closeSessions) // after the listener is closed
	return testkit.Serve(tb, handler) + "/mcp"
}

func consultTool(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	var name *mcp.ElicitResult
	var sample *mcp.CreateMessageResult
	var elicitErr, sampleErr error
	var both sync.WaitGroup
	both.Go(func() {
		name, elicitErr = req.Session.Elicit(ctx, &mcp.ElicitParams{
			Message: "What is your name?",
			RequestedSchema: map[string]any{
				"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []any{"name"},
			},
		})
	})
	both.Go(func() {
		sample, sampleErr = req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{
			MaxTokens: 5,
			Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "x"}}},
		})
	})
	both.Wait()
	if err := errors.Join(elicitErr, sampleErr); err != nil {
		return nil, nil, err
	}
	return textContent(fmt.Sprint(name.Content["name"], " ", textOf(sample.Content))), nil, nil
}
