package cli

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/retry"
)

// explainCommand reads any answer of any MCP server.
type explainCommand struct {
	File   string `arg:"" help:"File with the answer; - reads standard input."`
	Writes bool   `help:"Show what the contracts say when the tool that failed writes; otherwise it reads."`
	Tool   string `placeholder:"NAME" help:"Name of the tool that failed, for advice that names it."`
}

// Help shows an example.
func (*explainCommand) Help() string {
	return `Paste any answer of any MCP server: a JSON-RPC message, a result, an event stream, an HTTP response with its ` +
		`headers, or the bare text of a tool's error. It says how the answer is read, and how each built-in contract would say it.

Example:

    recourse explain answer.json`
}

// maxAnswer bounds the answer that is read.
const maxAnswer = 4 << 20

// Run explains the answer.
func (c *explainCommand) Run(env *Environment) error {
	text, err := c.read(env)
	if err != nil {
		return err
	}
	set := contract.Builtin()
	found, err := parseAnswer(text)
	if err != nil {
		return &usageError{&hintedError{err, "paste a JSON-RPC message, a result, an HTTP response or the text of a tool's error"}}
	}
	reading, failed := found.read(&contract.Reader{Contracts: set.All()})
	printf(env.Stdout, "input      %s\n", found.form)
	if !failed {
		printf(env.Stdout, "read as    a success: no sign of a failure in it\n")
		return nil
	}
	if question, ok := reading.Failure.(*recourse.NeedsInput); ok { //nolint:errorlint // a sealed interface
		printf(env.Stdout, "read as    a question, by %s: %s\n", reading.Sign, question.Message)
		return nil
	}
	nature := retry.Reads
	if c.Writes {
		nature = retry.Writes
	}
	e := reading.Error()
	c.describe(env.Stdout, set, reading.Sign, e, nature)
	e = e.WithEffect(retry.Effect(e, nature))
	for _, as := range set.All() {
		printf(env.Stdout, "\nas %s says it, of a tool that %s:\n\n%s", as.Name, nature, form(as, e, c.Tool))
	}
	return nil
}

func (c *explainCommand) read(env *Environment) ([]byte, error) {
	from := env.Stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, &usageError{fmt.Errorf("read the answer: %w", err)}
		}
		defer f.Close() //nolint:errcheck // it was only read
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(text) > maxAnswer {
		return nil, &usageError{fmt.Errorf("the answer is larger than %d MiB", maxAnswer>>20)}
	}
	return text, nil
}

// describe prints how a failure is read.
func (c *explainCommand) describe(w io.Writer, set *contract.Set, sign string, e *recourse.Error, nature retry.Nature) {
	line := func(name, format string, args ...any) {
		text := strings.ReplaceAll(strings.TrimSpace(fmt.Sprintf(format, args...)), "\n", "\n           ")
		printf(w, "%-10s %s\n", name, text)
	}
	line("read as", "%s, by %s", e.Kind, sign)
	line("message", "%s", e.Sentence())
	line("class", "%s", e.Kind.Class())
	line("origin", "%s", e.Origin)
	line("effect", "%s if the tool reads, %s if it writes", retry.Effect(e, retry.Reads), retry.Effect(e, retry.Writes))
	line("retry", "%s", advice(e))
	if e.After > 0 {
		line("wait", "at least %s", recourse.Wait(e.After))
	}
	for _, v := range e.Violations {
		line("violation", "%s: %s", v.Param, strings.TrimSpace(v.Message+" ("+v.Rule+")"))
	}
	hints := e.Hints
	if own, ok := set.Get(contract.Default); ok && len(hints) == 0 {
		hints = own.Write(e.WithEffect(retry.Effect(e, nature)), &contract.Call{Method: methodCall, Tool: c.Tool}).Record.Hints
	}
	for _, hint := range hints {
		line("what to do", "%s", hint)
	}
	if e.RequestID != "" {
		line("request id", "%s", e.RequestID)
	}
}

// advice spells what has to come before a repetition.
func advice(e *recourse.Error) string {
	safe := map[recourse.Retry]string{
		recourse.RetrySameCall:  "the same call may succeed; of a tool that writes find out first whether it has",
		recourse.RetryReRead:    "look at the present state first",
		recourse.RetryAfterFix:  "with other arguments",
		recourse.RetryAfterAuth: "after somebody has signed in or granted access",
		recourse.RetryNever:     "no",
	}
	return string(e.RetryAdvice()) + ": " + safe[e.RetryAdvice()]
}

const methodCall = "tools/call"

// form prints the wire form that a contract gives to a failed tools/call.
func form(c *contract.Contract, e *recourse.Error, tool string) string {
	answer := c.Write(e, &contract.Call{Method: methodCall, Tool: tool, At: contract.AtTool, HTTP: true})
	var body []byte
	var b strings.Builder
	switch answer.Surface {
	case contract.SurfaceResult:
		body = answer.Result
		fmt.Fprintln(&b, "    tool result")
	case contract.SurfaceRPC:
		fmt.Fprintln(&b, "    JSON-RPC error")
		body = fmt.Appendf(nil, `{"code":%d,"message":%s,"data":%s}`, answer.Code, json.AppendQuote(nil, answer.Message), answer.Data)
	case contract.SurfaceHTTP:
		fmt.Fprintf(&b, "    HTTP %d\n", answer.Status)
		for _, name := range slices.Sorted(maps.Keys(answer.Header)) {
			fmt.Fprintf(&b, "    %s: %s\n", name, strings.Join(answer.Header[name], ", "))
		}
		body = answer.Body
	}
	pretty, err := json.AppendIndent(nil, body, "  ")
	if err != nil {
		pretty = body
	}
	for line := range strings.Lines(string(pretty) + "\n") {
		b.WriteString("    " + line)
	}
	return b.String()
}
