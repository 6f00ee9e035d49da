package json

import (
	"strconv"
)

// Member is a member of an object.
type Member struct {
	Name  string
	Value Value
}

// Members holds the members of an object in their order. Of a name that is repeated the last value counts, as for most
// readers of JSON.
type Members []Member

// MembersOf returns the members of an object, and none of anything else.
func MembersOf(object []byte) Members {
	if Value(object).Kind() != '{' {
		return nil
	}
	var l Members
	at := map[string]int{}
	err := Parts(object, func(name string, value Value) {
		i, repeated := at[name]
		if !repeated {
			i = len(l)
			at[name], l = i, append(l, Member{Name: name})
		}
		l[i].Value = value.Clone()
	})
	if err != nil {
		return nil
	}
	return l
}

// AppendTo writes l as an object, without members whose value is empty.
func (l *Members) AppendTo(dst []byte) []byte {
	dst = append(dst, '{')
	first := true
	for _, m := range *l {
		if len(m.Value) == 0 {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(AppendQuote(dst, m.Name), ':'), m.Value...)
	}
	return append(dst, '}')
}

// Add appends a member with that value.
func (l *Members) Add(name string, value Value) { *l = append(*l, Member{name, value}) }

// Change returns an object with a member as by returns it; nil: without it. What has no such member is returned as it is.
func Change(object Value, name string, by func(Value) Value) Value {
	return Edit(object, func(other string, value Value) Value {
		if other == name {
			return by(value)
		}
		return value
	}, nil)
}

// Without returns an object without a member.
func Without(object Value, name string) Value {
	return Change(object, name, func(Value) Value { return nil })
}

// Text appends a member that is a text, unless it is empty.
func (l *Members) Text(name, text string) {
	if text != "" {
		l.Add(name, AppendQuote(nil, text))
	}
}

// Object appends a member that is an object.
func (l *Members) Object(name string, members Members) { l.Add(name, members.AppendTo(nil)) }

// Texts appends a member that is a list of texts, unless it is empty.
func (l *Members) Texts(name string, texts []string) {
	if len(texts) > 0 {
		l.Add(name, Texts(texts))
	}
}

// Number appends a member that is a whole number.
func (l *Members) Number(name string, n int) { l.Add(name, Value(strconv.Itoa(n))) }

// Flag appends a member that is a boolean.
func (l *Members) Flag(name string, b bool) { l.Add(name, strconv.AppendBool(nil, b)) }

// Some appends a member that is a list or an object, unless it is empty.
func (l *Members) Some(name string, value Value) {
	if len(value) > len("[]") {
		l.Add(name, value)
	}
}

// Array writes a list of values.
func Array(items []Value) Value {
	list := []byte{'['}
	for i, item := range items {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, item...)
	}
	return append(list, ']')
}

// Texts writes a list of texts.
func Texts(texts []string) Value {
	items := make([]Value, len(texts))
	for i, text := range texts {
		items[i] = AppendQuote(nil, text)
	}
	return Array(items)
}
