package hosts

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// The forms of YAML: lines, and mappings between braces.
var (
	yamlLines = spacing{sign: ": ", lines: true}
	yamlFlow  = spacing{sign: ": "}
)

// readYAML returns the value of a YAML text.
func (r *fileReader) readYAML(source []byte) *node {
	document, err := strictyaml.Parse(r.file.name, source)
	if err == nil {
		err = document.Err()
	}
	if mistakes, ok := errors.AsType[strictyaml.Errors](err); ok {
		for _, mistake := range mistakes {
			mistake.Excerpt = "" // the line may hold a secret
		}
		r.mistakes = append(r.mistakes, mistakes...)
		return nil
	}
	y := &yamlReader{source: source}
	for at := range source {
		if at == 0 || source[at-1] == '\n' {
			y.lines = append(y.lines, at)
		}
	}
	return y.value(document.Root())
}

type yamlReader struct {
	source []byte
	lines  []int // where each one begins
}

// offset returns the offset of a position in the source.
func (y *yamlReader) offset(p strictyaml.Pos) int {
	if p.Line < 1 || p.Line > len(y.lines) {
		return len(y.source)
	}
	at := y.lines[p.Line-1]
	if p.Line == 1 && bytes.HasPrefix(y.source, []byte("\ufeff")) {
		at += len("\ufeff")
	}
	rest := string(line(y.source[at:]))
	for column := range rest {
		if p.Column--; p.Column < 1 {
			return at + column
		}
	}
	return at + len(rest)
}

// before returns the part of the line before an offset.
func (y *yamlReader) before(at int) string {
	return string(y.source[bytes.LastIndexByte(y.source[:at], '\n')+1 : at])
}

// dash matches the text before an item of a list in lines.
var dash = regexp.MustCompile(`^ *- +$`)

func (y *yamlReader) value(v *strictyaml.Node) *node {
	at := y.offset(v.Pos())
	n := &node{at: extent{at, at}}
	switch v.Kind() {
	case strictyaml.KindMapping:
		n.kind = object
		flow := at < len(y.source) && y.source[at] == '{'
		for name, value := range v.All() {
			n.members = append(n.members, y.member(name, v.Key(name), value, flow))
		}
	case strictyaml.KindSequence:
		n.kind = list
		for i := range v.Len() {
			n.items = append(n.items, y.value(v.Item(i)))
		}
		if at < len(y.source) && y.source[at] == '[' {
			break
		}
		mark := y.before(n.items[0].at.start)
		n.between = "\n" + mark
		if bytes.Contains(y.source, []byte("\r\n")) {
			n.between = "\r\n" + mark
		}
		if !dash.MatchString(mark) {
			n.fixed = "the list is written in a way that cannot be edited"
		}
	case strictyaml.KindString:
		n.kind, n.text = text, v.Text()
		n.at.end, n.fixed = y.scalarEnd(at, n.text)
	case strictyaml.KindBool:
		n.kind, n.text = truth, strings.ToLower(v.Text())
		n.at.end = at + len(v.Text())
	default:
	}
	return n
}

// member returns a member of a mapping. A value from an alias is not edited, and neither is one with an
// anchor, since it is also used elsewhere.
func (y *yamlReader) member(name string, key strictyaml.Pos, value *strictyaml.Node, flow bool) *pair {
	at := y.offset(key)
	m := &pair{name: name, nameAt: at + len(name), value: y.value(value), form: yamlLines, lead: y.before(at)}
	if flow {
		m.form = yamlFlow
	}
	start := m.value.at.start
	if start < at || bytes.ContainsAny(y.source[at:start], "&*!|>") {
		m.value.fixed = "it is an alias, or has an anchor or a tag"
	}
	return m
}

// scalarEnd returns the end of a text that begins at an offset.
func (y *yamlReader) scalarEnd(at int, value string) (end int, fixed string) {
	const many = "it is written over several lines"
	rest := line(y.source[at:])
	if len(rest) == 0 {
		return at, many
	}
	switch rest[0] {
	case '"':
		if end := stringEnd(rest, 0); end < len(rest) {
			return at + end + 1, ""
		}
	case '\'':
		for i := 1; i < len(rest); i++ {
			if rest[i] != '\'' {
				continue
			}
			if i+1 < len(rest) && rest[i+1] == '\'' {
				i++
				continue
			}
			return at + i + 1, ""
		}
	default:
		if bytes.HasPrefix(rest, []byte(value)) {
			return at + len(value), ""
		}
	}
	return at, many
}
