package patterns

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withTypes lets the text blocks of a success say what they are, as those of a failure do. The SDK's type for them has no place
// for that.
func withTypes(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if called, ok := result.(*mcp.CallToolResult); ok && err == nil {
			return &typedResult{called}, nil
		}
		return result, err
	}
}

// A typedResult is a result whose text blocks have a mimeType: the SDK fills in the result that it holds.
type typedResult struct{ *mcp.CallToolResult }

var _ json.Marshaler = (*typedResult)(nil)

// MarshalJSON implements [json.Marshaler].
func (r *typedResult) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(r.CallToolResult)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	type block struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		MimeType string `json:"mimeType"`
	}
	blocks := []block{}
	for _, content := range r.Content { // all of this system's are texts
		if text, ok := content.(*mcp.TextContent); ok {
			blocks = append(blocks, block{"text", text.Text, mimeType(text.Text)})
		}
	}
	if members["content"], err = json.Marshal(blocks); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

func mimeType(text string) string {
	if strings.HasPrefix(text, "{") {
		return "application/json"
	}
	return "text/markdown"
}
