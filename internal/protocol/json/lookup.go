package json

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Lookup returns the value at a JSON Pointer (RFC 6901), or nil if there is none. raw is read leniently: for a
// duplicate name, the last value counts. Other parts of raw cost no memory.
func Lookup(raw Value, pointer Pointer) Value {
	value := raw
	for token := range pointer.Tokens() {
		var found Value
		var err error
		switch value.Kind() { //nolint:exhaustive // the others lead nowhere
		case '{':
			err = members(value, func(name string, member Value) {
				if name == token {
					found = member
				}
			})
		case '[':
			i, parseErr := strconv.Atoi(token)
			if parseErr != nil {
				return nil
			}
			at := 0
			err = items(value, func(item Value) bool {
				if at == i {
					found = item
				}
				at++
				return true
			})
		}
		if err != nil || found == nil {
			return nil
		}
		value = found
	}
	return value
}

// Text returns the string at pointer, or "" if there is none.
func Text(raw Value, pointer Pointer) (text string) {
	_ = Unmarshal(Lookup(raw, pointer), &text)
	return text
}

// Items returns the first items of an array, up to most, and whether there are more;
// none of another value. raw is read leniently.
func Items(raw Value, most int) (list []Value, more bool) {
	if raw.Kind() != '[' {
		return nil, false
	}
	err := items(raw, func(item Value) bool {
		if more = len(list) == most; !more {
			list = append(list, item)
		}
		return !more
	})
	if err != nil {
		return nil, false
	}
	return list, more
}

// members calls do for each member of an object.
func members(object Value, do func(name string, member Value)) error {
	return each(object, func(dec *Decoder) (bool, error) {
		name, err := dec.ReadToken()
		if err != nil {
			return false, err
		}
		text := name.String()
		member, err := readValue(dec, object)
		if err == nil {
			do(text, member)
		}
		return true, err
	})
}

// items calls do for each item of an array, until it returns false.
func items(array Value, do func(item Value) bool) error {
	return each(array, func(dec *Decoder) (bool, error) {
		item, err := readValue(dec, array)
		return err == nil && do(item), err
	})
}

// each calls next for each element of an object or array until that returns false.
func each(raw Value, next func(dec *Decoder) (bool, error)) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for {
		if kind := dec.PeekKind(); kind == '}' || kind == ']' {
			if _, err := dec.ReadToken(); err != nil {
				return err
			}
			if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
				return errors.New("more than one value")
			}
			return nil
		}
		if more, err := next(dec); err != nil || !more {
			return err
		}
	}
}

// readValue returns the next value as a part of the text that dec reads.
func readValue(dec *Decoder, text Value) (Value, error) {
	value, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := int(dec.InputOffset())
	return text[end-len(value) : end : end], nil
}
