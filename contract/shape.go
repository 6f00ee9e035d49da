package contract

import (
	"bytes"
	"reflect"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// A shape maps the members of a wire object to members of the record. It is read
// and written by the same description.
type shape struct {
	members []shapeMember
}

// A shapeMember has exactly one of its sources.
type shapeMember struct {
	name     string
	constant json.Value
	path     *path
	nested   *shape
	list     *path // each of its items is written by nested
}

// append writes the object of base, with members that come out empty left out;
// nil when nothing is left.
func (sh *shape) append(dst []byte, s *subject, base reflect.Value) []byte {
	start := len(dst)
	dst = append(dst, '{')
	for i := range sh.members {
		m := &sh.members[i]
		before := len(dst)
		if before > start+1 {
			dst = append(dst, ',')
		}
		dst = append(json.AppendQuote(dst, m.name), ':')
		value := len(dst)
		if dst = m.append(dst, s, base); len(dst) == value {
			dst = dst[:before]
		}
	}
	if len(dst) == start+1 {
		return dst[:start]
	}
	return append(dst, '}')
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
		case m.path != nil && (m.path.src == "code" || m.path.src == "code.number"):
			var e recourse.Error
			code = object[m.name] != nil && m.path.set(reflect.ValueOf(&e).Elem(), object[m.name])
		}
	}
	return code
}

// read stores what object says in base. Members of another type than expected are
// passed over. said, where it is not nil, is told of the booleans that stand for
// retryable, with the record that each belongs to.
func (sh *shape) read(object map[string]json.Value, base reflect.Value, said func(e *recourse.Error, retryable bool)) {
	for i := range sh.members {
		m := &sh.members[i]
		raw, ok := object[m.name]
		if !ok || bytes.Equal(raw, []byte("null")) {
			continue
		}
		switch {
		case m.list != nil:
			m.readList(raw, base, said)
		case m.nested != nil:
			var inner map[string]json.Value
			if json.UnmarshalLenient(raw, &inner) == nil {
				m.nested.read(inner, base, said)
			}
		case m.path != nil:
			m.path.set(base, raw)
			var retryable bool
			if m.path.special != nil && m.path.isRetryable() && json.Unmarshal(raw, &retryable) == nil {
				said(m.path.record(base), retryable)
			}
		}
	}
}

func (m *shapeMember) readList(raw json.Value, base reflect.Value, said func(*recourse.Error, bool)) {
	var items []json.Value
	if json.UnmarshalLenient(raw, &items) != nil {
		return
	}
	for i, item := range items[:min(len(items), maxItems)] {
		var object map[string]json.Value
		if json.UnmarshalLenient(item, &object) != nil {
			object = nil
		}
		list := m.list.at(base)
		if list.Len() <= i {
			list.Set(reflect.Append(list, reflect.Zero(list.Type().Elem())))
		}
		m.nested.read(object, list.Index(i), said)
	}
}

// maxItems bounds the lists that are read.
const maxItems = 1000

// isRetryable reports whether p is the computed boolean.
func (p *path) isRetryable() bool {
	const name = "retryable"
	return len(p.src) >= len(name) && p.src[len(p.src)-len(name):] == name
}

// at returns the place that p leads to, made where it is missing.
func (p *path) at(base reflect.Value) reflect.Value {
	v := base
	for _, st := range p.steps {
		v = v.Field(st.field)
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
	}
	return v
}

// record returns the record that a computed member belongs to.
func (p *path) record(base reflect.Value) *recourse.Error {
	e, _ := p.at(base).Addr().Interface().(*recourse.Error)
	return e
}
