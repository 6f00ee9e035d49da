package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/docs/contractdoc"
)

type contractDiff struct {
	First  string `arg:"" help:"Name of a built-in contract, or a contract file."`
	Second string `arg:"" help:"Another one."`
}

// Help shows an example.
func (*contractDiff) Help() string {
	return `For each code of one contract: the matching code of the other, whether repeating the call may help, and which code it ` +
		`turns into on the way back. Then what is lost in translation. All of it is computed by writing and reading, without the ` +
		`record in _meta, with which nothing is lost.

Example:

    recourse contract diff commerce fieldmcp`
}

// Run prints both directions.
func (c *contractDiff) Run(env *term.Environment) error {
	first, err := load.Contract(c.First)
	if err != nil {
		return err
	}
	second, err := load.Contract(c.Second)
	if err != nil {
		return err
	}
	if err := printTranslation(env.Stdout, first, second); err != nil {
		return err
	}
	term.Printf(env.Stdout, "\n")
	return printTranslation(env.Stdout, second, first)
}

func printTranslation(out io.Writer, from, to *contract.Contract) error {
	translation := contractdoc.Translate(from, to)
	t := term.NewTable(out, from.Name, "as "+to.Name, "retryable", "comes back as")
	for _, code := range translation.Codes {
		retryable, back := yesNo(code.Retryable), "the same"
		if code.AsRetryable != code.Retryable {
			retryable += " -> " + yesNo(code.AsRetryable)
		}
		if code.Back != code.Code {
			back = code.Back
		}
		t.Row(code.Code, code.As, retryable, back)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(translation.Lost) == 0 {
		term.Printf(out, "lost: nothing\n")
	}
	for _, lost := range translation.Lost {
		term.Printf(out, "lost: %s%s\n", lost.Path, ofKinds(lost.Kinds))
	}
	return nil
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// ofKinds names some of the kinds; none means all.
func ofKinds(kinds []recourse.Kind) string {
	const most = 4
	if len(kinds) == 0 {
		return ""
	}
	names := make([]string, 0, most)
	for _, kind := range kinds[:min(len(kinds), most)] {
		names = append(names, string(kind))
	}
	more := ""
	if len(kinds) > most {
		more = fmt.Sprintf(" and %d more", len(kinds)-most)
	}
	return " (of " + strings.Join(names, ", ") + more + ")"
}
