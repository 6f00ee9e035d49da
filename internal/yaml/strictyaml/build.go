package strictyaml

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// A builder turns the parser's tree into Nodes: it resolves aliases, applies merge keys, reports duplicates and checks
// the limits.
type builder struct {
	doc     *Document
	anchors map[string]*Node
	merged  int // entries copied by merge keys
	fatal   *Error
}

// value builds a node. An implicit null has no character; its position is implicit.
func (b *builder) value(n ast.Node, implicit Pos) *Node {
	if b.fatal != nil || n == nil {
		return b.null(implicit)
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		v := b.value(n.Value, implicit)
		b.anchors[textOf(n.Name)] = v
		return v
	case *ast.AliasNode:
		return b.alias(n)
	case *ast.TagNode:
		return b.tag(n, implicit)
	case *ast.MappingNode:
		return b.mapping(n.Values, tokenPos(n.Start), n.IsFlowStyle)
	case *ast.MappingValueNode:
		return b.mapping([]*ast.MappingValueNode{n}, startOf(n), n.IsFlowStyle)
	case *ast.SequenceNode:
		return b.sequence(n)
	case *ast.NullNode:
		if n.Token.Type == token.ImplicitNullType {
			return b.null(implicit)
		}
		return b.scalar(n)
	default:
		return b.scalar(n)
	}
}

func (b *builder) null(at Pos) *Node {
	return &Node{doc: b.doc, pos: at, plain: true, weight: 1, height: 1}
}

func (b *builder) scalar(n ast.Node) *Node {
	text, plain := scalarText(n)
	s := &Node{
		doc: b.doc, kind: KindString, pos: startOf(n),
		text: text, source: text, plain: plain, weight: 1, height: 1,
	}
	if plain {
		s.kind = resolve(text)
	}
	b.doc.scalars = append(b.doc.scalars, s)
	return s
}

func (b *builder) alias(n *ast.AliasNode) *Node {
	name := textOf(n.Value)
	if v, ok := b.anchors[name]; ok {
		return v
	}
	v := b.null(startOf(n))
	b.doc.reportBrokenf(v, nearestHint(name, keysOf(b.anchors), "*"), "no anchor `&%s` precedes this alias", quotable(name))
	return v
}

// tag applies a tag of the core schema. `!!str` turns a scalar into a text; the others must fit the value.
func (b *builder) tag(n *ast.TagNode, implicit Pos) *Node {
	v := b.value(n.Value, implicit)
	name := n.Start.Value
	if name == "!!str" && v.kind < KindSequence {
		quoted := *v
		quoted.kind, quoted.plain = KindString, false
		b.doc.scalars = append(b.doc.scalars, &quoted)
		return &quoted
	}
	if name != coreTag(v.kind) && (name != "!!float" || v.kind != KindInt) {
		b.doc.Reportf(tokenPos(n.Start), "remove the tag", "the tag `%s` does not fit here", quotable(name))
	}
	return v
}

func coreTag(k NodeKind) string {
	switch k {
	case KindNull:
		return "!!null"
	case KindBool:
		return "!!bool"
	case KindInt:
		return "!!int"
	case KindFloat:
		return "!!float"
	case KindString:
		return "!!str"
	case KindSequence:
		return "!!seq"
	case KindMapping:
		return "!!map"
	}
	return ""
}

func (b *builder) sequence(n *ast.SequenceNode) *Node {
	s := &Node{doc: b.doc, kind: KindSequence, pos: tokenPos(n.Start), flow: n.IsFlowStyle, weight: 1, height: 1}
	for i, item := range n.Values {
		at := s.pos
		if i < len(n.Entries) {
			at = tokenPos(n.Entries[i].Start)
		}
		v := b.value(item, at)
		s.items = append(s.items, v)
		b.count(s, v)
	}
	return s
}

