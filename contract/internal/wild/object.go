package wild

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A pattern is a JSON value whose parts have meanings. Exactly one of its sources is set.
type pattern struct {
	constant json.Value
	set      []language.Constant // what the constant implies
	leaves   []patternLeaf       // the first that can hold the value is used
	members  []patternMember
	any      *pattern // some item of a list
	each     *patternList
}

// A patternLeaf is a path, or a template of a text.
type patternLeaf struct {
	path *language.Path
	text *language.Template
}

type patternMember struct {
	name     string
	optional bool
	value    *pattern
}

// A patternList is a list, or an object if name is set, whose items go into a list of the record.
type patternList struct {
	list *language.Path
	name *language.Path // where an item keeps the name of its member
	item *pattern
}

// maxPatternItems limits how many items of a list are read.
const maxPatternItems = 20

// read reports whether n matches p, and stores the values in base.
func (p *pattern) read(n *json.Node, base reflect.Value, found *hit) bool {
	raw := n.Raw
	switch {
	case p.constant != nil:
		if !isConstant(raw, p.constant) {
			return false
		}
		language.Store(p.set, base)
		return true
	case p.any != nil:
		told := false
		items := n.Items(maxPatternItems)
		for i := range slices.Backward(items) { // so that the first item wins
			told = p.any.read(&items[i], base, found) || told
		}
		return told
	case p.each != nil:
		return p.each.read(n, base, found)
	case p.members != nil:
		return p.readMembers(n, base, found)
	}
	return slices.ContainsFunc(p.leaves, func(l patternLeaf) bool {
		if l.text == nil {
			return found.store(l.path, base, n)
		}
		text, ok := n.Text()
		if raw.Kind() == '[' {
			text, ok = joined(n), true
		}
		return ok && l.text.Match(text, func(at *language.Path, text string) { found.storeText(at, base, text) })
	})
}

// isConstant reports whether a value is the constant, whatever its spacing.
func isConstant(raw, constant json.Value) bool {
	if bytes.Equal(raw, constant) {
		return true
	}
	kind := raw.Kind()
	return (kind == '{' || kind == '[') && bytes.Equal(json.Compact(raw), constant)
}

func (p *pattern) readMembers(n *json.Node, base reflect.Value, found *hit) bool {
	if n.Raw.Kind() != '{' {
		return false
	}
	for _, m := range p.members {
		value := n.Member(m.name)
		if value == nil || value.Raw.Kind() == 'n' && m.value.constant == nil {
			if !m.optional {
				return false
			}
			continue
		}
		if !m.value.read(value, base, found) && !m.optional {
			return false
		}
	}
	return true
}

// names reports whether p names every member of an object.
func (p *pattern) names(n *json.Node) bool {
	members, _ := n.Parts()
	return n.Raw.Kind() == '{' && !slices.ContainsFunc(members, func(name string) bool {
		return !slices.ContainsFunc(p.members, func(known patternMember) bool { return known.name == name })
	})
}

func (l *patternList) read(n *json.Node, base reflect.Value, found *hit) bool {
	values := n.Items(maxPatternItems)
	var names []string
	if l.name != nil {
		if n.Raw.Kind() != '{' {
			return false
		}
		names, values = n.Parts()
		values = values[:min(len(values), maxPatternItems)]
	}
	list := l.list.List(base)
	told := false
	for i := range values {
		at := list.Len()
		list.Set(reflect.Append(list, reflect.Zero(list.Type().Elem())))
		if l.name != nil {
			l.name.SetText(list.Index(at), names[i])
		}
		found.item = at
		if !l.item.read(&values[i], list.Index(at), found) {
			list.SetLen(at)
			continue
		}
		told = true
	}
	return told
}

// storeText stores a text that is part of another.
func (f *hit) storeText(at *language.Path, base reflect.Value, text string) {
	f.store(at, base, json.NodeOfText(text))
}

// store stores a value, and reports whether it is valid there.
func (f *hit) store(at *language.Path, base reflect.Value, n *json.Node) bool {
	text, isText := n.Text()
	switch {
	case n.Raw.Kind() == 'n' || isText && text == "":
		return false
	case at.Src == placeAny, at.Src == placeWords:
		return true
	case at.Src == placeNames:
		if isText {
			f.name(text)
			return true
		}
		names := n.Items(maxPatternItems)
		for i := range names {
			f.name(names[i].Plain())
		}
		return len(names) > 0
	case at.Src == placeAfter:
		wait, n := spelledWait(n.Plain())
		f.e.RetryAfter = wait
		return n > 0
	case at.Src == placeAt:
		wait, length := spelledTime(n.Plain(), f.now)
		f.e.RetryAfter = wait
		return length > 0
	case at.Src == "upstream.status":
		status, err := strconv.Atoi(n.Plain())
		if err != nil || !isFailure(status) {
			return false
		}
		f.e.Upstream.Status = status
		return true
	case at.Src == "param" && n.Raw.Kind() == '[':
		at.SetText(base, joined(n))
	case isText && at.IsText && (at.Computed == nil || at.IsSentence()):
		at.SetText(base, text)
	case at.Computed == nil && at.IsText && n.Raw.Kind() != '0':
		return false
	default:
		at.Set(base, n.Raw)
	}
	return true
}

