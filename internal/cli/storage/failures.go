// Package storage holds the commands that look into the store of a gateway, or change what is there: failures, explain, actions, key
// and connections.
package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/ops/explain"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/yaml/nearest"
)

// FailuresCommand lists failed calls.
type FailuresCommand struct {
	load.StoreFlags `embed:""`

	Server string `placeholder:"NAME" help:"Only calls of this server."`
	Tool   string `placeholder:"NAME" help:"Only calls of this tool."`
	Kind   string `placeholder:"KIND" help:"Only failures of this kind, such as timeout."`
	Origin string `placeholder:"WHO" help:"Only failures of the caller, gateway, server or provider."`
	Caller string `placeholder:"NAME" help:"Only calls of this caller or organisation."`
	Since  string `placeholder:"WHEN" help:"${failures_since}"`
	Limit  int    `default:"50" placeholder:"N" help:"How many at most, the latest ones (default: 50)."`
	All    bool   `help:"Also list the calls that succeeded, as far as the journal keeps them."`
	Follow bool   `short:"f" help:"Go on listing calls as they fail, until Ctrl-C."`
	JSON   bool   `help:"Print each call with all that is known of it, one line of JSON."`
}

// Help shows an example.
func (*FailuresCommand) Help() string {
	return `Lists calls that failed, the latest last, from the journal that a gateway keeps in its store. The gateway may be running. ` +
		"`recourse explain REQUEST_ID` tells what happened to one of them." + `

Example:

    recourse failures --since 1h`
}

// Run lists the calls.
func (c *FailuresCommand) Run(ctx context.Context, env *term.Environment) error {
	filter, err := c.filter()
	if err != nil {
		return err
	}
	s, err := c.Open(ctx, env)
	if err != nil {
		return err
	}
	defer s.Close()
	rows := s.Journal()
	var next *follower
	if c.Follow {
		if next, err = newFollower(ctx, rows, filter); err != nil {
			return err
		}
	}
	calls, err := journal.Find(ctx, rows, filter)
	if err != nil {
		return err
	}
	if len(calls) == 0 && !c.Follow {
		term.Printf(env.Stderr, "recourse: the journal has no such calls\n")
		return nil
	}
	if err := c.print(env, calls, true); err != nil || !c.Follow {
		return err
	}
	next.note(calls)
	return c.follow(ctx, env, next)
}

// filter returns the filter that the flags describe.
func (c *FailuresCommand) filter() (*store.Filter, error) {
	since, err := sinceWhen(c.Since, time.Now())
	if err != nil {
		return nil, err
	}
	var kinds []string
	for _, kind := range recourse.Kinds() {
		kinds = append(kinds, string(kind))
	}
	origins := []string{
		string(recourse.OriginCaller), string(recourse.OriginGateway), string(recourse.OriginServer), string(recourse.OriginProvider),
	}
	if err := errors.Join(oneOf("--kind", c.Kind, kinds), oneOf("--origin", c.Origin, origins)); err != nil {
		return nil, err
	}
	if c.Limit < 1 {
		return nil, term.Usage(errors.New("--limit must be at least 1"))
	}
	return &store.Filter{
		Server: c.Server, Tool: c.Tool, Kind: c.Kind, Origin: c.Origin, Caller: c.Caller, Since: since, Failures: !c.All, Limit: c.Limit,
	}, nil
}

// oneOf reports a value that is not one of the words.
func oneOf(flag, value string, words []string) error {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	hint := "one of " + strings.Join(words, ", ")
	if meant, ok := nearest.Of(value, words); ok {
		hint = "did you mean " + meant + "?"
	}
	return term.Usage(term.Hint(fmt.Errorf("%s: there is no %q", flag, value), hint))
}

// sinceWhen returns the time that --since means.
func sinceWhen(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, ok := journal.When(text, now)
	if !ok {
		return time.Time{}, term.Usage(term.Hint(
			fmt.Errorf("--since: %q is not a time", text), "write it as 30m, 12h, 7d or 2026-11-23T10:00:00Z",
		))
	}
	return at, nil
}

// tableWidth is how many columns most tables of failures have; a terminal with fewer gets a paragraph for each call.
const tableWidth = 140

// print prints one line per call, or a paragraph.
func (c *FailuresCommand) print(env *term.Environment, calls []*journal.Row, heading bool) error {
	if c.JSON {
		for _, call := range calls {
			if err := term.PrintJSON(env.Stdout, call); err != nil {
				return err
			}
		}
		return nil
	}
	if width := term.Width(env.Stdout); width > 0 && width < tableWidth {
		for _, call := range calls {
			printParagraph(env.Stdout, call, width)
		}
		return nil
	}
	t := term.NewTable(env.Stdout)
	if heading {
		t.Row("ENDED (UTC)", "REQUEST", "SERVER", "TOOL", "KIND", "ORIGIN", "EFFECT", "SENT", "TOOK", "MESSAGE")
	}
	for _, call := range calls {
		t.Row(cellsOf(call)...)
	}
	return t.Flush()
}

// printParagraph prints a call for a terminal of so many columns.
func printParagraph(w io.Writer, call *journal.Row, width int) {
	const indent = 4
	cells := cellsOf(call)
	first := strings.Join([]string{cells[0], cells[2], cells[3], cells[4]}, " ")
	term.Printf(w, "%s\n", term.Wrap(first, width, indent))
	rest := fmt.Sprintf("%s (origin %s, effect %s, sent %s, %s)", cells[9], cells[5], cells[6], cells[7], cells[8])
	for _, text := range []string{rest, cells[1]} {
		term.Printf(w, "%*s%s\n", indent, "", term.Wrap(text, width, indent))
	}
}

// cellsOf returns what a row of the table says of a call.
func cellsOf(call *journal.Row) []string {
	cells := []string{
		call.Ended().UTC().Format(time.DateTime), call.RequestID, cmp.Or(call.Server, "-"),
		cmp.Or(call.Tool, call.Method, "-"), call.Ending, "-", "-", strconv.Itoa(call.Sent), explain.Took(call.Took), "",
	}
	if f := call.Failure; f != nil {
		cells[4], cells[5], cells[6] = string(f.Kind), string(f.Origin), cmp.Or(string(f.Effect), "-")
		cells[9] = term.FirstSentence(f.Sentence())
	}
	return cells
}
