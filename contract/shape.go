package contract

import (
	"bytes"
	stdjson "encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A shape maps the members of a wire object to members of the record. It is used both for reading and for
// writing.
type shape struct {
	members []shapeMember
	rest    *language.Path // a map whose members are written beside the others
}

// A shapeMember has exactly one of its sources.
type shapeMember struct {
	name     string
	constant json.Value
	path     *language.Path
	choices  []choice
	nested   *shape
	list     *language.Path // each of its items is written by nested
}

// append writes the object for base without empty members, or nothing if all are empty.
func (sh *shape) append(dst []byte, s *subject, base reflect.Value) []byte {
	start := len(dst)
	dst = append(dst, '{')
	for i := range sh.members {
		dst = appendMember(dst, start, sh.members[i].name, func(dst []byte) []byte {
			return sh.members[i].append(dst, s, base)
		})
	}
	if sh.rest != nil {
		dst = sh.appendRest(dst, start, s, base)
	}
	if len(dst) == start+1 {
		return dst[:start]
	}
	return append(dst, '}')
}

// appendMember writes one member of the object that begins at start, or nothing if its value is empty.
func appendMember(dst []byte, start int, name string, value func([]byte) []byte) []byte {
	before := len(dst)
	if before > start+1 {
		dst = append(dst, ',')
	}
	dst = append(json.AppendQuote(dst, name), ':')
	empty := len(dst)
	if dst = value(dst); len(dst) == empty {
		return dst[:before]
	}
	return dst
}

// appendRest writes the members of a map that the shape does not have itself.
func (sh *shape) appendRest(dst []byte, start int, s *subject, base reflect.Value) []byte {
	m, _ := reflect.TypeAssert[map[string]stdjson.RawMessage](orEmpty(s.value(sh.rest, base)))
	names := make([]string, 0, len(m))
	for name := range m {
		if !sh.has(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		dst = appendMember(dst, start, name, func(dst []byte) []byte { return append(dst, m[name]...) })
	}
	return dst
}

func orEmpty(v reflect.Value) reflect.Value {
	if v.IsValid() {
		return v
	}
	return reflect.ValueOf(map[string]stdjson.RawMessage(nil))
}

func (sh *shape) has(name string) bool {
	return slices.ContainsFunc(sh.members, func(m shapeMember) bool { return m.name == name })
}

func (m *shapeMember) append(dst []byte, s *subject, base reflect.Value) []byte {
	switch {
	case m.constant != nil:
		return append(dst, m.constant...)
	case m.list != nil:
		list := s.value(m.list, base)
		if !list.IsValid() {
			return dst
		}
		dst = append(dst, '[')
		for i := range list.Len() {
			if i > 0 {
				dst = append(dst, ',')
			}
			before := len(dst)
			if dst = m.nested.append(dst, s, list.Index(i)); len(dst) == before {
				dst = append(dst, "{}"...)
			}
		}
		return append(dst, ']')
	case m.nested != nil:
		return m.nested.append(dst, s, base)
	case m.choices != nil:
		return appendChoice(dst, m.choices, s, base)
	}
	if v := s.value(m.path, base); v.IsValid() {
		return appendValue(dst, v)
	}
	return dst
}

// fits reports whether object could have been written by sh: it has the shape's constants and a code.
func (sh *shape) fits(object *json.Node) bool {
	for i := range sh.members {
		if m := &sh.members[i]; m.constant != nil && !bytes.Equal(object.RawMember(m.name), m.constant) {
			return false
		}
	}
	return sh.codeIn(object) != ""
}

// codeIn returns the code that an object says, or "".
func (sh *shape) codeIn(object *json.Node) string {
	var e recourse.Error
	for i := range sh.members {
		if m := &sh.members[i]; m.path != nil && m.path.IsCode() {
			if raw := object.RawMember(m.name); raw != nil {
				m.path.Set(reflect.ValueOf(&e).Elem(), raw)
			}
		}
	}
	return e.Code
}

// paths returns the paths from which the member is written, without those in nested objects.
func (m *shapeMember) paths() []*language.Path {
	if m.path != nil {
		return []*language.Path{m.path}
	}
	var list []*language.Path
	for _, c := range m.choices {
		if c.path != nil {
			list = append(list, c.path)
		}
	}
	return list
}

// marked reports whether a constant distinguishes the objects of sh from others.
func (sh *shape) marked() bool {
	return slices.ContainsFunc(sh.members, func(m shapeMember) bool { return m.constant != nil })
}

// places reports whether sh has a member for a path below src.
func (sh *shape) places(src string) bool {
	return slices.ContainsFunc(sh.members, func(m shapeMember) bool {
		if m.nested != nil && m.list == nil && m.nested.places(src) {
			return true
		}
		return slices.ContainsFunc(m.paths(), func(p *language.Path) bool { return p.Src == src || strings.HasPrefix(p.Src, src+".") })
	})
}

// decides reports whether the member of that name is the boolean that says whether to repeat the call.
func (sh *shape) decides(name string) bool {
	return sh != nil && slices.ContainsFunc(sh.members, func(m shapeMember) bool {
		return m.name == name && m.path != nil && m.path.IsRetryable()
	})
}

// read stores the values of object in base, and returns the names of those that base has no place for.
func (sh *shape) read(object *json.Node, base reflect.Value, d *draft) (others []string) {
	names, values := object.Parts()
	for _, alternatives := range []bool{false, true} { // alternatives last: the other members tell which was used
		for i := range sh.members {
			m := &sh.members[i]
			value := object.Member(m.name)
			if value == nil || value.Raw.Kind() == 'n' || (m.choices != nil) != alternatives {
				continue
			}
			if !m.read(value, base, d) {
				others = append(others, m.name)
			}
		}
	}
	for i, name := range names {
		switch {
		case sh.has(name):
		case sh.rest != nil:
			sh.keepRest(name, values[i].Raw, base)
		default:
			others = append(others, name)
		}
	}
	e, ok := reflect.TypeAssert[*recourse.Error](base.Addr())
	if !ok {
		return others
	}
	if !d.drops {
		keepDetails(e, object, others)
	}
	return nil
}

// keepRest stores a value that sh has no member for.
func (sh *shape) keepRest(name string, raw json.Value, base reflect.Value) {
	if value, ok := clean.Raw(raw); ok {
		sh.rest.Put(base, name, value)
	}
}

// read stores the value of a member in base. It reports whether base has a place for all of it.
func (m *shapeMember) read(value *json.Node, base reflect.Value, d *draft) (whole bool) {
	switch {
	case m.list != nil:
		return m.readList(value, base, d)
	case m.nested != nil && value.IsObject():
		return len(m.nested.read(value, base, d)) == 0
	case m.nested != nil:
		if m.nested.rest == nil {
			return false
		}
		m.nested.keepRest(m.name, value.Raw, base) // not the type that we write: kept as it is
	case m.choices != nil:
		return readChoice(value.Raw, m.choices, base, d)
	case m.path == nil: // a constant
	case m.path.IsRetryable():
		var retryable bool
		if json.Unmarshal(value.Raw, &retryable) != nil {
			return false
		}
		d.say(m.path.Record(base), retryable)
	default:
		return m.path.Set(base, value.Raw)
	}
	return true
}

// A choice is one of several sources of a member. The first one that is not empty and whose selector matches
// is used.
type choice struct {
	when     selector
	constant json.Value
	path     *language.Path // unless it is a constant
}

// appendChoice writes the first alternative that matches and is not empty.
func appendChoice(dst []byte, list []choice, s *subject, base reflect.Value) []byte {
	for i := range list {
		c := &list[i]
		switch {
		case !c.when.selects(s):
		case c.constant != nil:
			return append(dst, c.constant...)
		default:
			if v := s.value(c.path, base); v.IsValid() {
				return appendValue(dst, v)
			}
		}
	}
	return dst
}

// readChoice stores a value that appendChoice may have written: a word from a closed set goes into the member
// for it, any other value into the first path that can hold it. A constant stores what its selector implies. It reports
// whether there is a place for the value.
func readChoice(raw json.Value, list []choice, base reflect.Value, d *draft) (stored bool) {
	for i := range list {
		if c := &list[i]; c.constant == nil && c.path.Words() != nil && c.takes(raw, d) {
			return c.path.Set(base, raw)
		}
	}
	for i := range list {
		c := &list[i]
		switch {
		case c.constant != nil && bytes.Equal(json.Compact(raw), c.constant):
			c.when.store(d.e)
			return true
		case c.constant == nil && !stored && c.takes(raw, d):
			stored = c.path.Set(base, raw)
		}
	}
	return stored
}

// takes reports whether c could have written raw, as far as the record shows so far.
func (c *choice) takes(raw json.Value, d *draft) bool {
	return c.path.Takes(raw) && c.when.selects(&subject{e: d.e, call: &Call{}})
}

// shapeOrRecord reads a shape, or the word record for the record's own form.
func (k *compiler) shapeOrRecord(n *strictyaml.Node) *shape {
	if n.Kind() == strictyaml.KindString {
		k.OneOf(n, "record")
		return nil
	}
	return k.shape(n, contractform.RecordType)
}

func (k *compiler) shape(n *strictyaml.Node, on reflect.Type) *shape {
	sh := &shape{}
	if n.Kind() != strictyaml.KindMapping {
		k.Mistakef(n, "for example {code: code, message: message}", "expected a mapping of members to paths")
		return sh
	}
	for name, value := range n.All() {
		if name == restMember {
			if sh.rest = k.Path(value, on); sh.rest != nil && (sh.rest.Leaf == nil || sh.rest.Leaf.Kind() != reflect.Map) {
				k.Mistakef(value, "only details has members of its own", "%s has no members to place here", sh.rest.Src)
				sh.rest = nil
			}
			continue
		}
		m := shapeMember{name: name}
		switch {
		case value.Kind() == strictyaml.KindSequence:
			m.choices = k.choices(value, on)
		case value.Kind() != strictyaml.KindMapping:
			k.source(&m, value, on)
		case value.Get("each") != nil && value.Get("item") != nil:
			var item reflect.Type
			if m.list, item = k.List(value.Get("each"), on); m.list == nil {
				continue
			}
			m.nested = k.shape(value.Get("item"), item)
		default:
			m.nested = k.shape(value, on)
		}
		if m.path != nil || m.constant != nil || m.nested != nil || len(m.choices) > 0 {
			sh.members = append(sh.members, m)
		}
	}
	return sh
}

// restMember is the name for the members of a map that are written beside the others.
const restMember = "..."

// source reads a path, or a constant after an equals sign.
func (k *compiler) source(m *shapeMember, n *strictyaml.Node, on reflect.Type) {
	var text string
	if n.Decode(&text) != nil {
		return
	}
	constant, ok := strings.CutPrefix(text, "=")
	if !ok {
		m.path = k.Path(n, on)
		return
	}
	if m.constant = json.Value(constant); !json.Valid(m.constant) {
		m.constant = json.AppendQuote(nil, constant)
	}
}

// choices reads the alternatives for a member: paths, constants, or {for, is} with a selector.
func (k *compiler) choices(n *strictyaml.Node, on reflect.Type) []choice {
	var list []choice
	for i, item := range language.Items(n) {
		c := choice{}
		source := item
		if item.Kind() == strictyaml.KindMapping {
			var form struct {
				For *strictyaml.Node `yaml:"for,required"`
				Is  *strictyaml.Node `yaml:"is,required"`
			}
			if item.Decode(&form) != nil {
				continue
			}
			if on != contractform.RecordType {
				k.Mistakef(form.For, "leave `for` out", "the items of a list are not selected")
				continue
			}
			c.when, source = k.selector(form.For), form.Is
		}
		m := shapeMember{}
		k.source(&m, source, on)
		if c.constant, c.path = m.constant, m.path; c.constant == nil && c.path == nil {
			continue
		}
		if c.constant != nil && c.when == nil && i+1 < n.Len() {
			k.Mistakef(item, "move it to the end, or give it a `for`", "what follows a constant without `for` is never reached")
		}
		list = append(list, c)
	}
	return list
}
