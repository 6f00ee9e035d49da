package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/recoursehq/recourse/internal/check"
)

// maxRows is how many findings a summary shows: the services that show it cut what is long.
const maxRows = 100

// Markdown writes a summary, such as for a pull request.
func Markdown(w io.Writer, r *check.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n\n", code(r.Name()), r.Graded())
	fmt.Fprintf(&b, "%s.\n", r.Basis())
	if r.Stopped != "" {
		fmt.Fprintf(&b, "\n**Stopped early**: %s\n", code(r.Stopped))
	}
	if len(r.Findings) > 0 {
		b.WriteString("\n| harm | rule | tool | |\n|---|---|---|---|\n")
	}
	for i := range r.Findings[:min(len(r.Findings), maxRows)] {
		f := &r.Findings[i]
		harm := string(f.Harm)
		if r.Fails(f) {
			harm = "**" + harm + "**"
		}
		fmt.Fprintf(&b, "| %s | [%s](%s) | %s | %s |\n", harm, f.Title, page(f.Page), code(where(f)), code(f.Said+known(f)))
	}
	if more := len(r.Findings) - maxRows; more > 0 {
		fmt.Fprintf(&b, "\nAnd %d more findings.\n", more)
	}
	for i := range r.Mended {
		fmt.Fprintf(&b, "\n**Mended, and still in the baseline**: %s\n", code(r.Mended[i].String()))
	}
	mends(&b, r)
	if len(r.NotObserved) > 0 {
		fmt.Fprintf(&b, "\n<details><summary>%d rules were not observed</summary>\n\n", len(r.NotObserved))
		for _, n := range r.NotObserved {
			fmt.Fprintf(&b, "- `%s`: %s\n", n.Rule, n.Why)
		}
		b.WriteString("\n</details>\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mends writes what mends each rule that was broken.
func mends(b *strings.Builder, r *check.Report) {
	if len(r.Findings) == 0 {
		return
	}
	b.WriteString("\n<details><summary>How to mend them</summary>\n\n")
	for _, rule := range check.Rules() {
		if found := findingsOf(r, rule.ID); len(found) > 0 {
			fmt.Fprintf(b, "- **%s**: %s", rule.Title, rule.Mend)
			if found[0].Entry != "" {
				fmt.Fprintf(b, " %s", code(found[0].Entry))
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n</details>\n")
}

// code writes a server's text as code. Only letters, digits and spaces stand for themselves: there is no form of Markdown, no link
// and no mention in the others' numbers.
func code(text string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(plain(text)), " ") {
		if r < 0x80 && r != ' ' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return "<code>" + b.String() + "</code>"
}
