package json

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// Complete returns a JSON text that begins like b, which is cut off: an open string is closed, an incomplete member or
// element is left out, and open objects and arrays are closed. It returns nil if no JSON text begins like b, as far as
// that is visible without a parser: check the result.
func Complete(b []byte) []byte {
	c := completer{text: b}
	for c.at < len(b) {
		if !c.next() {
			return nil
		}
	}
	if !c.begun {
		return nil
	}
	done := append(make([]byte, 0, c.safe+len(c.tail)+len(c.open)), b[:c.safe]...)
	done = append(done, c.tail...)
	for _, bracket := range slices.Backward(c.open) {
		done = append(done, bracket+2) // ] follows [ at this distance, and } follows {
	}
	return done
}

// A completer goes over a text up to where it breaks off.
type completer struct {
	text  []byte
	at    int
	open  []byte // the brackets that are open
	name  bool   // a string here is the name of a member
	begun bool   // there is something to complete
	safe  int    // up to here all that is missing are closing brackets
	tail  []byte // what follows safe: a string that was closed
}

// next takes a token. It reports false where there can be none.
func (c *completer) next() bool {
	switch b := c.text[c.at]; b {
	case ' ', '\t', '\r', '\n', ':':
		c.at++
	case '{', '[':
		c.open = append(c.open, b)
		c.name = b == '{'
		c.at++
		c.whole()
	case '}', ']':
		if len(c.open) == 0 || c.open[len(c.open)-1]+2 != b {
			return false
		}
		c.open = c.open[:len(c.open)-1]
		c.at++
		c.name = false
		c.whole()
	case ',':
		c.at++
		c.name = len(c.open) > 0 && c.open[len(c.open)-1] == '{'
	case '"':
		c.string()
	default:
		c.literal()
	}
	return true
}

// whole notes that what was read so far needs no more than closing brackets.
func (c *completer) whole() { c.safe, c.begun = c.at, true }

// string takes a string, which may break off.
func (c *completer) string() {
	start := c.at
	end := start + 1 // of the complete part
	for c.at = end; c.at < len(c.text); end = c.at {
		next := bytes.IndexAny(c.text[c.at:], "\"\\")
		if next < 0 {
			end = len(c.text)
			break
		}
		if c.at += next; c.text[c.at] == '"' {
			c.at++
			if !c.name {
				c.whole()
			}
			c.name = false
			return
		}
		end = c.at
		if c.at += escapeLen(c.text[c.at:]); c.at > len(c.text) {
			break
		}
	}
	c.at = len(c.text)
	if !c.name {
		c.begun = true
		c.tail = append(wholeRunes(slices.Concat(c.text[c.safe:start], c.text[start:end])), '"')
	}
}

// escapeLen returns how long the escape is that s begins with: two halves of a
// character are one.
func escapeLen(s []byte) int {
	const short, long = len(`\n`), len(`\u0000`)
	switch {
	case len(s) < short:
		return short
	case s[1] != 'u':
		return short
	case len(s) >= long && (s[2]|0x20 != 'd' || strings.IndexByte("89abAB", s[3]) < 0):
		return long
	case len(s) >= long+short && string(s[long:long+short]) != `\u`:
		return long // a half that stands alone
	case len(s) == long+1 && s[long] != '\\':
		return long
	default:
		return 2 * long
	}
}

// literal takes a number, true, false or null. One that the text ends in may not be
// whole.
func (c *completer) literal() {
	end := bytes.IndexAny(c.text[c.at:], " \t\r\n,:]}[{\"")
	if end < 0 {
		c.at = len(c.text)
		return
	}
	c.at += end
	c.whole()
}

// wholeRunes returns s without half of a character at its end.
func wholeRunes(s []byte) []byte {
	for n := 1; n < utf8.UTFMax && n < len(s); n++ {
		if last := s[len(s)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return s[:len(s)-n]
			}
			break
		}
	}
	return s
}
