package strictyaml

import (
	"errors"
	"strconv"
	"strings"
)

// The compact form of documents is for files that are part of the program, whose mistakes a test finds: it is read a
// hundred times as fast as YAML, but has no positions. A document is its name in the form 9:file.yaml, the number of
// its values in the form 4; and the values, one after the other: a letter for the kind, and then one of these. Line
// ends may follow.
//
//	s5:hello    a text of five bytes, or any other scalar as it is written
//	[2;         a list of two values, which follow
//	{2;         a mapping of two, each a key in the form 5:hello and its value

// AppendCompact appends the compact form of the document.
func (d *Document) AppendCompact(dst []byte) []byte {
	dst = append(strconv.AppendInt(appendCompactText(dst, d.name), int64(d.root.count()), 10), ';')
	return d.root.appendCompact(dst)
}

// kindLetters are the letters of the kinds.
const kindLetters = "nbifs[{"

// count returns how many values n consists of, itself included.
func (n *Node) count() int {
	total := 1
	for _, item := range n.items {
		total += item.count()
	}
	for _, e := range n.entries {
		total += e.value.count()
	}
	return total
}

func (n *Node) appendCompact(dst []byte) []byte {
	dst = append(dst, kindLetters[n.kind])
	if n.kind < KindSequence {
		return appendCompactText(dst, n.text)
	}
	dst = append(strconv.AppendInt(dst, int64(n.Len()), 10), ';')
	for _, item := range n.items {
		dst = item.appendCompact(dst)
	}
	for _, e := range n.entries {
		dst = e.value.appendCompact(appendCompactText(dst, e.key))
	}
	return dst
}

func appendCompactText(dst []byte, text string) []byte {
	dst = append(strconv.AppendInt(dst, int64(len(text)), 10), ':')
	return append(dst, text...)
}

// ParseCompact reads any number of documents in the compact form, by name. Their texts are parts of text.
func ParseCompact(text string) (map[string]*Document, error) {
	r := compactReader{rest: text}
	documents := map[string]*Document{}
	for r.rest != "" && !r.broken {
		d := newDocument(r.text())
		r.doc, r.nodes = d, make([]Node, r.number(';'))
		d.root = r.value()
		documents[d.name] = d
		r.broken = r.broken || len(r.nodes) > 0
		r.rest = strings.TrimLeft(r.rest, "\n")
	}
	if r.broken {
		return nil, errors.New("strictyaml: this is not the compact form")
	}
	return documents, nil
}

// A compactReader takes values from the beginning of a text.
type compactReader struct {
	rest   string
	doc    *Document
	nodes  []Node // memory for the following values
	broken bool
}

// number reads a number that ends in a mark. It cannot exceed the length of the rest.
func (r *compactReader) number(mark byte) int {
	digits, rest, found := strings.Cut(r.rest, string(mark))
	n, err := strconv.Atoi(digits)
	if !found || err != nil || n < 0 || n > len(rest) {
		r.broken, r.rest = true, ""
		return 0
	}
	r.rest = rest
	return n
}

func (r *compactReader) text() string {
	n := r.number(':')
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

func (r *compactReader) value() *Node {
	if r.rest == "" || len(r.nodes) == 0 {
		r.broken = true
		return nil
	}
	n := &r.nodes[0]
	r.nodes = r.nodes[1:]
	kind := strings.IndexByte(kindLetters, r.rest[0])
	r.rest = r.rest[1:]
	n.doc, n.kind = r.doc, NodeKind(kind)
	switch n.kind {
	case KindSequence:
		n.items = make([]*Node, r.number(';'))
		for i := range n.items {
			n.items[i] = r.value()
		}
	case KindMapping:
		n.entries = make([]keyValue, r.number(';'))
		for i := range n.entries {
			key := r.text()
			n.entries[i] = keyValue{key: key, value: r.value()}
		}
	default:
		n.text = r.text()
		n.source, n.plain = n.text, n.kind != KindString
		r.broken = r.broken || kind < 0
	}
	return n
}
