package json

import (
	"slices"
	"unicode/utf8"
)

// A Node is a value that many readers look at. It is parsed once, when its parts are first asked for, and leniently. It is not
// safe for concurrent use.
type Node struct {
	Raw Value

	opened bool
	broken bool     // it is not JSON
	names  []string // of the members; if one is repeated, the last value counts
	values []Node   // of the members or items
	read   bool     // text and isText are set
	isText bool
	text   string
}

// NodeOf returns a value as a node.
func NodeOf(raw Value) *Node { return &Node{Raw: raw} }

// NodeOfText returns a string as a node.
func NodeOfText(text string) *Node {
	return &Node{Raw: AppendQuote(nil, text), read: true, isText: true, text: text}
}

// Up to fewMembers, names are compared one by one.
const fewMembers = 16

// open parses the members or items.
func (n *Node) open() {
	if n.opened {
		return
	}
	n.opened = true
	isObject := n.Raw.Kind() == '{'
	var known map[string]int // used if there are many members, to keep duplicates cheap
	err := Parts(n.Raw, func(name string, part Value) {
		if !isObject {
			n.values = append(n.values, Node{Raw: part})
			return
		}
		at := -1
		if known == nil {
			at = slices.Index(n.names, name)
		} else if i, repeated := known[name]; repeated {
			at = i
		}
		if at >= 0 {
			n.values[at].Raw = part
			return
		}
		n.names, n.values = append(n.names, name), append(n.values, Node{Raw: part})
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

// IsObject reports whether n is a complete object.
func (n *Node) IsObject() bool {
	if n.Raw.Kind() != '{' {
		return false
	}
	n.open()
	return !n.broken
}

// Parts returns the members of an object, or without names the items of an array. Of a name that is repeated the last value
// counts, in its first place.
func (n *Node) Parts() (names []string, values []Node) {
	n.open()
	return n.names, n.values
}

// Items returns the first items of an array, or nil.
func (n *Node) Items(most int) []Node {
	if n.Raw.Kind() != '[' {
		return nil
	}
	n.open()
	return n.values[:min(len(n.values), most)]
}

// Member returns the member of that name, or nil.
func (n *Node) Member(name string) *Node {
	if n.Raw.Kind() != '{' {
		return nil
	}
	n.open()
	if i := slices.Index(n.names, name); i >= 0 {
		return &n.values[i]
	}
	return nil
}

// RawMember returns the value of a member, or nil.
func (n *Node) RawMember(name string) Value {
	if m := n.Member(name); m != nil {
		return m.Raw
	}
	return nil
}

// Text does what [TextOf] does.
func (n *Node) Text() (text string, ok bool) {
	if !n.read {
		n.text, n.isText = TextOf(n.Raw)
		n.read = true
	}
	return n.text, n.isText
}

// Plain does what the function [Plain] does.
func (n *Node) Plain() string {
	if text, ok := n.Text(); ok {
		return text
	}
	return string(n.Raw)
}

// TextOf returns the text of a string, read leniently.
func TextOf(raw Value) (text string, ok bool) {
	if raw.Kind() != '"' {
		return "", false
	}
	if isSpelledOut(raw) {
		return string(raw[1 : len(raw)-1]), true
	}
	err := UnmarshalLenient(raw, &text)
	return text, err == nil
}

// isSpelledOut reports whether a string has no escapes.
func isSpelledOut(raw Value) bool {
	if len(raw) < len(`""`) || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return false
	}
	isASCII := true
	for _, b := range raw[1 : len(raw)-1] {
		if b < ' ' || b == '"' || b == '\\' {
			return false
		}
		isASCII = isASCII && b < utf8.RuneSelf
	}
	return isASCII || utf8.Valid(raw)
}

// Plain returns a string's text, and any other value as it is written.
func Plain(raw Value) string {
	if text, ok := TextOf(raw); ok {
		return text
	}
	return string(raw)
}
