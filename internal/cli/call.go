package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/visible"
)

// callCommand calls a tool from the command line.
type callCommand struct {
	liveServer `embed:""`

	Tool      string        `arg:"" help:"Name of the tool."`
	Arguments []string      `arg:"" optional:"" help:"Its arguments: one JSON object, or NAME=VALUE where the value is JSON or plain text."`
	Reads     []string      `placeholder:"NAME" help:"Contract that the server follows, and families of failures: their weak signs count."`
	Timeout   time.Duration `default:"1m" help:"How long the call may take."`
	Recover   bool          `help:"Wait, repeat and verify as the contract of --reads asks of a client, and report it on standard error."`
	JSON      bool          `help:"Print the whole result as JSON."`
}

// Help shows an example.
func (*callCommand) Help() string {
	return `Prints the tool's answer, or on standard error how it failed and what to do. The exit code says which sort of failure ` +
		`it was: 2 input, 3 credentials or permission, 4 not found, 5 one that may go away by itself, 1 any other.

Example:

    recourse call get_field field_id=F-1 -- farmd`
}

// Run makes the call.
func (c *callCommand) Run(ctx context.Context, env *Environment, command serverCommand) error {
	arguments, err := c.arguments()
	if err != nil {
		return &usageError{err}
	}
	reader := liveReader()
	if err := addReads(reader, c.Reads); err != nil {
		return err
	}
	if c.Timeout <= 0 {
		return &usageError{errors.New("--timeout must be more than 0, such as 30s")}
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	session, err := c.connect(ctx, env, command)
	if err != nil {
		return failedCall(reader, err)
	}
	defer session.Close()
	params := &mcp.CallToolParams{Name: c.Tool, Arguments: arguments}
	var result *mcp.CallToolResult
	if c.Recover {
		result, err = c.recover(ctx, env, session, reader.Weak, params)
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
		printf(env.Stdout, "%s\n", visible.EscapeJSON(raw))
	}
	if reading, failed := reader.Result(raw); failed {
		if e := reading.Error(); e != nil && !c.JSON {
			if err := printSucceeded(env.Stdout, e.Succeeded); err != nil {
				return err
			}
		}
		return &callError{reading.Failure}
	}
	if e := recordIn(result); e != nil { // from a tool that returns its failures as data
		return &callError{e}
	}
	if !c.JSON {
		return printResult(env.Stdout, result)
	}
	return nil
}

// failed returns the failure of a call. Whatever succeeded is printed.
func (c *callCommand) failed(env *Environment, reader *contract.Reader, err error) error {
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

// arguments returns the call's arguments.
func (c *callCommand) arguments() (map[string]any, error) {
	arguments := map[string]any{}
	if len(c.Arguments) == 1 && strings.HasPrefix(strings.TrimSpace(c.Arguments[0]), "{") {
		if err := json.Unmarshal([]byte(c.Arguments[0]), &arguments); err != nil {
			return nil, &hintedError{
				fmt.Errorf("the arguments are not a JSON object: %w", err), `write them as '{"NAME": "VALUE"}', or as NAME=VALUE`,
			}
		}
		return arguments, nil
	}
	for _, text := range c.Arguments {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is not an argument: write NAME=VALUE, or one JSON object", text)
		}
		if json.Valid([]byte(value)) {
			arguments[name] = json.RawMessage(value)
		} else {
			arguments[name] = value
		}
	}
	return arguments, nil
}

// printResult prints the texts of a result, and everything else as JSON.
func printResult(out io.Writer, result *mcp.CallToolResult) error {
	for _, block := range result.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			printf(out, "%s\n", visible.Escape(strings.TrimSuffix(text.Text, "\n")))
			continue
		}
		raw, err := json.Marshal(block)
		if err != nil {
			return fmt.Errorf("print the result: %w", err)
		}
		printf(out, "%s\n", visible.EscapeJSON(raw))
	}
	if len(result.Content) > 0 || result.StructuredContent == nil {
		return nil
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	printf(out, "%s\n", visible.EscapeJSON(raw))
	return nil
}

// printSucceeded prints the items of a batch that succeeded, one per line: they are usable although the
// call failed.
func printSucceeded(out io.Writer, items []recourse.Succeeded) error {
	for _, item := range items {
		raw, err := json.Marshal(item)
		if err != nil {
			return fmt.Errorf("print the items that succeeded: %w", err)
		}
		printf(out, "%s\n", visible.EscapeJSON(raw))
	}
	return nil
}

// failedCall returns the failure behind an error of the SDK's client.
func failedCall(reader *contract.Reader, err error) error {
	if _, ok := errors.AsType[*usageError](err); ok {
		return err
	}
	if f, ok := errors.AsType[recourse.Failure](err); ok {
		return &callError{f}
	}
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok {
		if raw, err := json.Marshal(refused); err == nil {
			return &callError{reader.RPC(raw).Failure}
		}
	}
	if e := recourse.From(err); e.Kind != recourse.KindInternal {
		return &callError{e}
	}
	return err
}

// A callError is a call that failed, or that was answered with a question.
type callError struct{ failure recourse.Failure }

// Error returns the text for people, without a full stop.
func (e *callError) Error() string { return e.failure.Error() }

// print says what happened and what to do, and returns the exit code.
func (e *callError) print(out painter) (exitCode int) {
	failed, ok := e.failure.(*recourse.Error)
	if !ok {
		out.errorf("%s", visible.Escape(strings.TrimSuffix(e.failure.Error(), ".")))
		return ExitUsage
	}
	code := ""
	if failed.Code != "" {
		code = " (" + failed.Code + ")"
	}
	out.errorf("%s%s", visible.Escape(strings.TrimSuffix(failed.Sentence(), ".")), visible.Escape(code))
	for _, item := range failed.Failed {
		if item.Error != nil {
			out.printf(plain, "%s\n", visible.Escape(item.ID+": "+item.Error.Code+": "+strings.TrimSuffix(item.Error.Sentence(), ".")))
		}
	}
	for _, hint := range failed.Hints {
		out.hintf("%s", visible.Escape(strings.TrimSuffix(hint, ".")))
	}
	return exitCodeOf(failed)
}

// exitCodeOf returns the exit code for a failure. What the server says about retrying overrides the
// kind: the same kind is transient in one contract, and not in another.
func exitCodeOf(e *recourse.Error) int {
	switch e.Kind.Class() {
	case recourse.ClassProtocol, recourse.ClassInput:
		return ExitUsage
	case recourse.ClassAuth, recourse.ClassPermission:
		return ExitAuth
	case recourse.ClassResource:
		return ExitNotFound
	default:
		refuses := e.Retry == recourse.RetryNever && e.Kind.Class() != recourse.ClassAllowance // a limit passes in any case
		if mayPass(e) || e.Kind.Retry() == recourse.RetrySameCall && !refuses {
			return ExitTransient
		}
		return ExitFailure
	}
}

// mayPass reports whether the contract of e says that the same call may succeed later.
func mayPass(e *recourse.Error) bool {
	c, ok := contract.Builtin().Get(e.Contract)
	if !ok {
		return e.Retry == recourse.RetrySameCall
	}
	return c.Retryable(e.WithEffect(recourse.EffectNone), &contract.Call{})
}
