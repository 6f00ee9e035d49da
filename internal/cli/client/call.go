package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/policy/once"
)

// CallCommand calls a tool from the command line.
type CallCommand struct {
	ServerFlags `embed:""`

	Tool      string         `arg:"" help:"Name of the tool."`
	Arguments []string       `arg:"" optional:"" help:"Its arguments: one JSON object, or NAME=VALUE with plain text or JSON."`
	Reads     []string       `placeholder:"NAME" help:"${call_reads}"`
	Timeout   *time.Duration `placeholder:"DURATION" help:"${call_timeout}"`
	Recover   bool           `help:"${call_recover}"`
	Key       string         `placeholder:"KEY" help:"Idempotency key of the call, the same for each repetition (docs/once.md)."`
	JSON      bool           `help:"Print the whole result as JSON."`
}

// Help shows an example.
func (*CallCommand) Help() string {
	return `Prints the tool's answer, or on standard error how it failed and what to do. The exit code says which sort of failure ` +
		`it was: 2 input, 3 credentials or permission, 4 not found, 5 one that may go away by itself, 1 any other.

Example:

    recourse call get_field field_id=F-1 -- farmd`
}

// Run makes the call.
func (c *CallCommand) Run(ctx context.Context, env *term.Environment, command term.ServerCommand) error {
	arguments, err := c.arguments()
	if err != nil {
		return term.Usage(err)
	}
	reader := liveReader()
	if err := load.AddReads(reader, c.Reads); err != nil {
		return err
	}
	timeout := c.timeout()
	if timeout <= 0 {
		return term.Usage(errors.New("--timeout must be more than 0, such as 30s"))
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	session, err := c.open(ctx, env, command, reader.Weak)
	if err != nil {
		return failedCall(reader, err)
	}
	defer session.Close()
	var tools []*mcp.Tool // if a server cannot list its tools, the call is still made
	guessed := !c.isObject() && slices.ContainsFunc(slices.Collect(maps.Values(arguments)), isPlain)
	if c.Recover || guessed {
		tools, _, _ = ListTools(ctx, session.ClientSession)
	}
	if guessed {
		asTexts(tools, c.Tool, arguments)
	}
	params := &mcp.CallToolParams{Name: c.Tool, Arguments: arguments}
	if c.Key != "" {
		params.Meta = mcp.Meta{once.KeyMembers[0]: c.Key}
	}
	var result *mcp.CallToolResult
	if c.Recover {
		result, err = c.recover(ctx, env, session, reader.Weak, tools, params)
	} else {
		result, err = session.CallTool(ctx, params)
	}
	if err != nil {
		return c.failed(env, reader, err)
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	if c.JSON {
		term.Printf(env.Stdout, "%s\n", raw)
	}
	if reading, failed := reader.Result(raw); failed {
		if e := reading.Error(); e != nil && !c.JSON {
			if err := printSucceeded(env.Stdout, e.Succeeded); err != nil {
				return err
			}
		}
		return &term.CallError{Failure: reading.Failure}
	}
	if e := recordIn(result); e != nil { // from a tool that returns its failures as data
		return &term.CallError{Failure: e}
	}
	if !c.JSON {
		return printResult(env.Stdout, result)
	}
	return nil
}

// failed returns the failure of a call. Whatever succeeded is printed.
func (c *CallCommand) failed(env *term.Environment, reader *contract.Reader, err error) error {
	if e, ok := errors.AsType[*recourse.Error](err); ok && !c.JSON {
		if err := printSucceeded(env.Stdout, e.Succeeded); err != nil {
			return err
		}
	}
	return failedCall(reader, err)
}

// recordIn returns the failure record in a result without isError.
func recordIn(result *mcp.CallToolResult) *recourse.Error {
	record, ok := result.Meta[recourse.MetaKey]
	if !ok {
		return nil
	}
	e := new(recourse.Error)
	if raw, err := json.Marshal(record); err == nil && e.UnmarshalJSON(raw) == nil {
		return e
	}
	return nil
}

// isObject reports whether the arguments are given as one JSON object.
func (c *CallCommand) isObject() bool {
	return len(c.Arguments) == 1 && strings.HasPrefix(strings.TrimSpace(c.Arguments[0]), "{")
}

// arguments returns the call's arguments, those in JSON as they were written: a long number would lose its last digits as a float64.
func (c *CallCommand) arguments() (map[string]json.RawMessage, error) {
	arguments := map[string]json.RawMessage{}
	if c.isObject() {
		if err := json.Unmarshal([]byte(c.Arguments[0]), &arguments); err != nil {
			return nil, term.Hint(
				fmt.Errorf("the arguments are not a JSON object: %w", err), `write them as '{"NAME": "VALUE"}', or as NAME=VALUE`,
			)
		}
		return arguments, nil
	}
	for _, text := range c.Arguments {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is not an argument: write NAME=VALUE, or one JSON object", text)
		}
		arguments[name] = json.RawMessage(value)
		if !json.Valid([]byte(value)) {
			arguments[name] = quoted(value)
		}
	}
	return arguments, nil
}

// asTexts makes a text of each plain value that is JSON, such as 5, if the tool's inputSchema has a string there.
func asTexts(tools []*mcp.Tool, tool string, arguments map[string]json.RawMessage) {
	i := slices.IndexFunc(tools, func(t *mcp.Tool) bool { return t.Name == tool })
	if i < 0 {
		return
	}
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	if raw, err := json.Marshal(tools[i].InputSchema); err != nil || json.Unmarshal(raw, &schema) != nil {
		return
	}
	for name, value := range arguments {
		if isPlain(value) && schema.Properties[name].Type == "string" {
			arguments[name] = quoted(string(value))
		}
	}
}

// quoted returns a text as a JSON string.
func quoted(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // a string has a form in JSON
	return raw
}

// isPlain reports whether an argument is JSON other than a string.
func isPlain(value json.RawMessage) bool {
	return !bytes.HasPrefix(bytes.TrimSpace(value), []byte{'"'})
}

// printResult prints the texts of a result, and everything else as JSON.
func printResult(out io.Writer, result *mcp.CallToolResult) error {
	for _, block := range result.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			term.Printf(out, "%s\n", strings.TrimSuffix(text.Text, "\n"))
			continue
		}
		if err := term.PrintJSON(out, block); err != nil {
			return err
		}
	}
	if len(result.Content) > 0 || result.StructuredContent == nil {
		return nil
	}
	return term.PrintJSON(out, result.StructuredContent)
}

// printSucceeded prints the items of a batch that succeeded, one per line: they are usable although the
// call failed.
func printSucceeded(out io.Writer, items []recourse.SucceededItem) error {
	for _, item := range items {
		if err := term.PrintJSON(out, item); err != nil {
			return err
		}
	}
	return nil
}

// failedCall returns the failure behind an error of the SDK's client.
func failedCall(reader *contract.Reader, err error) error {
	if term.IsUsage(err) {
		return err
	}
	if f, ok := errors.AsType[recourse.Failure](err); ok {
		return &term.CallError{Failure: f}
	}
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok {
		if raw, err := json.Marshal(refused); err == nil {
			return &term.CallError{Failure: reader.RPC(raw).Failure}
		}
	}
	if e := recourse.From(err); e.Kind != recourse.KindInternal {
		return &term.CallError{Failure: e}
	}
	return err
}

// timeout returns how long the call may take.
func (c *CallCommand) timeout() time.Duration {
	switch {
	case c.Timeout != nil:
		return *c.Timeout
	case c.Recover:
		return 5 * time.Minute
	default:
		return time.Minute
	}
}
