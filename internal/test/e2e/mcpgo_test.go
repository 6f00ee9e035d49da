package e2e_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// ada answers a server's questions.
type ada struct{}

// Elicit implements [mcpgo.ElicitationHandler].
func (ada) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"name": "Ada"},
	}}, nil
}

// CreateMessage implements [mcpgo.SamplingHandler].
func (ada) CreateMessage(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{
		SamplingMessage: mcp.SamplingMessage{Role: mcp.RoleAssistant, Content: mcp.NewTextContent("sampled")}, Model: "testkit",
	}, nil
}

// A client built with mcp-go, in the legacy era, reaches a server of the modern era, and is asked the server's
// questions.
func TestMCPGoClientOfModernServer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := mcpgo.NewStreamableHttpClient(start(t, goModernServer(t)).url,
		transport.WithContinuousListening())
	if err != nil {
		t.Fatal(err)
	}
	mcpgo.WithElicitationHandler(ada{})(c)
	mcpgo.WithSamplingHandler(ada{})(c)
	mcpgo.WithProtocolVersion("2025-11-25")(c)
	var mu sync.Mutex
	heard := map[string]int{}
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		mu.Lock()
		defer mu.Unlock()
		heard[n.Method]++
	})
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	hello, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: "2025-11-25", ClientInfo: mcp.Implementation{Name: "e2e", Version: "1"},
	}})
	if err != nil || hello.ProtocolVersion != "2025-11-25" || hello.ServerInfo.Name != "go-sdk" {
		t.Fatalf("initialize: %v %+v", err, hello)
	}
	if list, err := c.ListTools(ctx, mcp.ListToolsRequest{}); err != nil || len(list.Tools) < 7 {
		t.Errorf("tools/list: %v %+v", err, list)
	}
	call := func(tool string, arguments map[string]any) string {
		t.Helper()
		result, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: arguments}})
		if err != nil || len(result.Content) == 0 {
			t.Fatalf("%s: %v %+v", tool, err, result)
		}
		return mcp.GetTextFromContent(result.Content[0])
	}
	if got := call(toolEcho, map[string]any{"message": "m"}); !strings.Contains(got, `"m"`) {
		t.Errorf("echo: %s", got)
	}
	if got := call(toolAsk, nil); got != "Ada sampled" {
		t.Errorf("ask: %s", got)
	}
	if got := call(toolFail, nil); !strings.Contains(got, failText) {
		t.Errorf("fail: %s", got)
	}
	if err := c.Ping(ctx); err != nil {
		t.Error(err)
	}
	err = c.Subscribe(ctx, mcp.SubscribeRequest{Params: mcp.SubscribeParams{URI: noteURI}})
	if err != nil {
		t.Error(err)
	}
	for updated := 0; updated == 0 && ctx.Err() == nil; {
		call(toolTouch, nil)
		mu.Lock()
		updated = heard["notifications/resources/updated"]
		mu.Unlock()
	}
	if err := ctx.Err(); err != nil {
		t.Errorf("no announcement: %v", err)
	}
}

// After its token is refreshed, a client built with mcp-go gets an error about its session. It keeps the
// connection, and continues after initialize.
func TestMCPGoClientWithRefreshedToken(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var token atomic.Pointer[string]
	token.Store(new("Bearer t0ken"))
	c, err := mcpgo.NewStreamableHttpClient(start(t, testkit.NewServer(t).URL(), "forward: [authorization]").url,
		transport.WithHTTPHeaderFunc(func(context.Context) map[string]string {
			return map[string]string{"Authorization": *token.Load()}
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	mcpgo.WithProtocolVersion("2025-11-25")(c)
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	initialize := func() {
		t.Helper()
		_, err := c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
			ProtocolVersion: "2025-11-25", ClientInfo: mcp.Implementation{Name: "e2e", Version: "1"},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	call := func() error {
		result, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: testkit.Echo, Arguments: map[string]any{"message": "m"}}})
		if err == nil && result.IsError {
			t.Errorf("echo: %+v", result.Content)
		}
		return err
	}
	initialize()
	if err := call(); err != nil {
		t.Fatal(err)
	}
	token.Store(new("Bearer t0ken-2"))
	for range 2 {
		if err := call(); !errors.Is(err, transport.ErrSessionTerminated) {
			t.Errorf("thrown %v, want ErrSessionTerminated", err)
		}
	}
	initialize()
	if err := call(); err != nil {
		t.Error(err)
	}
}
