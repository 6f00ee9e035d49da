package redact

import (
	"strings"
	"unicode/utf8"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// suspicious reports whether s contains anything that could be part of something that is masked. Most sentences do not.
func (m *Masker) suspicious(s string) bool {
	return suspicious(s) || m.personal && (mayBePersonal(s) || m.mentionsPeople(s)) || mayBeTable(s)
}

// mayBeTable reports whether s may be a table with a column of secrets.
func mayBeTable(s string) bool {
	return strings.Contains(s, "\n") && strings.ContainsAny(s, ",;\t") && secret.Mentions(s)
}

// signs are bytes that may be part of something that is masked, wherever they stand.
var signs = setThat(func(c byte) bool { return c >= utf8.RuneSelf || strings.IndexByte(":=/\\@\"'`$|<&%{", c) >= 0 })

func suspicious(s string) bool {
	var w wordSigns
	for i := range len(s) {
		switch c := s[i]; {
		case signs[c]:
			return true
		case c == '.' && i+1 < len(s) && isWord(s[i+1]):
			return true
		case (c == ' ' || c == '-') && i+1 < len(s) && s[i+1] == c: // a table
			return true
		case isWord(c) || c == '-':
			w.add(c)
		case w.odd() || c == ' ' && (strings.HasSuffix(s[:i], "PIN") || strings.HasSuffix(s[:i], "pin")):
			return true
		default:
			w = wordSigns{digits: w.digits}
		}
	}
	return w.odd() && (w.length < len(s) || len(s) >= minEncoded) // a short word alone is nothing, whatever it consists of
}

// wordSigns is what a word consists of.
type wordSigns struct {
	length, digits      int // digits: of all words so far
	upper, digit, lower bool
}

func (w *wordSigns) add(c byte) {
	w.upper = w.upper || w.length > 0 && 'A' <= c && c <= 'Z'
	w.lower = w.lower || 'a' <= c && c <= 'z'
	if isDigit(c) {
		w.digit = true
		w.digits++
	}
	w.length++
}

// odd reports whether the word may be something other than a word of a sentence.
func (w *wordSigns) odd() bool {
	const account = 10 // the least digits of a number in groups
	return w.length >= 8 && w.upper || w.length >= 6 && w.digit || w.length >= 32 || w.length >= 5 && w.digit && w.lower ||
		w.digits >= account
}
