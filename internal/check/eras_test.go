package check_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/server"
)

// erasServer is a server of the Go SDK, which speaks both eras, behind what a test puts in front of it.
func erasServer(t *testing.T, before func(http.Handler) http.Handler) *server.Endpoint {
	t.Helper()
	srv := mcp.NewServer(&mcp.Implementation{Name: "eras", Version: "1"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "order_get", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *mcp.CallToolRequest, struct {
			OrderID string `json:"order_id"`
		},
		) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "There is no such order."}}}, nil, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	listening := httptest.NewServer(before(handler))
	t.Cleanup(listening.Close)
	return &server.Endpoint{URL: listening.URL}
}

// A server that speaks only the modern era is checked in it.
func TestModernOnly(t *testing.T) {
	t.Parallel()
	report := check.Check(t.Context(), erasServer(t, withoutInitialize), check.Options{Mode: check.Safe})
	if report.Server.Protocol != "2026-07-28" || report.Server.Tools != 1 || report.Grade != "A" {
		t.Errorf("%+v", report)
	}
}

// A server of both eras is checked in both, with a bounded number of requests, and what is wrong in the modern one alone is found. The
// plan says what is done in it.
func TestBothEras(t *testing.T) {
	t.Parallel()
	to := erasServer(t, brokenInModern)
	plan, err := check.Plan(t.Context(), to, check.Options{Mode: check.Safe})
	modern := slices.DeleteFunc(plan, func(line string) bool { return !strings.HasSuffix(line, ", in the modern era") })
	if err != nil || len(modern) < 9 || !strings.HasPrefix(modern[0], "order_get {}: ") {
		t.Errorf("%v: %s", err, modern)
	}
	report := check.Check(t.Context(), to, check.Options{Mode: check.Safe})
	if !slices.Equal(report.Server.Eras, []check.Era{check.Legacy, check.Modern}) || report.Grade != "A" || report.Requests > 70 {
		t.Errorf("%+v", report)
	}
	for rule, want := range map[string]string{
		"unknown-tool":     "In the modern era: The call of a tool that does not exist succeeded",
		"argument-named":   "", // of both
		"version-answered": "In the modern era: A request of the version 2099-01-01 is answered as if there were one.",
		"header-checked":   "In the modern era: The status is 200.",
	} {
		if said := strings.Join(sentences(report, rule), " "); !strings.Contains(said, want) || want == "" && said != "" {
			t.Errorf("%s: %s", rule, said)
		}
	}
}

// brokenInModern answers each request of the modern era but server/discover as if all were well.
func brokenInModern(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		broken := regexp.MustCompile(`no_such_tool|"tools/list"`).Match(body)
		if id := regexp.MustCompile(`"id":("[^"]*"|\d+)`).FindSubmatch(body); broken && id != nil && bytes.Contains(body, []byte("protocolVersion")) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[],"tools":[]}}`, id[1])
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
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
