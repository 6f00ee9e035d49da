package wire

import (
	"bytes"
	"strconv"
)

// ID is the id of a request, as its sender spelled it in JSON: a string with its quotes, or an integer.
// The empty ID means that a message has none.
type ID []byte

// IntID returns the ID of the integer n.
func IntID(n int64) ID { return strconv.AppendInt(nil, n, 10) }

// IsZero reports whether there is no id.
func (id ID) IsZero() bool { return len(id) == 0 }

// String returns the spelling.
func (id ID) String() string { return string(id) }

// Clone returns a copy that does not share memory with the original message.
func (id ID) Clone() ID { return bytes.Clone(id) }

// Equal reports whether both are the same id, however they are spelled: strings are compared by their
// value, numbers by theirs. Integers above 2^53 are equal if they are the same float64, since some
// servers round them. Two missing ids are equal.
func (id ID) Equal(other ID) bool {
	if bytes.Equal(id, other) {
		return true
	}
	if id.IsZero() || other.IsZero() {
		return false
	}
	if id[0] == '"' || other[0] == '"' {
		escaped := bytes.IndexByte(id, '\\') >= 0 || bytes.IndexByte(other, '\\') >= 0
		return escaped && id[0] == other[0] && unquote(id) == unquote(other)
	}
	a, errA := strconv.ParseFloat(string(id), 64)
	b, errB := strconv.ParseFloat(string(other), 64)
	return errA == nil && errB == nil && a == b
}

// problem returns the reason why a value cannot be the id of a request (MCP, basic/index: a string or
// an integer, never null), or "".
func (id ID) problem() string {
	switch id[0] {
	case '"':
		return ""
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '{':
		return "an object"
	case '[':
		return "an array"
	default:
		if bytes.ContainsAny(id, ".eE") {
			return "a number with a fraction or an exponent"
		}
		return ""
	}
}
