package cli

import (
	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/cli/term"
)

// printReport prints a report for a person.
func printReport(env *term.Environment, report *check.Report) {
	paint, width := env.Painter(env.Stdout), term.Width(env.Stdout)
	colour := term.Green
	if report.Grade > "B" {
		colour = term.Red
	}
	paint.Printf(term.Plain, "%s: ", term.Wrap(report.Name(), 0, 0))
	paint.Printf(colour, "%s\n", report.Graded())
	paint.Printf(term.Dim, "%s\n", report.Basis())
	if report.Stopped != "" {
		paint.Printf(term.Red, "stopped early: %s\n", term.Wrap(report.Stopped, width, 2))
	}
	if report.Nearest != "" {
		paint.Printf(term.Plain, "most failures are in the form of the contract %s: try --contract %[1]s\n", report.Nearest)
	}
	for i := range report.Findings {
		if i == 0 || report.Findings[i-1].Rule != report.Findings[i].Rule {
			printFindings(paint, width, report, report.Findings[i:])
		}
	}
	if len(report.Mended) > 0 {
		paint.Printf(term.Plain, "\nmended, and still in the baseline:\n")
	}
	for i := range report.Mended {
		paint.Printf(term.Red, "  %s\n", report.Mended[i])
	}
	if len(report.NotObserved) > 0 {
		paint.Printf(term.Plain, "\nnot observed:\n")
	}
	for _, n := range report.NotObserved {
		paint.Printf(term.Dim, "  %-20s %s\n", n.Rule, term.Wrap(n.Why, width, 23))
	}
}

// shownTools is for how many tools a finding's sentence is printed.
const shownTools = 3

// printFindings prints those of the same rule with which list begins.
func printFindings(paint term.Painter, width int, report *check.Report, list []check.Finding) {
	first, n := &list[0], 0
	colour := term.Cyan
	if first.Harm.Weight() >= check.HarmHides.Weight() {
		colour = term.Red
	}
	paint.Printf(term.Plain, "\n")
	paint.Printf(colour, "%-9s", first.Harm)
	line := func(text string, indent int) { paint.Printf(term.Plain, "%s\n", term.Wrap(text, width, indent)) }
	paint.Printf(term.Plain, " ")
	line(first.Title+" ("+first.Rule+")", 10)
	for i := range list {
		if list[i].Rule != first.Rule {
			break
		}
		if n++; n > shownTools {
			continue
		}
		where := ""
		if list[i].Tool != "" {
			where = list[i].Tool + ": "
		}
		known := ""
		if list[i].Known != "" {
			known = " (known: " + list[i].Known + ")"
		}
		paint.Printf(term.Plain, "          ")
		line(where+list[i].Said+known, 12)
	}
	if n > shownTools {
		paint.Printf(term.Plain, "          and %d more tools\n", n-shownTools)
	}
	paint.Printf(term.Plain, "          ")
	line("mend: "+first.Mend, 12)
	if first.Entry != "" { // what is pasted stays on its line
		paint.Printf(term.Plain, "              %s\n", first.Entry)
	}
	if again := report.Call(first); again != "" {
		paint.Printf(term.Dim, "          see it: %s\n", again)
	}
}
