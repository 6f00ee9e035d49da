package json

import "strconv"

// Lookup returns the value that a JSON Pointer (RFC 6901) leads to, or nil where
// there is none. raw is read leniently.
func Lookup(raw Value, pointer Pointer) Value {
	value := raw
	for token := range pointer.Tokens() {
		switch value.Kind() {
		case '{':
			var object map[string]Value
			if UnmarshalLenient(value, &object) != nil {
				return nil
			}
			value = object[token]
		case '[':
			var list []Value
			i, err := strconv.Atoi(token)
			if err != nil || UnmarshalLenient(value, &list) != nil || i < 0 || i >= len(list) {
				return nil
			}
			value = list[i]
		default:
			return nil
		}
	}
	return value
}
