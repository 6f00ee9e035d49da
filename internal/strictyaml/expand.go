package strictyaml

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Expand replaces ${NAME} in every scalar value by what lookup finds, and $$ by $; keys are left alone, and so is any
// other $. A variable that lookup does not know, and a `${` that begins no reference, are mistakes at their place. An
// expanded value never becomes a number or a boolean where a text is wanted, and messages show the reference, not what it
// stands for. It is called before [Document.Decode].
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

// locate finds a reference in the source at or after a place. Where an escape hides it, that is the value's own place.
func (d *Document) locate(ref string, from, value Pos) (start, end Pos) {
	start, found := d.find(ref, from, d.ends[value].Line)
	if !found {
		return value, Pos{}
	}
	return start, Pos{Line: start.Line, Column: start.Column + utf8.RuneCountInString(ref)}
}
