// Command outside is what somebody writes who has this module as a dependency: a server with mcptool, and a client of it
// that recovers from its failures, with the public packages alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/retry"
)

func main() {
	fieldmcp := contract.MustBuiltin("fieldmcp")
	endpoint := httptest.NewServer(newServer(fieldmcp))
	defer endpoint.Close()

	ctx := context.Background()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, nil).Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: endpoint.URL, HTTPClient: &http.Client{Transport: recovery.NewMCPTransport(nil)}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	client := recovery.New(session, fieldmcp, recovery.WithHooks(recovery.Hooks{Observe: func(_ context.Context, s recovery.Step) {
		if s.Repeat {
			fmt.Println(s.Failure.Code+":", s.Reason)
		}
	}}))
	for _, id := range []string{"F-1", "F-9"} {
		result, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "get_field", Arguments: map[string]any{"field_id": id}})
		fmt.Printf("%s: %s, %v, not found: %t\n", id, text(result), err, errors.Is(err, recourse.KindNotFound))
	}
}

func text(result *mcp.CallToolResult) string {
	if result == nil {
		return ""
	}
	return result.Content[0].(*mcp.TextContent).Text
}

// limiter is an author's own: every interface of mcptool can be implemented with what go doc shows.
type limiter struct{}

type charge struct{}

func (limiter) Take(context.Context, string) (mcptool.Charge, error) { return charge{}, nil }
func (charge) Quotas() []recourse.Quota                              { return nil }
func (charge) Refund()                                               {}

var (
	_ mcptool.Limiter = limiter{}
	_ mcptool.Charge  = charge{}
)

type fieldInput struct {
	FieldID string `json:"field_id"`
}

func newServer(c *contract.Contract) http.Handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "farm", Version: "1.0.0"}, nil)
	calls := 0
	mcptool.AddTool(server, &mcp.Tool{Name: "get_field", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *mcp.CallToolRequest, in fieldInput) (*mcp.CallToolResult, any, error) {
			switch calls++; {
			case calls == 1:
				return nil, nil, recourse.Unavailable("John Deere").WithRetryAfter(time.Millisecond)
			case in.FieldID == "F-9":
				return nil, nil, recourse.NotFound("field", in.FieldID)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "40 ha"}}}, nil, nil
		})
	quiet := mcptool.WithLogger(slog.New(slog.DiscardHandler))
	mcptool.Use(server, c, quiet, mcptool.WithTimeout(time.Minute), mcptool.WithTool("get_field", mcptool.WithNature(retry.Reads)))
	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return mcptool.Guard(streamable, c, quiet, mcptool.WithLimiter(limiter{}))
}
