package contract

import (
	"slices"

	"github.com/recoursehq/recourse/internal/json"
)

// A node is a JSON value that many forms look at. It is parsed once. It is not safe for concurrent use.
type node struct {
	raw    json.Value
	opened bool
	broken bool     // it is not JSON
	names  []string // of the members; if one is repeated, the last value counts
	values []node   // of the members or items
	read   bool     // text and isText are set
	isText bool
	text   string
}

func nodeOf(raw json.Value) *node { return &node{raw: raw} }

func nodesOf(values ...json.Value) []*node {
	list := make([]*node, len(values))
	for i, raw := range values {
		list[i] = nodeOf(raw)
	}
	return list
}

// Up to fewMembers, names are compared one by one.
const fewMembers = 16

// open parses the members or items.
func (n *node) open() {
	if n.opened {
		return
	}
	n.opened = true
	isObject := n.raw.Kind() == '{'
	var known map[string]int // used if there are many members, to keep duplicates cheap
	err := json.Parts(n.raw, func(name string, part json.Value) {
		if !isObject {
			n.values = append(n.values, node{raw: part})
			return
		}
		at := -1
		if known == nil {
			at = slices.Index(n.names, name)
		} else if i, repeated := known[name]; repeated {
			at = i
		}
		if at >= 0 {
			n.values[at].raw = part
			return
		}
		n.names, n.values = append(n.names, name), append(n.values, node{raw: part})
		switch {
		case known != nil:
			known[name] = len(n.names) - 1
		case len(n.names) == fewMembers:
			known = make(map[string]int, 2*fewMembers)
			for i, name := range n.names {
				known[name] = i
			}
		}
	})
	if err != nil {
		n.broken, n.names, n.values = true, nil, nil
	}
}

// isObject reports whether n is a complete object.
func (n *node) isObject() bool {
	if n.raw.Kind() != '{' {
		return false
	}
	n.open()
	return !n.broken
}

// items returns the first items of a list, or nil.
func (n *node) items(most int) []node {
	if n.raw.Kind() != '[' {
		return nil
	}
	n.open()
	return n.values[:min(len(n.values), most)]
}

// member returns the member of that name, or nil.
func (n *node) member(name string) *node {
	if n.raw.Kind() != '{' {
		return nil
	}
	n.open()
	if i := slices.Index(n.names, name); i >= 0 {
		return &n.values[i]
	}
	return nil
}

// rawMember returns the value of a member, or nil.
func (n *node) rawMember(name string) json.Value {
	if m := n.member(name); m != nil {
		return m.raw
	}
	return nil
}

// string returns the text of a JSON string.
func (n *node) string() (text string, ok bool) {
	if !n.read {
		n.text, n.isText = textValue(n.raw)
		n.read = true
	}
	return n.text, n.isText
}

// plain returns a string's text, and any other value as it is written.
func (n *node) plain() string {
	if text, ok := n.string(); ok {
		return text
	}
	return string(n.raw)
}
