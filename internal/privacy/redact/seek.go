package redact

import (
	"iter"
	"regexp"
	"slices"
	"strings"
)

// Searching with a pattern is slow. Patterns are only tried where one of their first words occurs, and only on a window
// of the text.

// window is how many bytes of a text a pattern is tried on. A value that extends beyond it is followed to its end.
const window = 256

// A wordSet has words in lower case, by their first two letters.
type wordSet struct {
	list   []string
	byHead [1 << 10]uint8 // which of the groups
	groups [][]string
	begins [256]bool // which bytes a word begins with, in any case
}

func newWords(list ...string) *wordSet {
	set := &wordSet{list: list, groups: make([][]string, 1)}
	for _, word := range list {
		heads := []string{word}
		if len(word) == 1 { // with any other letter
			heads = nil
			for c := range byte(1 << 5) {
				heads = append(heads, word+string(c))
			}
		}
		for _, text := range heads {
			head := headOf2(text)
			if set.byHead[head] == 0 {
				set.byHead[head] = uint8(len(set.groups))
				set.groups = append(set.groups, nil)
			}
			if group := &set.groups[set.byHead[head]]; !slices.Contains(*group, word) {
				*group = append(*group, word)
			}
		}
		set.begins[word[0]], set.begins[word[0]&^0x20] = true, true
	}
	for _, words := range set.groups { // the longest first
		slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	}
	return set
}

// headOf2 is a hash of the first two letters of a text, in any case.
func headOf2(s string) int { return int(s[0]&0x1f)<<5 | int(s[1]&0x1f) }

// at returns the longest word of the set that begins at i, in any case.
func (w *wordSet) at(s string, i int) string {
	if i+1 >= len(s) || !w.begins[s[i]] {
		return ""
	}
	for _, word := range w.groups[w.byHead[headOf2(s[i:])]] {
		if hasPrefixFold(s[i:], word) {
			return word
		}
	}
	return ""
}

// each calls visit with each word of the set that begins a word of s. It continues where visit says, or after the
// word's first letter.
func (w *wordSet) each(s string, visit func(at int, word string) (next int)) {
	for i := 0; i < len(s); i++ {
		if !w.begins[s[i]] || i > 0 && ofWords[s[i-1]] {
			continue
		}
		if word := w.at(s, i); word != "" {
			i = max(i, visit(i, word)-1)
		}
	}
}

// find finds what begins with a word of the set: at returns it, and where to go on.
func (w *wordSet) find(s string, at func(s string, at int, word string) (found span, end int, ok bool)) (found []span) {
	w.each(s, func(i int, word string) int {
		p, end, ok := at(s, i, word)
		if ok {
			found = append(found, p)
		}
		return end
	})
	return found
}

// places yields each position of a text in s.
func places(s, text string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := 0; ; at++ {
			i := strings.Index(s[at:], text)
			if i < 0 || !yield(at+i) {
				return
			}
			at += i
		}
	}
}

// endings are words in lower case that end a text, by their last bytes.
type endings struct {
	list []string
	last [256]bool
}

func newEndings(list ...string) *endings {
	e := &endings{list: list}
	for _, word := range list {
		e.last[word[len(word)-1]] = true
	}
	return e
}

// end reports whether s ends in one of the words, in any case.
func (e *endings) end(s string) bool {
	if s == "" || !e.last[s[len(s)-1]] && !e.last[s[len(s)-1]|0x20] {
		return false
	}
	return slices.ContainsFunc(e.list, func(word string) bool {
		at := len(s) - len(word)
		return at >= 0 && hasPrefixFold(s[at:], word) && (at == 0 || !isWord(s[at-1]))
	})
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

// setOf returns the set of these bytes.
func setOf(bytes string) (set [256]bool) {
	for i := range len(bytes) {
		set[bytes[i]] = true
	}
	return set
}

// setThat returns the set of the bytes for which is reports true.
func setThat(is func(c byte) bool) (set [256]bool) {
	for c := range set {
		set[c] = is(byte(c))
	}
	return set
}

// trimEnd returns s without the bytes of a set at its end.
func trimEnd(s string, set *[256]bool) string {
	end := len(s)
	for end > 0 && set[s[end-1]] {
		end--
	}
	return s[:end]
}

// indexOfSet returns the position of the first byte of a set in s, or the length of s.
func indexOfSet(s string, set *[256]bool) int {
	for i := range len(s) {
		if set[s[i]] {
			return i
		}
	}
	return len(s)
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

// back returns where the bytes of a set begin that end at a position, not before least.
func back(s string, at, least int, set *[256]bool) int {
	for at > least && set[s[at-1]] {
		at--
	}
	return at
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isQuote(c byte) bool { return c == '"' || c == '\'' }
