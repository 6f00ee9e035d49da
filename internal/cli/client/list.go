package client

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/term"
)

// ToolsTimeout limits how long a server may take to list its tools.
const ToolsTimeout = 30 * time.Second

// Tools returns the server's tools.
func (l *ServerFlags) Tools(ctx context.Context, env *term.Environment, command term.ServerCommand) ([]contract.Tool, error) {
	listed, _, err := l.list(ctx, env, command)
	if err != nil {
		return nil, err
	}
	return contractTools(listed)
}

// list returns the server's tools, as it describes them, and the _meta of the list.
func (l *ServerFlags) list(ctx context.Context, env *term.Environment, command term.ServerCommand) ([]*mcp.Tool, mcp.Meta, error) {
	ctx, cancel := context.WithTimeout(ctx, ToolsTimeout)
	defer cancel()
	reader := liveReader()
	session, err := l.connect(ctx, env, command)
	if err != nil {
		return nil, nil, failedCall(reader, err)
	}
	defer session.Close()
	listed, about, err := ListTools(ctx, session.ClientSession)
	if err != nil {
		return nil, nil, failedCall(reader, err)
	}
	return listed, about, nil
}

// ListTools returns all pages of a server's list, and the _meta of the last one.
func ListTools(ctx context.Context, session *mcp.ClientSession) (tools []*mcp.Tool, about mcp.Meta, err error) {
	for params := (&mcp.ListToolsParams{}); ; {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return nil, nil, fmt.Errorf("list the tools of the server: %w", err)
		}
		tools = append(tools, page.Tools...)
		if params.Cursor = page.NextCursor; params.Cursor == "" {
			return tools, page.Meta, nil
		}
	}
}

// toolsOf returns the tools of a session's server.
func toolsOf(ctx context.Context, session *mcp.ClientSession) ([]contract.Tool, error) {
	listed, _, err := ListTools(ctx, session)
	if err != nil {
		return nil, err
	}
	return contractTools(listed)
}

// contractTools returns what a contract needs to know about tools.
func contractTools(listed []*mcp.Tool) ([]contract.Tool, error) {
	var tools []contract.Tool
	for _, tool := range listed {
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("list the tools of the server: the inputSchema of %s: %w", tool.Name, err)
		}
		tools = append(tools, contract.Tool{
			Name: tool.Name, InputSchema: schema, Writes: tool.Annotations != nil && !tool.Annotations.ReadOnlyHint,
			Description: tool.Description, Errors: errorsOf(tool),
		})
	}
	return tools, nil
}

// errorsOf returns the codes that a tool can fail with, as declared by its server; nil if it declares
// none.
func errorsOf(tool *mcp.Tool) []string {
	list, ok := tool.Meta[contract.ErrorsKey].([]any)
	if !ok {
		return nil
	}
	codes := []string{}
	for _, item := range list {
		if word, ok := item.(string); ok {
			codes = append(codes, word)
		}
	}
	return codes
}
