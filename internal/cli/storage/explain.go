package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/ops/explain"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/retry"
)

// ExplainCommand reads any answer of any MCP server.
type ExplainCommand struct {
	load.StoreFlags `embed:""`

	File     string   `arg:"" help:"${explain_file}"`
	Contract string   `placeholder:"NAME" help:"Also show the failure as this contract writes it: its name or file."`
	All      bool     `help:"Also show the failure as every built-in contract writes it."`
	Reads    []string `placeholder:"NAME" help:"${explain_reads}"`
	Writes   bool     `help:"${explain_writes}" xor:"nature"`
	ReadOnly bool     `help:"The tool that failed is known to only read." xor:"nature"`
	Trusted  bool     `help:"${explain_trusted}"`
	Args     string   `placeholder:"JSON" help:"${explain_args}"`
	Tool     string   `placeholder:"NAME" help:"Name of the tool that failed, for advice that names it."`
	JSON     bool     `help:"Print the result as one JSON object; its failure is null for a success."`
}

// Help shows an example.
func (*ExplainCommand) Help() string {
	return `Paste any MCP server's answer: a JSON-RPC message, a result, an event stream, an HTTP response with its ` +
		`headers, or the bare text of a tool's error. It shows how the answer is read, and what a gateway would tell instead with ` +
		`nothing configured for the server; with --contract or --all, also how contracts would write it.

Given the id of a request, it tells what happened to it, from the journal that a gateway keeps in its store: each attempt, each wait, ` +
		`and the reasons between them.

Example:

    recourse explain answer.json
    recourse explain req-7037070b8af55bc8183aa169`
}

// Run explains the answer.
func (c *ExplainCommand) Run(ctx context.Context, env *term.Environment) error {
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
	reader := contract.Reader{Contracts: set.All(), Trusted: c.Trusted}
	if err := load.AddReads(&reader, c.Reads); err != nil {
		return err
	}
	reading, err := explain.Read(text, &reader)
	if err != nil {
		return term.Usage(term.Hint(err, "paste a JSON-RPC message, a result, an HTTP response or the text of a tool's error"))
	}
	of := c.tool()
	if c.JSON {
		said := reading.Explanation(set, of)
		if said.Contracts, err = forms(reading, set, shown, of); err != nil {
			return err
		}
		return term.PrintJSON(env.Stdout, said)
	}
	out := env.Painter(env.Stdout)
	printLines(out, reading.Lines(set, of))
	if reading.Failure == nil {
		return nil
	}
	if len(shown) == 0 {
		printLines(out, explain.Lines{{Name: "more", Text: "--contract NAME or --all shows how contracts say it"}})
	}
	for _, as := range shown {
		answer, err := reading.Told(set, as, of)
		if err != nil {
			return err
		}
		term.Printf(env.Stdout, "\nas %s writes it, for a tool %s:\n\n%s", as.Name, c.known(), indented(explain.FormOf(answer).String()))
	}
	return nil
}

// forms returns the failure as each of the contracts writes it, by their names.
func forms(
	reading *explain.Reading, set *contract.Set, shown []*contract.Contract, of explain.ToolFacts,
) (map[string]explain.WireForm, error) {
	if reading.Failure == nil || len(shown) == 0 {
		return nil, nil
	}
	written := map[string]explain.WireForm{}
	for _, as := range shown {
		answer, err := reading.Told(set, as, of)
		if err != nil {
			return nil, err
		}
		written[as.Name] = explain.FormOf(answer)
	}
	return written, nil
}

// tool returns what is said of the tool that has answered.
func (c *ExplainCommand) tool() explain.ToolFacts {
	of := explain.ToolFacts{Name: c.Tool, Arguments: []byte(c.Args), Trusted: c.Trusted}
	switch {
	case c.Writes:
		of.Nature = new(retry.Writes)
	case c.ReadOnly:
		of.Nature = new(retry.Reads)
	}
	return of
}

// known says what is known of the tool.
func (c *ExplainCommand) known() string {
	switch {
	case c.Writes:
		return "that writes"
	case c.ReadOnly:
		return "that only reads"
	default:
		return "about which nobody says anything"
	}
}

// explainRequest explains the calls with a request id.
func (c *ExplainCommand) explainRequest(ctx context.Context, env *term.Environment) error {
	s, err := c.Open(ctx, env)
	if err != nil {
		return err
	}
	defer s.Close()
	calls, err := journal.Of(ctx, s.Journal(), c.File)
	if err != nil {
		return err
	}
	if len(calls) == 0 {
		return term.Hint(
			fmt.Errorf("the journal has no request %q, and there is no such file", c.File),
			"it keeps only a share of the calls that succeed, and writes all of them a moment after they end; see `recourse failures`",
		)
	}
	for i, call := range calls {
		if c.JSON {
			if err := term.PrintJSON(env.Stdout, call); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			term.Printf(env.Stdout, "\n")
		}
		printLines(env.Painter(env.Stdout), explain.Story(call))
	}
	return nil
}

// isRequest reports whether the argument is a request id: no file has that name, and there is a journal
// to search.
func (c *ExplainCommand) isRequest(env *term.Environment) bool {
	if c.File == "-" || strings.ContainsAny(c.File, `/\`) {
		return false
	}
	if _, err := os.Stat(c.File); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if c.Store != "" || strings.HasPrefix(c.File, requestPrefix) {
		return true
	}
	address, err := c.Address(env)
	return err == nil && address != ""
}

// requestPrefix is the prefix of the request ids that the gateway generates.
const requestPrefix = "req-"

// contracts returns the contracts in which the failure is shown.
func (c *ExplainCommand) contracts(set *contract.Set) ([]*contract.Contract, error) {
	switch {
	case c.All:
		return set.All(), nil
	case c.Contract == "":
		return nil, nil
	}
	as, err := load.Contract(c.Contract)
	return []*contract.Contract{as}, err
}

func (c *ExplainCommand) read(env *term.Environment) ([]byte, error) {
	from := env.Stdin
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return nil, term.Usage(fmt.Errorf("read the answer: %w", err))
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, explain.MaxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(text) > explain.MaxAnswer {
		return nil, term.Usage(fmt.Errorf("the answer is larger than %d MiB", explain.MaxAnswer>>20))
	}
	return text, nil
}

// printLines prints the explanation, with the names dimmed.
func printLines(w term.Painter, lines explain.Lines) {
	for _, l := range lines {
		if l == (explain.Line{}) {
			w.Printf(term.Plain, "\n")
			continue
		}
		w.Printf(term.Dim, "%s", l.Label())
		w.Printf(term.Plain, " %s\n", l.Body())
	}
}

// indented returns a text that stands apart from what is around it.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("    " + line)
	}
	return b.String()
}
