package mcptool

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// AddTool adds a typed tool, as mcp.AddTool does. There is one difference: a handler's
// own result with IsError and StructuredContent is read as the failure it describes,
// where the SDK would replace it with the zero output. Structured content in an
// unknown form goes into the details of the record, since it does not fit the tool's
// outputSchema. Handlers that return errors do not need AddTool.
func AddTool[In, Out any](server *mcp.Server, tool *mcp.Tool, handler mcp.ToolHandlerFor[In, Out]) {
	mcp.AddTool(server, tool, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		result, out, err := handler(ctx, req, in)
		if err == nil && result != nil && result.IsError && result.StructuredContent != nil {
			err = &keptError{result: result}
		}
		return result, out, err
	})
}

// keptError carries a result past the SDK.
type keptError struct{ result *mcp.CallToolResult }

// Error returns the text of the result, for servers without [Use].
func (k *keptError) Error() string {
	for _, block := range k.result.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			return text.Text
		}
	}
	return "the tool failed"
}
