package strictyaml

import (
	"fmt"
	"slices"
	"strings"
)

// An Error is one mistake in a file.
type Error struct {
	File    string
	Pos     Pos    // zero when the mistake has no place in the file
	Message string // what is wrong, lower case, no full stop
	Hint    string // what to do about it; may be empty
	Excerpt string // the line and below it the caret, two lines without a final newline; may be empty

	bare bool // without an excerpt
	end  Pos  // where the caret's line ends, when that is not the end of the token
}

// Error returns the mistake as it is shown on a terminal: a line with its place, the excerpt, the hint.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File + ":")
	}
	if e.Pos != (Pos{}) {
		fmt.Fprintf(&b, "%d:%d:", e.Pos.Line, e.Pos.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	b.WriteString(e.Message)
	if e.Excerpt != "" {
		b.WriteString("\n" + e.Excerpt)
	}
	if e.Hint != "" {
		b.WriteString("\n  hint: " + e.Hint)
	}
	return b.String()
}

// maxShown is how many mistakes [Errors.Error] prints.
const maxShown = 50

// Errors are the mistakes in a file, sorted by their place.
type Errors []*Error

// Error returns the first 50 mistakes as [Error.Error] does, one after the other, and how many more there are.
func (es Errors) Error() string {
	texts := make([]string, 0, len(es))
	for i, e := range es {
		if i == maxShown {
			texts = append(texts, fmt.Sprintf("and %d more problems", len(es)-i))
			break
		}
		texts = append(texts, e.Error())
	}
	return strings.Join(texts, "\n")
}

// Unwrap returns the mistakes one by one, for errors.As.
func (es Errors) Unwrap() []error {
	list := make([]error, len(es))
	for i, e := range es {
		list[i] = e
	}
	return list
}

// Reportf adds a mistake that the caller has found: at a place that [Node.Pos] or [Node.Key] gave, with a hint that may
// be empty. It is dropped where the value could not be decoded, since it would only follow from that.
func (d *Document) Reportf(at Pos, hint, format string, args ...any) {
	if d.broken[at] {
		return
	}
	d.add(d.fault(at, hint, format, args...))
}

// reportBrokenf adds the mistake that keeps the value n from being decoded, unless there is one already.
func (d *Document) reportBrokenf(n *Node, hint, format string, args ...any) {
	if d.broken[n.pos] {
		return
	}
	d.broken[n.pos] = true
	d.add(d.fault(n.pos, hint, format, args...))
}

// A mistakeKey tells mistakes apart.
type mistakeKey struct {
	pos     Pos
	message string
}

// add records a mistake once: an aliased value is decoded wherever it is used.
func (d *Document) add(e *Error) {
	key := mistakeKey{e.Pos, e.Message}
	if !d.reported[key] {
		d.reported[key] = true
		d.mistakes = append(d.mistakes, e)
	}
}

// Err returns the mistakes found so far as [Errors], sorted by their place, or nil when there are none.
func (d *Document) Err() error {
	if len(d.mistakes) == 0 {
		return nil
	}
	slices.SortStableFunc(d.mistakes, func(a, b *Error) int {
		switch {
		case a.Pos.Before(b.Pos):
			return -1
		case b.Pos.Before(a.Pos):
			return 1
		default:
			return 0
		}
	})
	// Only now is it known which values are secret.
	list := make(Errors, len(d.mistakes))
	for i, e := range d.mistakes {
		list[i] = d.shown(e)
	}
	return list
}
