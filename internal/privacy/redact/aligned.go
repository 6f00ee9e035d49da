package redact

import (
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// aligned finds the values in columns that are named like a secret, in tables that are aligned with blanks, with or
// without a rule below the head.
func aligned(s string) []span {
	if !strings.Contains(s, "\n") || !strings.Contains(s, "  ") && !strings.Contains(s, "--") {
		return nil
	}
	var found []span
	var table *columns
	inside := false // in a table without secrets
	for next := 0; next < len(s); {
		start := next
		line := lineAt(s, start)
		next += len(line) + 1
		line = strings.TrimRight(line, " \r")
		switch {
		case table != nil && isRule(line):
		case table != nil:
			value, ok := table.values(line, start)
			found = append(found, value...)
			inside = ok
			if !ok {
				table = nil
			}
		case !inside && next < len(s):
			table = columnsOf(line, lineAt(s, next))
			fallthrough
		default:
			inside = strings.Contains(strings.TrimSpace(line), "  ")
		}
	}
	return found
}

// columns are the columns of a table.
type columns struct {
	starts []int // in characters
	names  []string
	secret []bool
	gap    int  // the least number of blanks between two of them
	any    bool // every value in a column that is named like a secret counts as one
}

// columnsOf returns the columns of a table if head is its head, below is the line after it, and one column is named
// like a secret; otherwise nil.
func columnsOf(head, below string) *columns {
	if !secret.Mentions(head) {
		return nil
	}
	if i := strings.LastIndex(head, ": "); i >= 0 { // after words that introduce the table
		head = head[i+len(": "):]
	}
	t := &columns{gap: 2}
	if below = strings.TrimRight(below, " \r"); isRule(below) && strings.Trim(below, " -=") == "" {
		t.gap, t.any = 1, true
		t.starts = startsOf(below, t.gap)
	} else {
		t.starts = startsOf(head, t.gap)
		if t.any = head == strings.ToUpper(head); t.any { // the style of programs, which leave one blank after the longest cell
			t.gap = 1
		}
	}
	cells, ok := t.cells(head)
	if !ok || len(cells) < 2 || strings.HasPrefix(strings.TrimSpace(head), "-") {
		return nil
	}
	for _, p := range cells {
		t.names = append(t.names, head[p.start:p.end])
	}
	if t.secret = heads(t.names, true); t.secret == nil {
		return nil
	}
	return t
}

// startsOf returns where the parts of a line begin, in characters. Parts are separated by at least gap blanks.
func startsOf(line string, gap int) []int {
	var starts []int
	at, blanks := 0, gap
	for _, c := range line {
		if c == ' ' {
			blanks++
		} else {
			if blanks >= gap {
				starts = append(starts, at)
			}
			blanks = 0
		}
		at++
	}
	return starts
}

// values finds the secrets in a row that begins at offset; ok is false if its cells are not aligned with the columns.
func (t *columns) values(line string, offset int) (found []span, ok bool) {
	cells, ok := t.cells(line)
	if !ok || line == "" {
		return nil, false
	}
	for i, p := range cells {
		value := line[p.start:p.end]
		if !t.secret[i] || isMark(value) || saysNothing(value) || isPlaceholder(value) || isCount(t.names[i], value) {
			continue
		}
		if t.any || isTold(value) || len(digitsOf(value)) == len(value) {
			found = append(found, span{offset + p.start, offset + p.end})
		}
	}
	return found, true
}

// cells returns the cells of a line, one for each column: by the columns' positions or, if a long cell has shifted the
// others, by their number.
func (t *columns) cells(line string) ([]span, bool) {
	places := make([]int, 0, len(t.starts)+1)
	at := 0
	for i := range line {
		if n := len(places); n < len(t.starts) && at == t.starts[n] {
			places = append(places, i)
		}
		at++
	}
	for len(places) < len(t.starts)+1 {
		places = append(places, len(line))
	}
	found := make([]span, len(t.starts))
	for i := range found {
		from, to := places[i], places[i+1]
		if i > 0 && from < len(line) && !strings.HasSuffix(line[:from], strings.Repeat(" ", t.gap)) {
			return t.counted(line)
		}
		found[i] = withoutBlanks(line, from, to)
	}
	return found, places[0] == 0 || strings.TrimSpace(line[:places[0]]) == ""
}

// counted returns the cells of a line if there are as many as columns.
func (t *columns) counted(line string) ([]span, bool) {
	starts := startsOf(line, t.gap)
	if len(starts) != len(t.starts) {
		return nil, false
	}
	shifted := columns{starts: starts, gap: t.gap}
	return shifted.cells(line)
}

// withoutBlanks returns a part of a line without surrounding blanks.
func withoutBlanks(line string, from, to int) span {
	cell := line[from:to]
	from += len(cell) - len(strings.TrimLeft(cell, " "))
	return span{from, from + len(strings.Trim(cell, " "))}
}
