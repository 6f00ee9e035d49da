package json

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// Edit returns an object with each member's value as change returns it, and everything else as it is spelled; nil leaves
// the member out. The members of more that the object lacks follow, laid out like the others. Of a name that is
// repeated, only the last member remains. What is no object is returned as it is.
func Edit(object Value, change func(name string, value Value) Value, more Members) Value {
	list, end, ok := spell(object, '{')
	if !ok {
		return object
	}
	last := make(map[string]int, len(list))
	for i := range list {
		last[list[i].name] = i
	}
	kept := make([]spelled, 0, len(list)+len(more))
	for i, m := range list {
		if last[m.name] != i {
			continue
		}
		if m.value = change(m.name, m.value); m.value != nil {
			kept = append(kept, m)
		}
	}
	for _, m := range more {
		if _, has := last[m.Name]; !has && len(m.Value) > 0 {
			kept = append(kept, spelledLike(list, m))
		}
	}
	return appendSpelled('{', kept, end)
}

// EditItems does the same with the items of an array, all of which stay.
func EditItems(array Value, change func(i int, item Value) Value) Value {
	list, end, ok := spell(array, '[')
	if !ok {
		return array
	}
	for i := range list {
		list[i].value = change(i, list[i].value)
	}
	return appendSpelled('[', list, end)
}

// A spelled is a member or an item as it is spelled: the space before it, the name with what follows it up to the value,
// the value, and the space after that.
type spelled struct {
	name        string
	before, key Value
	value       Value
	after       Value
}

// spell splits an object or array; end is the space before its end, and ok is false for any other value.
func spell(raw Value, open byte) (list []spelled, end Value, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if token, err := dec.ReadToken(); err != nil || byte(token.Kind()) != open {
		return nil, nil, false
	}
	for dec.PeekKind() != jsontext.Kind(open+2) { // as in Parts
		at := int(dec.InputOffset())
		m := spelled{}
		if n := len(list); n > 0 {
			comma := at + space(raw[at:])
			list[n-1].after, at = raw[at:comma], comma+1
		}
		start := at + space(raw[at:])
		m.before = raw[at:start]
		if open == '{' {
			token, err := dec.ReadToken()
			if err != nil {
				return nil, nil, false
			}
			m.name = token.String()
		}
		value, err := readValue(dec, raw)
		if err != nil {
			return nil, nil, false
		}
		m.value, m.key = value, raw[start:int(dec.InputOffset())-len(value)]
		list = append(list, m)
	}
	at := int(dec.InputOffset())
	end = raw[at : at+space(raw[at:])]
	_, err := dec.ReadToken()
	return list, end, err == nil
}

// space returns the length of the space with which raw begins.
func space(raw Value) int { return len(raw) - len(bytes.TrimLeft(raw, " \t\r\n")) }

// spelledLike spells a member like the first of list.
func spelledLike(list []spelled, m Member) spelled {
	s := spelled{name: m.Name, key: append(AppendQuote(nil, m.Name), ':'), value: m.Value}
	if len(list) == 0 {
		return s
	}
	s.before = list[0].before
	if colon := bytes.LastIndexByte(list[0].key, ':'); colon >= 0 {
		s.key = append(s.key[:len(s.key)-1], list[0].key[bytes.LastIndexByte(list[0].key, '"')+1:]...)
	}
	return s
}

// appendSpelled writes an object or array with that space before its end.
func appendSpelled(open byte, list []spelled, end Value) Value {
	dst := Value{open}
	for i, m := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(append(dst, m.before...), m.key...), m.value...), m.after...)
	}
	return append(append(dst, end...), open+2)
}
