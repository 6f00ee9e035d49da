package strictyaml

import (
	"strconv"
	"strings"
	"unicode"
)

const (
	maxColumns = 100 // of an excerpt's line, everything counted
	ellipsis   = "..."
	mask       = "********"
)

// A cell is what one character of the source looks like on a terminal.
type cell struct {
	text  string
	width int // in columns
}

// shown returns a mistake as people see it: with its excerpt, and its place in the file in which it is.
func (d *Document) shown(e *Error) *Error {
	shown := *e
	d.render(&shown)
	if of := d.fileOf(e.Pos); e.File == d.name && of > 0 {
		shown.File, shown.Pos = d.files[of].name, d.local(e.Pos)
	}
	return &shown
}

// render fills in a mistake's excerpt: the line, cut around the caret, secrets masked, and the caret line.
func (d *Document) render(e *Error) {
	if e.bare || e.Pos.Line < 1 || e.Pos.Line > len(d.lines) {
		return
	}
	line := d.lines[e.Pos.Line-1]
	cells := d.cells(e.Pos.Line)
	first := min(max(e.Pos.Column-1, 0), len(line))
	last := d.endOn(e.Pos, e.Pos.Line) // exclusive
	if e.end != (Pos{}) {
		last = min(e.end.Column-1, len(line))
	}
	for first > 0 && first < len(cells) && cells[first].width == 0 { // inside a mask
		first--
	}
	last = max(last, first+1)

	number := strconv.Itoa(d.local(e.Pos).Line)
	room := maxColumns - len("   | ") - len(number)
	from, to := window(cells, first, room)

	var text, caret strings.Builder
	if from > 0 {
		text.WriteString(ellipsis)
		caret.WriteString(strings.Repeat(" ", len(ellipsis)))
	}
	marked := false
	for i := from; i < to; i++ {
		text.WriteString(cells[i].text)
		switch {
		case i < first:
			caret.WriteString(strings.Repeat(" ", cells[i].width))
		case i < last && !marked && cells[i].width > 0:
			caret.WriteString("^" + strings.Repeat("~", cells[i].width-1))
			marked = true
		case i < last:
			caret.WriteString(strings.Repeat("~", cells[i].width))
		}
	}
	if !marked { // at the end of the line
		caret.WriteByte('^')
	}
	if to < len(cells) {
		text.WriteString(ellipsis)
	}
	gutter := strings.Repeat(" ", len(number))
	e.Excerpt = strings.TrimRight("  "+number+" | "+text.String(), " ") + "\n  " + gutter + " | " + caret.String()
}

// window chooses the cells to show, about a third of the room before the caret.
func window(cells []cell, caret, room int) (from, to int) {
	if width(cells) <= room {
		return 0, len(cells)
	}
	room -= 2 * len(ellipsis)
	from = caret
	for before := room / 3; from > 0 && before >= cells[from-1].width; from-- {
		before -= cells[from-1].width
	}
	to = from
	for to < len(cells) && room >= cells[to].width {
		room -= cells[to].width
		to++
	}
	for from > 0 && room >= cells[from-1].width { // near the line's end there is room left
		room -= cells[from-1].width
		from--
	}
	return from, to
}

func width(cells []cell) int {
	sum := 0
	for _, c := range cells {
		sum += c.width
	}
	return sum
}

// cells lays out a line: tabs as four spaces, what does not print as a replacement sign, each secret as one mask.
func (d *Document) cells(line int) []cell {
	source := d.lines[line-1]
	cells := make([]cell, len(source))
	for i, r := range source {
		cells[i] = layout(r)
	}
	for start := range d.secrets {
		if start.Line > line {
			continue
		}
		from := 0
		if start.Line == line {
			from = min(start.Column-1, len(source))
		}
		to := d.endOn(start, line)
		for from < to && source[from] == ' ' {
			from++
		}
		for i := from; i < to; i++ {
			cells[i] = cell{}
		}
		if from < to {
			cells[from] = cell{text: mask, width: len(mask)}
		}
	}
	return cells
}

// endOn returns the index at which the token that starts at start ends on a line, white space before it left out.
func (d *Document) endOn(start Pos, line int) int {
	source := d.lines[line-1]
	end, known := d.ends[start]
	stop := len(source)
	switch {
	case !known || end.Line < line:
		return 0
	case end.Line == line:
		stop = min(max(end.Column-1, 0), len(source))
	}
	for stop > 0 && unicode.IsSpace(source[stop-1]) {
		stop--
	}
	return stop
}

func layout(r rune) cell {
	switch {
	case r == '\t':
		return cell{text: "    ", width: 4}
	case unicode.In(r, unicode.Mn, unicode.Me):
		return cell{text: string(r)}
	case !unicode.IsPrint(r):
		return cell{text: "\ufffd", width: 1}
	case isWide(r):
		return cell{text: string(r), width: 2}
	default:
		return cell{text: string(r), width: 1}
	}
}

// isWide reports whether a terminal gives r two columns: the blocks that are wide throughout in Unicode's
// EastAsianWidth.txt (UAX #11).
func isWide(r rune) bool {
	switch {
	case r < 0x1100:
		return false
	case r <= 0x115f, // Hangul Jamo
		r >= 0x2e80 && r <= 0x303e,   // CJK radicals, punctuation
		r >= 0x3041 && r <= 0xa4cf,   // kana to Yi
		r >= 0xac00 && r <= 0xd7a3,   // Hangul
		r >= 0xf900 && r <= 0xfaff,   // CJK compatibility
		r >= 0xfe30 && r <= 0xfe6f,   // vertical and small forms
		r >= 0xff00 && r <= 0xff60,   // full-width forms
		r >= 0xffe0 && r <= 0xffe6,   // full-width signs
		r >= 0x1f300 && r <= 0x1f64f, // pictographs, emoticons
		r >= 0x1f680 && r <= 0x1f6ff, // transport
		r >= 0x1f900 && r <= 0x1f9ff, // more pictographs
		r >= 0x20000 && r <= 0x3fffd: // CJK extensions
		return true
	default:
		return false
	}
}
