package check_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/server"
)

// A server that speaks only the modern era is checked in it.
func TestModernOnly(t *testing.T) {
	t.Parallel()

	srv := mcp.NewServer(&mcp.Implementation{Name: "modern", Version: "1"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "order_get", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, struct {
			OrderID string `json:"order_id"`
		},
		) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "There is no such order."}}}, nil, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	listening := httptest.NewServer(withoutInitialize(handler))
	t.Cleanup(listening.Close)
	report := check.Check(t.Context(), &server.Endpoint{URL: listening.URL}, check.Options{Mode: check.Safe})
	if report.Server.Protocol != "2026-07-28" || report.Server.Tools != 1 || report.Grade != "A" {
		t.Errorf("%+v", report)
	}
}

// withoutInitialize refuses initialize, as a server does that does not know it.
func withoutInitialize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"initialize"`)) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"There is no method initialize."}}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}
