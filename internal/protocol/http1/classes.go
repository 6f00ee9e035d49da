package http1

import "strings"

// Classes of bytes.
const (
	inName  = 1 << iota // of a field's name: a token (RFC 9110, section 5.6.2)
	inValue             // of a field's value (RFC 9110, section 5.5)
	inHost              // of a host, with or without a port, in names and addresses
)

var classes = func() (table [256]byte) {
	for c := range table {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if letter || strings.IndexByte("!#$%&'*+-.^_`|~", byte(c)) >= 0 {
			table[c] |= inName
		}
		if c == '\t' || c >= ' ' && c != 0x7f {
			table[c] |= inValue
		}
		if letter || strings.IndexByte("-._:[]", byte(c)) >= 0 {
			table[c] |= inHost
		}
	}
	return table
}()

// consistsOf reports whether text is not empty and all its bytes are in the class.
func consistsOf(text string, class byte) bool {
	for i := range len(text) {
		if classes[text[i]]&class == 0 {
			return false
		}
	}
	return text != ""
}
