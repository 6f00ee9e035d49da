package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/kinddoc"
	"github.com/recoursehq/recourse/retry"
)

// explainCommand reads any answer of any MCP server.
type explainCommand struct {
	storeSource `embed:""`

	File     string   `arg:"" help:"File with the answer, - for standard input, or the id of a request that is in a gateway's journal."`
	Contract string   `placeholder:"NAME" help:"Also show the failure as this contract writes it: its name or file."`
	All      bool     `help:"Also show the failure as every built-in contract writes it."`
	Reads    []string `placeholder:"NAME" help:"Contract that the server follows, and families of failures: their weak signs count."`
	Writes   bool     `help:"Assume that the tool that failed writes; the default is that it only reads."`
	Tool     string   `placeholder:"NAME" help:"Name of the tool that failed, for advice that names it."`
	JSON     bool     `help:"Print the result as one JSON object; its failure is null for a success."`
}

// Help shows an example.
func (*explainCommand) Help() string {
	return `Paste any MCP server's answer: a JSON-RPC message, a result, an event stream, an HTTP response with its ` +
		`headers, or the bare text of a tool's error. It shows how the answer is read and, with --contract or --all, how contracts ` +
		`would write it.

Given the id of a request, it tells what happened to it, from the journal that a gateway keeps in its store: each attempt, each wait, ` +
		`and the reasons between them.

Example:

    recourse explain answer.json
    recourse explain req-7037070b8af55bc8183aa169`
}

// maxAnswer bounds the answer that is read.
const maxAnswer = 4 << 20

// Run explains the answer.
func (c *explainCommand) Run(ctx context.Context, env *Environment) error {
	if c.isRequest(env) {
		return c.explainRequest(ctx, env)
	}
	text, err := c.read(env)
	if err != nil {
		return err
	}
	set := contract.Builtin()
	shown, err := c.contracts(set)
	if err != nil {
		return err
	}
	found, err := parseAnswer(text)
	if err != nil {
		return &usageError{&hintedError{err, "paste a JSON-RPC message, a result, an HTTP response or the text of a tool's error"}}
	}
	reader := contract.Reader{Contracts: set.All()}
	if err := addReads(&reader, c.Reads); err != nil {
		return err
	}
	reading, failed := found.read(&reader)
	nature := retry.Reads
	if c.Writes {
		nature = retry.Writes
	}
	if c.JSON {
		return c.printJSON(env.Stdout, set, found.form, reading, nature)
	}
	out := env.painter(env.Stdout)
	linef(out, "input", "%s", found.form)
	if !failed {
		linef(out, "read as", "a success: no sign of a failure in it")
		return nil
	}
	if question, ok := reading.Failure.(*recourse.NeedsInput); ok {
		ask(out, question, reading.Sign)
		return nil
	}
	e := reading.Error()
	c.describe(out, set, reading, nature)
	e = e.WithEffect(retry.Effect(e, nature))
	linef(out, "see", "%s", kinddoc.URL(e.Kind))
	if len(shown) == 0 {
		linef(out, "more", "--contract NAME or --all shows how contracts say it")
	}
	for _, as := range shown {
		printf(env.Stdout, "\nas %s writes it, for a tool that %s:\n\n%s", as.Name, nature, form(as, e, c.Tool))
	}
	return nil
}

