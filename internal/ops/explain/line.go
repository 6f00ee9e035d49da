// Package explain reads any answer of any MCP server, and tells what happened to a call, for people and agents.
package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/privacy/visible"
)

// A Line is a line of an explanation, with its name or time. The text may have several lines.
type Line struct{ Name, Text string }

// Lines are an explanation. A zero Line is an empty line.
type Lines []Line

// String returns the lines in two columns.
func (w Lines) String() string {
	var b strings.Builder
	for _, l := range w {
		b.WriteString(l.String())
	}
	return b.String()
}

// String returns the line with a line feed.
func (l Line) String() string {
	if l == (Line{}) {
		return "\n"
	}
	return l.Label() + " " + l.Body() + "\n"
}

const column = 10

// Label returns the first column.
func (l Line) Label() string { return fmt.Sprintf("%-*s", column, l.Name) }

// Body returns the second column, whose lines stand below each other.
func (l Line) Body() string {
	return strings.ReplaceAll(strings.TrimSpace(l.Text), "\n", "\n"+strings.Repeat(" ", column+1))
}

// A teller collects lines.
type teller struct{ lines Lines }

// addf adds a line. What cannot be seen in it is escaped, whoever has said it.
func (w *teller) addf(name, format string, args ...any) {
	w.lines = append(w.lines, Line{name, visible.Escape(fmt.Sprintf(format, args...))})
}

// eventf adds a line of a timeline; a negative instant is that of the line before.
func (w *teller) eventf(after journal.Millis, format string, args ...any) {
	at := ""
	if after >= 0 {
		at = "+" + Took(after)
	}
	if time.Duration(after) == 0 {
		at = "+0s"
	}
	w.addf(at, "%s", strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "))
}

func (w *teller) gap() { w.lines = append(w.lines, Line{}) }

// Took returns a duration as people read it.
func Took(d journal.Millis) string {
	switch d := time.Duration(d); {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	default:
		return d.Round(10 * time.Millisecond).String()
	}
}
