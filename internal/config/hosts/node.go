package hosts

import (
	"bytes"
	"unicode/utf8"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A node is a value of a file, in any format, with its position.
type node struct {
	kind    valueType
	at      extent // of a table or block: where it begins
	text    string
	members []*pair
	items   []*node
	between string // of a list over several lines: the text between its items, if the items do not show it
	fixed   string // why the value cannot be edited
}

// A valueType is the type of a value.
type valueType int

const (
	other valueType = iota
	text
	truth
	list
	object
)

// A pair is a member of an object.
type pair struct {
	name   string
	nameAt int
	value  *node
	form   spacing
	lead   string // of a line: the text before the last part of its key
}

// A spacing describes how members follow each other.
type spacing struct {
	sign  string // between a name and its value
	lines bool   // each has lines of its own; otherwise they are separated by commas
	quote bool   // names are in quotes
}

// An extent is the half-open range of bytes of a value.
type extent struct{ start, end int }

// get returns the value of a member, or nil.
func (n *node) get(name string) *node {
	if m := n.member(name); m != nil {
		return m.value
	}
	return nil
}

func (n *node) member(name string) *pair {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.name == name {
			return m
		}
	}
	return nil
}

// position returns the line and column of an offset.
func position(text []byte, at int) strictyaml.Pos {
	before := text[:min(max(at, 0), len(text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return strictyaml.Pos{Line: 1 + bytes.Count(before, []byte("\n")), Column: 1 + utf8.RuneCount(before[start:])}
}
