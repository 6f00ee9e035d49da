package contract

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/json"
)

// A shape maps the members of a wire object to members of the record. It is read
// and written by the same description.
type shape struct {
	members []shapeMember
	rest    *path // of a map: its members stand beside the others
}

// A shapeMember has exactly one of its sources.
type shapeMember struct {
	name     string
	constant json.Value
	path     *path
	choices  []choice
	nested   *shape
	list     *path // each of its items is written by nested
}

// append writes the object of base, with members that come out empty left out;
// nothing when none is left.
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

// appendMember writes one member of the object that begins at start, and nothing
// when its value comes out empty.
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

// appendRest writes the members of a map, except those that the shape has itself.
func (sh *shape) appendRest(dst []byte, start int, s *subject, base reflect.Value) []byte {
	m, _ := reflect.TypeAssert[map[string]rawMessage](orEmpty(sh.rest.get(s, base)))
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
	return reflect.ValueOf(map[string]rawMessage(nil))
}

func (sh *shape) has(name string) bool {
	return slices.ContainsFunc(sh.members, func(m shapeMember) bool { return m.name == name })
}

// memberNames returns the members of the contract's object, in their order.
func (c *Contract) memberNames() []string {
	if c.layout.shape == nil {
		return slices.Concat([]string{"v"}, contractform.RecordOrder(), []string{"truncated"})
	}
	names := make([]string, len(c.layout.shape.members))
	for i, m := range c.layout.shape.members {
		names[i] = m.name
	}
	return names
}

func (m *shapeMember) append(dst []byte, s *subject, base reflect.Value) []byte {
	switch {
	case m.constant != nil:
		return append(dst, m.constant...)
	case m.list != nil:
		list := m.list.get(s, base)
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
	if v := m.path.get(s, base); v.IsValid() {
		return appendValue(dst, v)
	}
	return dst
}

// fits reports whether object may have been written by sh: its constants stand
// there as they are, and so does a code.
func (sh *shape) fits(object map[string]json.Value) bool {
	code := false
	for i := range sh.members {
		m := &sh.members[i]
		switch {
		case m.constant != nil:
			if !bytes.Equal(object[m.name], m.constant) {
				return false
			}
		case m.path != nil && m.path.isCode():
			var e recourse.Error
			m.path.set(reflect.ValueOf(&e).Elem(), object[m.name])
			code = e.Code != ""
		}
	}
	return code
}

// paths returns the paths that the member is written from, those of objects inside
// it aside.
func (m *shapeMember) paths() []*path {
	if m.path != nil {
		return []*path{m.path}
	}
	var list []*path
	for _, c := range m.choices {
		if c.path != nil {
			list = append(list, c.path)
		}
	}
	return list
}

// marked reports whether a constant tells objects of sh from others.
func (sh *shape) marked() bool {
	return slices.ContainsFunc(sh.members, func(m shapeMember) bool { return m.constant != nil })
}

// read stores in base what object says. Members of another type than expected are
// passed over.
func (sh *shape) read(object map[string]json.Value, base reflect.Value, d *draft) {
	for _, alternatives := range []bool{false, true} { // which of them it was, the others tell
		for i := range sh.members {
			m := &sh.members[i]
			if raw, ok := object[m.name]; ok && raw.Kind() != 'n' && (m.choices != nil) == alternatives {
				m.read(raw, base, d)
			}
		}
	}
	if sh.rest == nil {
		return
	}
	for name, raw := range object {
		if !sh.has(name) {
			sh.keepRest(name, raw, base)
		}
	}
}

// keepRest stores a value that sh has no member for.
func (sh *shape) keepRest(name string, raw json.Value, base reflect.Value) {
	if clean, ok := cleanRaw(raw); ok {
		within := *sh.rest
		within.steps = append(slices.Clone(within.steps), step{field: -1, index: -1, key: name})
		within.place(base, reflect.ValueOf(rawMessage(clean)))
	}
}

func (m *shapeMember) read(raw json.Value, base reflect.Value, d *draft) {
	switch {
	case m.list != nil:
		m.readList(raw, base, d)
	case m.nested != nil:
		var inner map[string]json.Value
		if json.UnmarshalLenient(raw, &inner) == nil {
			m.nested.read(inner, base, d)
		} else if m.nested.rest != nil { // of another type than we write: it is kept all the same
			m.nested.keepRest(m.name, raw, base)
		}
	case m.choices != nil:
		readChoice(raw, m.choices, base, d)
	case m.path == nil: // a constant
	case m.path.isRetryable():
		var retryable bool
		if json.Unmarshal(raw, &retryable) == nil {
			d.said[m.path.record(base)] = retryable
		}
	default:
		m.path.set(base, raw)
	}
}

func (m *shapeMember) readList(raw json.Value, base reflect.Value, d *draft) {
	var items []json.Value
	if json.UnmarshalLenient(raw, &items) != nil {
		return
	}
	if len(items) > maxItems {
		d.left = append(d.left, fmt.Sprintf("Of the %d items of %s only the first %d are kept.", len(items), m.name, maxItems))
		items = items[:maxItems]
	}
	list := walk(base, m.list.steps)
	if missing := len(items) - list.Len(); missing > 0 {
		list.Set(reflect.AppendSlice(list, reflect.MakeSlice(list.Type(), missing, missing)))
	}
	for i, item := range items {
		var object map[string]json.Value
		if json.UnmarshalLenient(item, &object) == nil {
			m.nested.read(object, list.Index(i), d)
		}
	}
}

// maxItems bounds the lists that are read. A record whose lists were cut says so.
const maxItems = 10_000

// isRetryable reports whether p is the computed boolean.
func (p *path) isRetryable() bool { return p.special != nil && p.special.name == "retryable" }

// isCode reports whether p is the record's own code.
func (p *path) isCode() bool { return p.src == "code" || p.src == "code.number" }

// A draft is a record while it is read.
type draft struct {
	e    *recourse.Error
	said map[*recourse.Error]bool // the wire's booleans, by the record that they belong to
	open bool                     // words count as codes that the contract does not list
	as   *entry                   // gives the kind in place of the code's own entry
	cut  bool                     // what is read breaks off
	// object says that it is the contract's own object that was read.
	object bool
	// foreign says that it was in a form that the contract does not write.
	foreign bool
	left    []string // sentences about what was left out
}

func newDraft() *draft {
	return &draft{e: new(recourse.Error), said: map[*recourse.Error]bool{}}
}

// try reads, and forgets what was read where that comes to nothing.
func (d *draft) try(read func() bool) bool {
	e, said := *d.e, maps.Clone(d.said)
	if read() {
		return true
	}
	*d.e, d.said = e, said
	return false
}

func (d *draft) base() reflect.Value { return reflect.ValueOf(d.e).Elem() }