// joined returns the steps of a path, given as a list.
func joined(list *json.Node) string {
	items := list.Items(maxPatternItems)
	steps := make([]string, len(items))
	for i := range items {
		steps[i] = items[i].Plain()
	}
	return strings.Join(steps, ".")
}

// word returns the longest name, in quotes, that every object matching p contains.
func (p *pattern) word() string {
	best := ""
	keep := func(word string) {
		if len(word) > len(best) {
			best = word
		}
	}
	switch {
	case len(p.constant) >= gramSize:
		keep(folded(string(p.constant)))
	case p.any != nil:
		keep(p.any.word())
	case p.each != nil:
		keep(p.each.item.word())
	}
	for _, m := range p.members {
		if !m.optional {
			keep(folded(string(json.AppendQuote(nil, m.name))))
			if m.value.constant == nil || m.value.constant.Kind() == '"' {
				keep(m.value.word())
			}
		}
	}
	return best
}

// size returns how many members and constants p requires: the more, the less likely a match is a coincidence.
func (p *pattern) size() int {
	n := 0
	switch {
	case p.constant != nil, len(p.leaves) > 0 && p.leaves[0].text != nil:
		n = 1
	case p.any != nil:
		n = p.any.size()
	case p.each != nil:
		n = p.each.item.size()
	}
	for _, m := range p.members {
		if !m.optional {
			n += 1 + m.value.size()
		}
	}
	return n
}

// pattern reads a pattern with paths relative to values of type on.
func (k *compiler) pattern(n *strictyaml.Node, on reflect.Type) *pattern {
	switch {
	case n.Kind() == strictyaml.KindSequence:
		p := &pattern{}
		for _, item := range language.Items(n) {
			p.leaves = append(p.leaves, k.patternLeaf(item, on))
		}
		return p
	case n.Kind() != strictyaml.KindMapping:
		if constant, ok := strings.CutPrefix(n.Text(), "="); ok {
			raw := json.Value(constant)
			if !json.Valid(raw) {
				raw = json.AppendQuote(nil, constant)
			}
			return &pattern{constant: raw}
		}
		return &pattern{leaves: []patternLeaf{k.patternLeaf(n, on)}}
	case n.Get("is") != nil && n.Get("set") != nil:
		if !strings.HasPrefix(n.Get("is").Text(), "=") {
			k.Mistakef(n.Get("is"), "write = before it", "`is` needs a constant")
			return &pattern{}
		}
		p := k.pattern(n.Get("is"), on)
		p.set = k.Constants(n.Get("set"), on)
		return p
	case n.Get("any") != nil && n.Len() == 1:
		return &pattern{any: k.pattern(n.Get("any"), on)}
	case n.Get("each") != nil && n.Get("item") != nil:
		l, _ := k.patternList(n, n.Get("each"), on)
		return &pattern{each: l}
	case n.Get("members") != nil && n.Get("name") != nil && n.Get("item") != nil:
		l, item := k.patternList(n, n.Get("members"), on)
		l.name = k.patternPath(n.Get("name"), item)
		return &pattern{each: l}
	}
	p := &pattern{members: []patternMember{}}
	for name, value := range n.All() {
		bare, optional := strings.CutSuffix(name, "?")
		p.members = append(p.members, patternMember{bare, optional, k.pattern(value, on)})
	}
	return p
}

// patternList reads the items of a list, and returns their type as well.
func (k *compiler) patternList(n, list *strictyaml.Node, on reflect.Type) (*patternList, reflect.Type) {
	path, item := k.List(list, on)
	if path == nil {
		return &patternList{list: &language.Path{}, item: &pattern{}}, on
	}
	return &patternList{list: path, item: k.pattern(n.Get("item"), item)}, item
}

func (k *compiler) patternLeaf(n *strictyaml.Node, on reflect.Type) patternLeaf {
	if strings.Contains(n.Text(), "{") {
		return patternLeaf{text: k.TemplateOf(n, func(name string) (*language.Path, error) { return newPlace(name, on) })}
	}
	return patternLeaf{path: k.patternPath(n, on)}
}

func (k *compiler) patternPath(n *strictyaml.Node, on reflect.Type) *language.Path {
	var text string
	if n.Decode(&text) != nil {
		return &language.Path{Src: placeAny}
	}
	p, err := newPlace(text, on)
	if err != nil {
		k.Mistakef(n, language.PathHint(text), "%s", err)
		return &language.Path{Src: placeAny}
	}
	return p
}