func (b *builder) mapping(values []*ast.MappingValueNode, start Pos, flow bool) *Node {
	m := &Node{doc: b.doc, kind: KindMapping, pos: start, flow: flow, weight: 1, height: 1}
	own := map[string]Pos{}   // keys written here
	index := map[string]int{} // keys so far, including merged ones
	for i, kv := range values {
		key, at, isMerge, ok := b.key(kv.Key)
		if i == 0 && !flow {
			m.pos = at
		}
		v := b.value(kv.Value, at)
		if !ok {
			continue
		}
		if first, twice := own[key]; twice {
			b.doc.Reportf(at, "keep one of them", "duplicate key `%s`, first on line %d", quotable(key), b.doc.local(first).Line)
			continue
		}
		own[key] = at
		if isMerge {
			b.merge(m, v, index)
			continue
		}
		if old, merged := index[key]; merged { // the mapping's own key wins
			m.entries[old] = keyValue{key, at, v}
		} else {
			index[key] = len(m.entries)
			m.entries = append(m.entries, keyValue{key, at, v})
		}
		b.count(m, v)
	}
	return m
}

// merge adds the entries of `<<: *anchor` or `<<: [*a, *b]` that m does not have; earlier ones win.
func (b *builder) merge(m, from *Node, index map[string]int) {
	sources := []*Node{from}
	if from.kind == KindSequence {
		sources = from.items
	}
	for _, s := range sources {
		if s.kind != KindMapping {
			b.doc.Reportf(s.pos, "write `<<: *anchor`", "`<<` takes a mapping or a list of mappings")
			continue
		}
		for _, e := range s.entries {
			if _, has := index[e.key]; has {
				continue
			}
			if b.merged++; b.merged > maxNodes {
				b.fail(b.tooMany(m.pos))
				return
			}
			index[e.key] = len(m.entries)
			m.entries = append(m.entries, e)
			b.count(m, e.value)
		}
	}
}

// key returns a key's text and position, and whether it is the merge key.
func (b *builder) key(n ast.Node) (text string, at Pos, isMerge, ok bool) {
	at = startOf(n)
	for {
		switch k := n.(type) {
		case *ast.MappingKeyNode:
			n = k.Value
			continue
		case *ast.TagNode:
			n = k.Value
			continue
		case *ast.AnchorNode:
			text, _ = scalarText(k.Value)
			b.anchors[textOf(k.Name)] = &Node{
				doc: b.doc, kind: KindString, pos: at, text: text, source: text, weight: 1, height: 1,
			}
			n = k.Value
			continue
		case *ast.AliasNode:
			v := b.alias(k)
			return v.text, at, false, v.kind != KindNull && v.kind < KindSequence
		case *ast.MergeKeyNode:
			return k.Token.Value, at, true, true
		case nil, *ast.NullNode, *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode:
			b.doc.Reportf(at, "", "a key must be a text")
			return "", at, false, false
		default:
			text, _ = scalarText(n)
			return text, at, false, true
		}
	}
}

// count adds a child to its parent's size, and stops at the limits, which aliases can exceed in a short file.
func (b *builder) count(parent, child *Node) {
	parent.weight += child.weight
	parent.height = max(parent.height, child.height+1)
	if parent.weight > maxNodes {
		b.fail(b.tooMany(parent.pos))
	}
	if parent.height > maxDepth {
		b.fail(b.doc.tooDeep(parent.pos))
	}
}

func (b *builder) tooMany(at Pos) *Error {
	return b.doc.fault(at, "use fewer aliases", "more than %d values when every alias is expanded", maxNodes)
}

func (b *builder) fail(fatal *Error) {
	if b.fatal == nil {
		b.fatal = fatal
	}
}

// startOf returns the position of a node's first character; for mappings, the parser's own position is that of the `:`.
func startOf(n ast.Node) Pos {
	switch n := n.(type) {
	case nil:
		return Pos{}
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return startOf(n.Values[0])
		}
		return tokenPos(n.Start)
	case *ast.MappingValueNode:
		return startOf(n.Key)
	case *ast.LiteralNode:
		return tokenPos(n.Start)
	default:
		return tokenPos(n.GetToken())
	}
}

// scalarText returns a scalar's text without quotes, and whether it had none.
func scalarText(n ast.Node) (text string, plain bool) {
	switch n := n.(type) {
	case nil:
		return "", true
	case *ast.LiteralNode:
		return n.Value.Value, false
	case *ast.StringNode:
		return n.Value, n.Token.Type == token.StringType
	default:
		return strings.TrimSpace(n.GetToken().Value), true
	}
}

// textOf returns the name of an anchor or alias.
func textOf(n ast.Node) string {
	if n == nil || n.GetToken() == nil {
		return ""
	}
	return n.GetToken().Value
}
