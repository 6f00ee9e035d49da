// Package checkdoc prints the page about what `recourse check` looks at.
package checkdoc

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/recoursehq/recourse/internal/check"
)

// intro is the page's beginning, which people have written.
//
//go:embed intro.md
var intro string

// Page returns the page, in Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString(intro)
	b.WriteString("| rule | | harm | mode |\n|---|---|---|---|\n")
	group := ""
	for _, r := range check.Rules() {
		if r.Group != group {
			group = r.Group
			fmt.Fprintf(&b, "| **%s** | | | |\n", group)
		}
		fmt.Fprintf(&b, "| [`%[1]s`](#%[1]s) | %s | `%s` | `%s` |\n", r.ID, r.Title, r.Harm, r.Mode)
	}
	for _, r := range check.Rules() {
		fmt.Fprintf(&b, "\n### %s\n\n%s. %s\n\n**Mend**: %s\n", r.ID, r.Title, r.Why, r.Mend)
		if r.Entry != "" {
			fmt.Fprintf(&b, "\n    %s\n", r.Entry)
		}
		fmt.Fprintf(&b, "\nIt needs %s. [Source](%s)\n", r.Needs, r.Source)
		b.WriteString(measured(r))
	}
	return b.String()
}

// measured says how often a rule is tripped by what real servers have answered, and how often wrongly.
func measured(r *check.Rule) string {
	wild := check.InTheWild()
	for i := range wild.Trips {
		if n := wild.Trips[i]; n.Key == r.ID {
			text := fmt.Sprintf("\nMeasured: of %d recorded failures of real servers %d trip it, of %d successes %d.",
				wild.Failures, n.Value.Failures, wild.Successes, n.Value.Successes)
			if r.Judged != "" {
				text += " Looked at by hand, false alarms: " + r.Judged + "."
			}
			return text + "\n"
		}
	}
	return ""
}
