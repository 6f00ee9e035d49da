package contractgen

import (
	"regexp"
	"strings"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// spellingWidth is the greatest length of a table's line.
const spellingWidth = 119

// A spelling is how a language writes JSON.
type spelling struct {
	indent string
	spaced bool                     // spaces inside braces
	name   func(name string) string // of a member
	word   func(json.Value) string  // a value that is neither a list nor an object
}

var typescriptSpelling = spelling{
	indent: "  ",
	spaced: true,
	name:   typescriptName,
	word:   func(raw json.Value) string { return string(raw) },
}

// value writes JSON, each value on one line if it fits.
func (s spelling) value(raw json.Value, depth int) string {
	return s.valueOf("", raw, depth)
}

// valueOf writes the value of a member.
func (s spelling) valueOf(name string, raw json.Value, depth int) string {
	if line := name + s.line(raw); len(line)+len(s.indent)*depth <= spellingWidth && depth > 0 {
		return line
	}
	var items []string
	opening, closing := "[", "]"
	switch raw.Kind() {
	case '{':
		opening, closing = "{", "}"
		for _, m := range json.MembersOf(raw) {
			items = append(items, s.valueOf(s.name(m.Name)+": ", m.Value, depth+1))
		}
	case '[':
		for _, item := range elementsOf(raw) {
			items = append(items, s.value(item, depth+1))
		}
	default:
		return name + s.word(raw)
	}
	if len(items) == 0 {
		return name + opening + closing
	}
	indent := strings.Repeat(s.indent, depth)
	return name + opening + "\n" + s.fill(items, indent+s.indent) + indent + closing
}

// fill writes each item on its own line; short ones share lines.
func (s spelling) fill(items []string, indent string) string {
	var b strings.Builder
	line := ""
	end := func() {
		if line != "" {
			b.WriteString(indent + line + ",\n")
		}
		line = ""
	}
	for _, item := range items {
		long := strings.Contains(item, "\n")
		if long || len(indent)+len(line)+len(", ,")+len(item) > spellingWidth {
			end()
		}
		if line != "" {
			line += ", "
		}
		line += item
		if long {
			end()
		}
	}
	end()
	return b.String()
}

func (s spelling) line(raw json.Value) string {
	var items []string
	switch raw.Kind() {
	case '{':
		for _, m := range json.MembersOf(raw) {
			items = append(items, s.name(m.Name)+": "+s.line(m.Value))
		}
		if len(items) > 0 && s.spaced {
			return "{ " + strings.Join(items, ", ") + " }"
		}
		return "{" + strings.Join(items, ", ") + "}"
	case '[':
		for _, item := range elementsOf(raw) {
			items = append(items, s.line(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	default:
		return s.word(raw)
	}
}

// wrap writes words on as few lines as possible.
func wrap(words []string, indent string) string {
	lines := []string{indent}
	for _, word := range words {
		last := &lines[len(lines)-1]
		if len(*last)+1+len(word) > spellingWidth {
			lines = append(lines, indent)
			last = &lines[len(lines)-1]
		}
		if *last != indent {
			*last += " "
		}
		*last += word
	}
	return strings.Join(lines, "\n")
}

func elementsOf(list json.Value) []json.Value {
	var items []json.Value
	if json.UnmarshalLenient(list, &items) != nil {
		return nil
	}
	return items
}

// bareName matches names that need no quotes.
var bareName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// typescriptName returns a member's name for an object literal, in which `__proto__` must be an ordinary member, too.
func typescriptName(name string) string {
	quoted := string(json.AppendQuote(nil, name))
	if name == "__proto__" {
		return "[" + quoted + "]"
	}
	if bareName.MatchString(name) {
		return name
	}
	return quoted
}
