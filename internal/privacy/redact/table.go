package redact

import (
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// tabled finds the values of columns, and of rows of two columns, that are named like a secret: in tables of Markdown
// and of databases, with commas, and with columns of fixed width.
func tabled(t *text) []span {
	const few = 2
	var found []span
	parts := t.paragraphs(aHead, 1)
	for i := 0; i < len(cellSigns) && len(parts) > 0; i++ {
		sign := cellSigns[i]
		n := strings.Count(t.s, sign)
		if n == 0 || n < few && !isBar(sign) {
			continue
		}
		parts = slices.DeleteFunc(parts, func(p span) bool {
			cells := within(t.s, []span{p}, func(s string) []span { return table(s, sign) })
			if n < few {
				cells = slices.DeleteFunc(cells, func(p span) bool { return !isLoneCell(t.s, p, sign) })
			}
			found = append(found, cells...)
			return len(cells) > 0
		})
	}
	return append(found, within(t.s, parts, aligned)...)
}

// isLoneCell reports whether a cell that is no part of a table has a secret, as in password | x1: the name before it and the value are one
// word each, and the value looks like a secret.
func isLoneCell(s string, p span, sign string) bool {
	name := strings.TrimSpace(strings.TrimSuffix(strings.TrimRight(s[strings.LastIndexByte(s[:p.start], '\n')+1:p.start], " \t"), sign))
	value := s[p.start:p.end]
	return !strings.ContainsAny(name, " \t") && !endsInMark(name) && !strings.ContainsAny(value, " \t") && isNoName(value)
}

// cellSigns are those between the cells of a table.
var cellSigns = []string{"|", "│", "┃", "║", "\t", ",", ";"}

// boxes is the first byte of those beyond ASCII.
const boxes = '\xe2'

// mayBeHead reports whether a line that mentions a secret may be the head of a table, or a row that has a name and its value. below is the
// text after it.
func mayBeHead(line, below string) bool {
	line = trimEnd(line, &lineEnds)
	drawn := strings.IndexByte(line, boxes) >= 0
	for _, sign := range cellSigns {
		if len(sign) > 1 && !drawn {
			continue
		}
		first, _, ok := strings.Cut(line, sign)
		if !ok {
			continue
		}
		if _, ok = headName(first, 0); !ok && !isBar(sign) {
			continue
		}
		cells := strings.Split(line, sign)
		if heads(cells, true) != nil || isBar(sign) && len(cellsOf(cells, 0, len(sign), nil)) > 0 {
			return true
		}
	}
	next := lineAt(below, 0)
	return (strings.Contains(line, "  ") || isRule(trimEnd(next, &lineEnds))) && columnsOf(line, next) != nil
}

var lineEnds = setOf(" \r")

// table finds values in a table whose cells are separated by sign.
func table(s, sign string) []span {
	var found []span
	var columns []bool // which columns of the table are secrets; nil outside of a table
	width := 0
	for next := 0; next < len(s); {
		start := next
		line := lineAt(s, start)
		next += len(line) + 1
		line = strings.TrimRight(line, "\r")
		if columns == nil && !secret.Mentions(line) || isRule(line) || strings.Contains(line, `\n`) { // in a view it has several lines
			continue
		}
		cells := strings.Split(line, sign)
		if len(cells) < 2 || columns != nil && len(cells) != width {
			columns = nil
		}
		if len(cells) < 2 {
			continue
		}
		if columns == nil {
			ruled := next < len(s) && isRule(strings.TrimRight(lineAt(s, next), "\r"))
			if columns = heads(cells, ruled || !isBar(sign)); columns != nil {
				width = len(cells)
				continue
			}
			if !isBar(sign) {
				continue
			}
		}
		found = append(found, cellsOf(cells, start, len(sign), columns)...)
	}
	return found
}

// cellsOf finds the values in a line of cells that begins at offset: those in columns of secrets or, without columns,
// those next to a name.
func cellsOf(cells []string, offset, sign int, columns []bool) []span {
	var found []span
	for j, cell := range cells {
		value := strings.TrimSpace(cell)
		name := ""
		if j > 0 {
			name = strings.Trim(cells[j-1], " \t*`\"")
		}
		wanted := len(columns) == 0 && secret.Name(name) && !secret.Name(value) || j < len(columns) && columns[j]
		if wanted && value != "" && !isMark(value) && !saysNothing(value) && !isPlaceholder(value) {
			lead := strings.Index(cell, value)
			found = append(found, span{offset + lead, offset + lead + len(value)})
		}
		offset += len(cell) + sign
	}
	return found
}

// lineAt returns the line that begins at start, without the line feed.
func lineAt(s string, start int) string { return s[start : start+indexOr(s[start:], "\n")] }

// heads returns which columns are secrets, if cells are the head of a table with such a column; otherwise nil.
func heads(cells []string, head bool) []bool {
	if !head {
		return nil
	}
	columns := make([]bool, len(cells))
	some := false
	for i, cell := range cells {
		name, ok := headName(cell, i)
		if !ok {
			return nil
		}
		columns[i] = secret.Name(name)
		some = some || columns[i]
	}
	if !some {
		return nil
	}
	return columns
}

// isBar reports whether a sign is drawn between cells, so that a name may stand beside its value.
func isBar(sign string) bool { return sign == "|" || len(sign) > 1 }

// headName returns the name of a column from the head of its table; ok is false if it cannot be one.
func headName(cell string, column int) (name string, ok bool) {
	const longest = 40
	if column == 0 { // after words that introduce the table
		cell = cell[strings.LastIndex(cell, ": ")+1:]
		cell = strings.TrimPrefix(cell, " ")
	}
	name = strings.Trim(cell, " \t*`\"'")
	return name, len(name) <= longest && indexOfSet(name, &outsideHeads) == len(name) && strings.Count(name, " ") <= 1
}

// beginsRule are the bytes with which such a line begins, in ASCII and beyond.
var beginsRule = setOf(" |+-:=\t\xe2")

var outsideHeads = setOf("=:.!?{}[]")

// isRule reports whether a line separates the head of a table from its rows.
func isRule(line string) bool {
	if line == "" || !beginsRule[line[0]] {
		return false
	}
	if strings.Contains(line, "──") || strings.Contains(line, "━━") || strings.Contains(line, "══") {
		return strings.Trim(line, " ─━═│┃║┌┐└┘├┤┬┴┼╔╗╚╝╠╣╦╩╬╒╕╘╛╞╡╤╧╪╟╢┏┓┗┛┣┫┳┻╋┡┩╇┠┨╭╮╰╯") == ""
	}
	return (strings.Contains(line, "--") || strings.Contains(line, "==")) && strings.Trim(line, " |+-:=\t") == ""
}
