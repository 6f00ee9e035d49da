// Command outside is what somebody writes who has this module as a dependency: a server with mcptool, and a client of it
// that reads failures and repeats calls with the public packages alone.
package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	fieldmcp := contract.Builtin().MustGet("fieldmcp")
	endpoint := httptest.NewServer(newServer(fieldmcp))
	defer endpoint.Close()

	c := &client{url: endpoint.URL, contract: fieldmcp, reader: contract.Reader{Contracts: []*contract.Contract{fieldmcp}}}
	for _, id := range []string{"F-1", "F-9"} {
		result, err := c.call(context.Background(), "get_field", map[string]any{"field_id": id})
		fmt.Printf("%s: %s, %v, not found: %t\n", id, result, err, errors.Is(err, recourse.KindNotFound))
	}
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
	mcptool.Use(server, c, quiet, mcptool.WithDeadline(time.Minute), mcptool.WithTool("get_field", mcptool.WithNature(retry.Reads)))
	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return mcptool.Guard(streamable, c, quiet, mcptool.WithLimiter(limiter{}))
}

// client calls tools, and repeats a call as the contract says.
type client struct {
	url      string
	contract *contract.Contract
	reader   contract.Reader
}

func (c *client) call(ctx context.Context, tool string, arguments map[string]any) (json.RawMessage, error) {
	policy := recovery.Policy(c.contract)
	for attempt := 1; ; attempt++ {
		result, err := c.once(ctx, tool, arguments)
		e, failed := errors.AsType[*recourse.Error](err)
		if !failed {
			return result, err
		}
		e = e.WithEffect(retry.Effect(e, retry.Reads))
		decision := policy.Decide(e, retry.Reads, attempt, time.Minute)
		if !decision.Repeat {
			return nil, e
		}
		fmt.Printf("%s: %s\n", e.Code, decision.Reason)
		time.Sleep(min(decision.Wait, time.Millisecond)) // the example is not about waiting
	}
}

// once makes one call and reads the answer.
func (c *client) once(ctx context.Context, tool string, arguments map[string]any) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments},
	})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, recourse.From(err)
	}
	defer func() {
		if err := response.Body.Close(); err != nil {
			log.Print(err)
		}
	}()
	if response.StatusCode >= http.StatusBadRequest {
		return nil, c.contract.FromHTTP("farm", response)
	}
	var answer struct{ Result, Error json.RawMessage }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, recourse.BadResponse("farm").CausedBy(err)
	}
	if answer.Error != nil {
		return nil, c.reader.RPC(answer.Error).Error()
	}
	if reading, failed := c.reader.Result(answer.Result); failed {
		return nil, reading.Error()
	}
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(answer.Result, &result); err != nil {
		return nil, err
	}
	return json.RawMessage(result.Content[0].Text), nil
}
