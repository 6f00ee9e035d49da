package client

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/cli/term"
)

// ToolsCommand lists the tools of a server.
type ToolsCommand struct {
	ServerFlags `embed:""`

	JSON bool `help:"Print each tool as the server describes it, one line of JSON."`
}

// Help shows examples.
func (*ToolsCommand) Help() string {
	return `Prints each tool of an MCP server with its parameters, the optional ones in brackets, and the first sentence of its ` +
		`description. A tool is marked "reads" if the server says that it changes nothing.

Example:

    recourse tools -- farmd
    recourse tools --server http://127.0.0.1:8787/farm/mcp`
}

// Run prints the tools.
func (c *ToolsCommand) Run(ctx context.Context, env *term.Environment, command term.ServerCommand) error {
	tools, about, err := c.list(ctx, env, command)
	if err != nil {
		return err
	}
	defer tellTargets(env, about)
	if len(tools) == 0 {
		term.Printf(env.Stderr, "recourse: the server has no tools\n")
	}
	for _, tool := range tools {
		raw, err := json.Marshal(tool)
		if err != nil {
			return fmt.Errorf("print the tool %s: %w", tool.Name, err)
		}
		if c.JSON {
			term.Printf(env.Stdout, "%s\n", raw)
			continue
		}
		reads := ""
		if tool.Annotations != nil && tool.Annotations.ReadOnlyHint {
			reads = "  reads"
		}
		term.Printf(env.Stdout, "%s(%s)%s\n", tool.Name, strings.Join(parametersIn(raw), ", "), reads)
		if about := term.FirstSentence(tool.Description); about != "" {
			term.Printf(env.Stdout, "    %s\n", about)
		}
	}
	return nil
}

// parametersIn returns the parameters of a tool, the required ones first.
func parametersIn(tool []byte) []string {
	var described struct {
		InputSchema struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		} `json:"inputSchema"`
	}
	_ = json.Unmarshal(tool, &described) // a schema in another form names no parameters
	required := described.InputSchema.Required
	var optional []string
	for name := range described.InputSchema.Properties {
		if !slices.Contains(required, name) {
			optional = append(optional, "["+name+"]")
		}
	}
	slices.Sort(optional)
	return append(slices.Clone(required), optional...)
}