// isRequest reports whether the argument names a request: there is no such file, and a journal to look into.
func (c *explainCommand) isRequest(env *Environment) bool {
	if c.File == "-" || strings.ContainsAny(c.File, `/\`) {
		return false
	}
	if _, err := os.Stat(c.File); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if c.Store != "" || strings.HasPrefix(c.File, requestPrefix) {
		return true
	}
	address, err := c.address(env)
	return err == nil && address != ""
}

// requestPrefix begins the ids that the gateway gives to requests.
const requestPrefix = "req-"

// contracts returns those in whose words the failure is shown.
func (c *explainCommand) contracts(set *contract.Set) ([]*contract.Contract, error) {
	switch {
	case c.JSON && (c.All || c.Contract != ""):
		return nil, &usageError{errors.New("--json prints no contracts: leave out --all and --contract")}
	case c.All:
		return set.All(), nil
	case c.Contract == "":
		return nil, nil
	}
	as, err := findContract(c.Contract)
	return []*contract.Contract{as}, err
}

func (c *explainCommand) read(env *Environment) ([]byte, error) {
	from := env.Stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, &usageError{fmt.Errorf("read the answer: %w", err)}
		}
		defer f.Close()
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
func (c *explainCommand) describe(w painter, set *contract.Set, reading contract.Reading, nature retry.Nature) {
	e := reading.Error()
	linef(w, "read as", "%s, by %s", e.Kind, reading.Sign)
	linef(w, "message", "%s", e.Sentence())
	linef(w, "class", "%s", e.Kind.Class())
	linef(w, "origin", "%s", e.Origin)
	linef(w, "effect", "%s", byNature(func(n retry.Nature) string { return string(retry.Effect(e, n)) }))
	linef(w, "retry", "%s", byNature(func(n retry.Nature) string { return advice(e.WithEffect(retry.Effect(e, n))) }))
	if e.RetryAfter > 0 {
		linef(w, "wait", "at least %s", recourse.FormatWait(e.RetryAfter))
	}
	for _, v := range e.Violations {
		linef(w, "violation", "%s: %s", v.Param, strings.TrimSpace(v.Message+" ("+v.Rule+")"))
	}
	for _, item := range e.Failed {
		if item.Error != nil {
			linef(w, "failed", "%s: %s: %s", item.ID, item.Error.Kind, item.Error.Sentence())
		}
	}
	if e.Upstream.Code != "" {
		linef(w, "its code", "%s", e.Upstream.Code)
	}
	for _, hint := range c.hints(set, e, nature) {
		linef(w, "what to do", "%s", hint)
	}
	if e.RequestID != "" {
		linef(w, "request id", "%s", e.RequestID)
	}
}

// hints returns what to do: what the failure itself says, or else the default contract.
func (c *explainCommand) hints(set *contract.Set, e *recourse.Error, nature retry.Nature) []string {
	own, ok := set.Get(contract.Default)
	if !ok || len(e.Hints) > 0 {
		return e.Hints
	}
	return own.Write(e.WithEffect(retry.Effect(e, nature)), &contract.Call{Method: methodCall, Tool: c.Tool}).Record.Hints
}

// ask prints a question.
func ask(w painter, question *recourse.NeedsInput, sign string) {
	linef(w, "read as", "a question, no failure, by %s", sign)
	linef(w, "question", "%s", question.Message)
	if question.Reason != "" {
		linef(w, "reason", "%s", question.Reason)
	}
	for _, field := range question.Fields {
		text := field
		if suggestions := question.Suggestions[field]; len(suggestions) > 0 {
			text += ": " + strings.Join(suggestions, ", ")
		}
		linef(w, "field", "%s", text)
	}
	for _, option := range question.Options {
		linef(w, "option", "%s: %s", option.Label, option.Value)
	}
	linef(w, "what to do", "ask the person or the model, and make the same call with the answer")
}

// linef prints a name and its value, which may have several lines.
func linef(w painter, name, format string, args ...any) {
	text := strings.ReplaceAll(strings.TrimSpace(fmt.Sprintf(format, args...)), "\n", "\n           ")
	w.printf(dim, "%-10s", name)
	w.printf(plain, " %s\n", text)
}

// byNature says something of a tool that reads and of one that writes.
func byNature(say func(retry.Nature) string) string {
	reads, writes := say(retry.Reads), say(retry.Writes)
	if reads == writes {
		return reads + ", whether the tool reads or writes"
	}
	return reads + " if the tool reads, " + writes + " if it writes"
}

// advice spells what has to come before a repetition.
func advice(e *recourse.Error) string {
	before := map[recourse.Retry]string{
		recourse.RetrySameCall:  "the same call may succeed",
		recourse.RetryReRead:    "look at the present state first",
		recourse.RetryAfterFix:  "with other arguments",
		recourse.RetryAfterAuth: "after somebody has signed in or granted access",
		recourse.RetryNever:     "do not repeat it",
	}
	return fmt.Sprintf("%s (%s)", e.RetryAdvice(), before[e.RetryAdvice()])
}

const methodCall = "tools/call"

// form prints the wire form that a contract gives to a failed tools/call.
func form(c *contract.Contract, e *recourse.Error, tool string) string {
	answer := c.Write(e, &contract.Call{Method: methodCall, Tool: tool, At: contract.AtTool, HTTP: true})
	var body []byte
	var b strings.Builder
	switch answer.Surface {
	case contract.SurfaceResult:
		body = json.Without(json.Value(answer.Result), "_meta")
		fmt.Fprintln(&b, "    tool result, with the record in _meta")
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
