package json

import "strconv"

// Lookup returns the value at a JSON Pointer (RFC 6901), or nil if there is none. raw is read leniently: for a
// duplicate name, the last value counts. Other parts of raw cost no memory.
func Lookup(raw Value, pointer Pointer) Value {
	value := raw
	for token := range pointer.Tokens() {
		var found Value
		index, at := -1, 0 // of the item in an array, and of the current one
		if value.Kind() == '[' {
			var err error
			if index, err = strconv.Atoi(token); err != nil || strconv.Itoa(index) != token {
				return nil
			}
		}
		err := Parts(value, func(name string, part Value) {
			if at == index || index < 0 && name == token {
				found = part
			}
			at++
		})
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
	err := Parts(raw, func(_ string, item Value) {
		if more = len(list) == most; !more {
			list = append(list, item)
		}
	})
	if err != nil {
		return nil, false
	}
	return list, more
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

// IsTrue reports whether a pointer leads to true.
func IsTrue(raw Value, pointer Pointer) bool { return Lookup(raw, pointer).Kind() == 't' }
