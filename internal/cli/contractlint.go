package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// contractLint checks contract files, and their advice against a server.
type contractLint struct {
	Files  []string `arg:"" help:"Contract files, each able to extend those before it, or built-in names. After --, a server's command."`
	Server string   `placeholder:"URL" help:"Endpoint of an MCP server over HTTP: hints and verify calls are checked against its tools."`
	Header []string `placeholder:"HEADER" sep:"none" help:"Header for that server, as 'Name: value'."`
}

// Help shows examples.
func (*contractLint) Help() string {
	return `Prints every mistake of contract files with its place. With a server, at a URL or as a command, advice is checked ` +
		`against the tools that it has: a hint or a verify call that names a tool or a parameter that is not there would be left ` +
		`out, or mislead.

Example:

    recourse contract lint shop.yaml
    recourse contract lint shop.yaml --server http://127.0.0.1:9101/mcp
    recourse contract lint fieldmcp -- farmd --stdio`
}

// Run checks the files one after the other.
func (c *contractLint) Run(ctx context.Context, env *Environment, command serverCommand) error {
	if c.Server != "" && len(command) > 0 {
		return &usageError{errors.New("--server and a command name two servers: choose one")}
	}
	live := c.Server != "" || len(command) > 0
	var tools []contract.Tool
	if live {
		var err error
		if tools, err = c.tools(ctx, env, command); err != nil {
			return err
		}
	}
	set := contract.Builtin()
	var mistakes strictyaml.Errors
	for _, path := range c.Files {
		err := lintFile(set, path, live, tools)
		var found strictyaml.Errors
		switch {
		case errors.As(err, &found):
			mistakes = append(mistakes, found...)
		case err != nil:
			return &usageError{err}
		case live:
			printf(env.Stdout, "%s: no mistakes, and its advice fits the %d tools of the server\n", path, len(tools))
		default:
			printf(env.Stdout, "%s: no mistakes\n", path)
		}
	}
	if len(mistakes) > 0 {
		return mistakes
	}
	return nil
}

// lintFile checks a file, and adds it to set for those behind it.
func lintFile(set *contract.Set, path string, live bool, tools []contract.Tool) error {
	if _, builtin := contract.Builtin().Get(path); builtin {
		return contract.LintBuiltinFor(path, tools)
	}
	src, err := os.ReadFile(filepath.Clean(path))
	if live && err == nil {
		if err := set.LintFor(path, src, tools); err != nil {
			return err
		}
	}
	_, err = addContract(set, path, src, err)
	return err
}

// toolsTimeout bounds how long a server may take to say what tools it has.
const toolsTimeout = 30 * time.Second

// tools asks the server for its tools.
func (c *contractLint) tools(ctx context.Context, env *Environment, command serverCommand) ([]contract.Tool, error) {
	ctx, cancel := context.WithTimeout(ctx, toolsTimeout)
	defer cancel()
	transport, err := c.transport(ctx, env, command)
	if err != nil {
		return nil, &usageError{err}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "recourse", Version: moduleVersion()}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return nil, fmt.Errorf("connect to the server: %w", err)
	}
	defer session.Close()
	var tools []contract.Tool
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list the tools of the server: %w", err)
		}
		schema, err := json.Marshal(tool.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("list the tools of the server: the inputSchema of %s: %w", tool.Name, err)
		}
		tools = append(tools, contract.Tool{
			Name: tool.Name, InputSchema: schema, Writes: tool.Annotations != nil && !tool.Annotations.ReadOnlyHint,
		})
	}
	return tools, nil
}

// transport returns the way to the server.
func (c *contractLint) transport(ctx context.Context, env *Environment, command serverCommand) (mcp.Transport, error) {
	if len(command) > 0 {
		program := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the user's own command
		program.Env, program.Stderr = env.Environ, env.Stderr
		return &mcp.CommandTransport{Command: program}, nil
	}
	headers := http.Header{}
	for _, line := range c.Header {
		name, value, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("%q is no header: write 'Name: value'", line)
		}
		headers.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return &mcp.StreamableClientTransport{
		Endpoint: c.Server, HTTPClient: &http.Client{Transport: headerTransport{headers}},
		MaxRetries: -1, DisableStandaloneSSE: true,
	}, nil
}

// headerTransport adds headers to requests.
type headerTransport struct{ headers http.Header }

// RoundTrip sends the request with the headers.
func (t headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, t.headers)
	return http.DefaultTransport.RoundTrip(r) //nolint:wrapcheck // what it says is said once
}
