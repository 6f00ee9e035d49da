package hosts

import (
	"bytes"
	"errors"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// The forms of TOML: lines, and tables between braces.
var (
	tomlLines  = spacing{sign: " = ", lines: true}
	tomlInline = spacing{sign: " = "}
)

// readTOML returns the value of a TOML text. One parser decides whether it is TOML, the other finds the
// positions.
func (r *fileReader) readTOML(source []byte) *node {
	var checked map[string]any
	if err := toml.Unmarshal(source, &checked); err != nil {
		at := 0
		if syntax, ok := errors.AsType[*toml.DecodeError](err); ok {
			at = offsetOf(source, syntax.Position)
		}
		r.mistakef(at, "", "this is not TOML") // the parser's message quotes the file
		return nil
	}
	root := &node{kind: object}
	table := root
	p := &tomlReader{source: source}
	p.parser.Reset(source)
	for p.parser.NextExpression() {
		expression := p.parser.Expression()
		switch expression.Kind {
		case unstable.Table:
			table = p.table(root, expression)
		case unstable.ArrayTable:
			table = &node{kind: object} // no host lists its servers in an array of tables
		case unstable.KeyValue:
			p.keyValue(table, expression, tomlLines)
		default:
		}
	}
	return root
}

// offsetOf returns the offset of a row and column, counted from 1.
func offsetOf(source []byte, place func() (row, column int)) int {
	row, column := place()
	at := 0
	for ; row > 1; row-- {
		next := bytes.IndexByte(source[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return min(at+max(column-1, 0), len(source))
}

type tomlReader struct {
	parser unstable.Parser
	source []byte
}

// table returns the table of a header.
func (p *tomlReader) table(root *node, header *unstable.Node) *node {
	table := root
	keys := header.Key()
	for keys.Next() {
		table = p.under(table, keys.Node(), spacing{})
	}
	return table
}

// under returns the object of a key, and creates it if needed.
func (p *tomlReader) under(table *node, key *unstable.Node, as spacing) *node {
	name := string(key.Data)
	if inner := table.get(name); inner != nil {
		return inner
	}
	at := int(key.Raw.Offset)
	inner := &node{kind: object, at: extent{at, at}}
	table.members = append(table.members, &pair{name: name, nameAt: at + int(key.Raw.Length), value: inner, form: as})
	return inner
}

// keyValue adds the content of a line, or of a part of an inline table.
func (p *tomlReader) keyValue(table *node, expression *unstable.Node, as spacing) {
	var parts []*unstable.Node
	keys := expression.Key()
	for keys.Next() {
		key := *keys.Node()
		parts = append(parts, &key)
	}
	last := parts[len(parts)-1]
	for _, key := range parts[:len(parts)-1] {
		table = p.under(table, key, as)
	}
	at := int(last.Raw.Offset)
	line := bytes.LastIndexByte(p.source[:at], '\n') + 1
	m := &pair{name: string(last.Data), nameAt: at + int(last.Raw.Length), form: as, lead: string(p.source[line:at])}
	start := m.nameAt + bytes.IndexByte(p.source[m.nameAt:], '=') + 1
	m.value = p.value(expression.Value(), p.blank(start))
	table.members = append(table.members, m)
}

// value returns a value that begins at an offset.
func (p *tomlReader) value(v *unstable.Node, at int) *node {
	n := &node{at: extent{at, at + int(v.Raw.Length)}, text: string(v.Data)}
	switch v.Kind {
	case unstable.String:
		n.kind = text
	case unstable.Bool:
		n.kind = truth
	case unstable.Array:
		n.kind, n.text = list, ""
		end := at + 1
		children := v.Children()
		for children.Next() {
			item := p.value(children.Node(), p.blank(end))
			n.items = append(n.items, item)
			end = item.at.end
		}
		n.at.end = p.closing(end, ']')
	case unstable.InlineTable:
		n.kind, n.text = object, ""
		end := at + 1
		children := v.Children()
		for children.Next() {
			p.keyValue(n, children.Node(), tomlInline)
			end = deepest(n, end)
		}
		n.at.end = p.closing(end, '}')
	default:
	}
	return n
}

// deepest returns the end of the last value inside n.
func deepest(n *node, end int) int {
	for _, m := range n.members {
		end = max(end, m.value.at.end, deepest(m.value, end))
	}
	return end
}

// blank returns the end of the white space, comments and commas that begin at an offset.
func (p *tomlReader) blank(at int) int {
	for at < len(p.source) {
		switch p.source[at] {
		case ' ', '\t', '\r', '\n', ',':
			at++
		case '#':
			at += len(line(p.source[at:]))
		default:
			return at
		}
	}
	return at
}

// closing returns the offset after the next closing bracket.
func (p *tomlReader) closing(at int, bracket byte) int {
	at = p.blank(at)
	if at < len(p.source) && p.source[at] == bracket {
		return at + 1
	}
	return at
}
