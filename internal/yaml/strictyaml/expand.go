package strictyaml

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Expand replaces ${NAME} in every scalar value by the result of lookup, and $$ by $; keys and any other $ stay. A
// variable that lookup does not know, and a `${` that does not begin a reference, are mistakes at their position. An
// expanded value never becomes a number or a boolean where a text is wanted, and messages show the reference, not its
// value. Call it before [Document.Decode].
func (d *Document) Expand(lookup func(name string) (value string, ok bool)) {
	reference := regexp.MustCompile(`\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{`)
	for _, n := range d.scalars {
		if !strings.Contains(n.source, "$") {
			continue
		}
		cursor := n.pos
		n.text = reference.ReplaceAllStringFunc(n.source, func(ref string) string {
			start, end := d.locate(ref, cursor, n.pos)
			cursor = end
			if ref == "$$" {
				return "$"
			}
			name := strings.Trim(ref, "${}")
			value, ok := lookup(name)
			if name == "" || !ok {
				e := unresolved(name)
				e.File, e.Pos, e.end = d.name, start, end
				d.broken[n.pos] = true
				d.add(e)
			}
			return value
		})
		n.expanded = n.text != n.source
		if n.expanded {
			n.kind = KindString
		}
	}
}

func unresolved(name string) *Error {
	if name == "" {
		return &Error{
			Message: "`${` does not begin the name of a variable",
			Hint:    "write ${NAME} for a variable, $${ for the text `${`",
		}
	}
	return &Error{
		Message: "the environment variable " + quotable(name) + " is not set",
		Hint:    "set " + quotable(name) + ", or write $${" + quotable(name) + "} for the text itself",
	}
}

// locate finds a reference in the source at or after from. If it is hidden by an escape, the value's own position is
// returned.
func (d *Document) locate(ref string, from, value Pos) (start, end Pos) {
	start, found := d.find(ref, from, d.ends[value].Line)
	if !found {
		return value, Pos{}
	}
	return start, Pos{Line: start.Line, Column: start.Column + utf8.RuneCountInString(ref)}
}
