package redact

import (
	"regexp"
	"slices"
	"strings"
)

// Searching with a pattern is slow. Patterns are only tried where one of their first words occurs, and only on a window
// of the text.

// window is how many bytes of a text a pattern is tried on. A value that extends beyond it is followed to its end.
const window = 256

// A wordSet has words in lower case, by their first letter.
type wordSet [26][]string

func newWords(list ...string) *wordSet {
	var set wordSet
	for _, word := range list {
		set[word[0]-'a'] = append(set[word[0]-'a'], word)
	}
	for _, words := range set { // the longest first
		slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	}
	return &set
}

// at returns the longest word of the set that begins at i, in any case.
func (w *wordSet) at(s string, i int) string {
	c := s[i] | 0x20
	if c < 'a' || c > 'z' {
		return ""
	}
	for _, word := range w[c-'a'] {
		if hasPrefixFold(s[i:], word) {
			return word
		}
	}
	return ""
}

// each calls visit with each word of the set that begins a word of s. It continues where visit says, or after the
// word's first letter.
func (w *wordSet) each(s string, visit func(at int, word string) (next int)) {
	for i := 0; i < len(s); {
		c := s[i] | 0x20
		if c < 'a' || c > 'z' || w[c-'a'] == nil || i > 0 && isWord(s[i-1]) {
			i++
			continue
		}
		word := w.at(s, i)
		if word == "" {
			i++
			continue
		}
		i = max(i+1, visit(i, word))
	}
}

// hasPrefixFold reports whether s begins with small, which is in lower case, in any case.
func hasPrefixFold(s, small string) bool {
	if len(s) < len(small) {
		return false
	}
	for i := range len(small) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != small[i] {
			return false
		}
	}
	return true
}

// matchAt tries a pattern that is anchored at its beginning at a position in s. It returns positions in s.
func matchAt(expr *regexp.Regexp, s string, at int) []int {
	match := expr.FindStringSubmatchIndex(s[at:min(len(s), at+window)])
	for i := range match {
		if match[i] >= 0 {
			match[i] += at
		}
	}
	return match
}

// follow returns the end of a value that a window has cut off: the first byte for which
// in is false.
func follow(s string, at, end int, in func(c byte) bool) int {
	if end < at+window {
		return end
	}
	for end < len(s) && in(s[end]) {
		end++
	}
	return end
}

// outside returns a function that reports whether a byte is outside of set.
func outside(set string) func(c byte) bool {
	return func(c byte) bool { return strings.IndexByte(set, c) < 0 }
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}

// skip returns the position after at most that many bytes for which is reports true.
func skip(s string, at, most int, is func(c byte) bool) int {
	end := at
	for end < len(s) && end-at < most && is(s[end]) {
		end++
	}
	return end
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isQuote(c byte) bool { return c == '"' || c == '\'' }
