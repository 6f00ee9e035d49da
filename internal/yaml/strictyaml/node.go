package strictyaml

import (
	"errors"
	"iter"
)

// A NodeKind is what a [Node] is.
type NodeKind int

// The kinds of a value. A plain scalar has the kind that the core schema of YAML 1.2 gives it.
const (
	KindNull NodeKind = iota
	KindBool
	KindInt
	KindFloat
	KindString
	KindSequence
	KindMapping
)

// A Node is a value of a [Document], with aliases and merge keys resolved. Its methods accept a nil Node, which is a
// value that does not exist, so that lookups can be chained.
type Node struct {
	doc      *Document
	kind     NodeKind
	pos      Pos
	text     string // of a scalar: unquoted, after [Document.Expand]
	source   string // of a scalar: unquoted, as it is in the file
	plain    bool   // a scalar without quotes
	expanded bool   // text differs from source
	flow     bool   // a collection in brackets
	items    []*Node
	entries  []keyValue
	index    map[string]int // of the entries of a large mapping, made when it is first searched
	weight   int            // values in it, aliases expanded
	height   int            // levels in it, aliases expanded
}

type keyValue struct {
	key   string
	pos   Pos
	value *Node
}

// Kind returns what the value is: [KindNull] for a nil Node.
func (n *Node) Kind() NodeKind {
	if n == nil {
		return KindNull
	}
	return n.kind
}

// Pos returns the position of the value: of its first character, of a block mapping's first key, or of the key if
// `key:` has no value. A nil Node has the zero Pos.
func (n *Node) Pos() Pos {
	if n == nil {
		return Pos{}
	}
	return n.pos
}

// Text returns a scalar's text, without quotes. It is empty for null, sequences and mappings.
func (n *Node) Text() string {
	if n == nil || n.kind == KindNull {
		return ""
	}
	return n.text
}

// Source returns a scalar as it is in the file, without quotes and before [Document.Expand].
func (n *Node) Source() string {
	if n == nil {
		return ""
	}
	return n.source
}

// Secret reports whether the value must not be shown.
func (n *Node) Secret() bool { return n != nil && n.doc.secrets[n.pos] }

// Len returns the number of a sequence's items or of a mapping's keys.
func (n *Node) Len() int {
	if n == nil {
		return 0
	}
	return len(n.items) + len(n.entries)
}

// Item returns a sequence's item i, counted from 0, or nil.
func (n *Node) Item(i int) *Node {
	if n == nil || i < 0 || i >= len(n.items) {
		return nil
	}
	return n.items[i]
}

// Get returns the value of a mapping's key, or nil.
func (n *Node) Get(key string) *Node {
	if e := n.find(key); e != nil {
		return e.value
	}
	return nil
}

// Key returns the position of a mapping's key, or the zero Pos.
func (n *Node) Key(key string) Pos {
	if e := n.find(key); e != nil {
		return e.pos
	}
	return Pos{}
}

// All returns a mapping's keys and values in the order of the file; merged keys come where `<<` is.
func (n *Node) All() iter.Seq2[string, *Node] {
	return func(yield func(string, *Node) bool) {
		if n == nil {
			return
		}
		for _, e := range n.entries {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}

func (n *Node) find(key string) *keyValue {
	if n == nil {
		return nil
	}
	if len(n.entries) > large {
		return n.lookUp(key)
	}
	for i := range n.entries {
		if n.entries[i].key == key {
			return &n.entries[i]
		}
	}
	return nil
}

// large is how many entries are searched one by one.
const large = 32

// lookUp finds a key of a large mapping.
func (n *Node) lookUp(key string) *keyValue {
	if n.index == nil {
		n.index = make(map[string]int, len(n.entries))
		for i, e := range n.entries {
			n.index[e.key] = i
		}
	}
	if i, ok := n.index[key]; ok {
		return &n.entries[i]
	}
	return nil
}

// Errorf returns a mistake at this value, for an [Unmarshaler] to return.
func (n *Node) Errorf(hint, format string, args ...any) *Error {
	if n == nil || n.doc == nil {
		return (&Document{}).fault(Pos{}, hint, format, args...)
	}
	return n.doc.fault(n.pos, hint, format, args...)
}

var errReported = errors.New("the document holds the mistakes")

// Decode reads the value into v, a pointer, for an [Unmarshaler] that has checked the kind. Mistakes go into the
// document; the error only says that there are some, and must not be reported again.
func (n *Node) Decode(v any) error {
	if n == nil || n.doc == nil {
		return errors.New("strictyaml: no value to decode")
	}
	if !n.doc.decodeInto(n, v) {
		return errReported
	}
	return nil
}
