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
	raw, err := json.Marshal(listed)
	if err != nil {
		return nil, fmt.Errorf("list the tools of the server: %w", err)
	}
	var tools []contract.Tool
	if err := json.Unmarshal(raw, &tools); err != nil {
		return nil, fmt.Errorf("list the tools of the server: %w", err)
	}
	return tools, nil
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

// ListTools returns all pages of a server's list, not nil, and the _meta of the first one.
func ListTools(ctx context.Context, session *mcp.ClientSession) (tools []*mcp.Tool, about mcp.Meta, err error) {
	tools = []*mcp.Tool{}
	for params := (&mcp.ListToolsParams{}); ; {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return nil, nil, fmt.Errorf("list the tools of the server: %w", err)
		}
		tools = append(tools, page.Tools...)
		if params.Cursor == "" {
			about = page.Meta
		}
		if params.Cursor = page.NextCursor; params.Cursor == "" {
			return tools, about, nil
		}
	}
}
