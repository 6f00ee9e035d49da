package redact

import (
	"strings"
	"unicode/utf8"
)

// A folding is a spelling that hardly ever means something: letters of another script that look like those of ASCII, references of HTML
// between words, and whatever is in a quiet part of JSON. Reading a text again without them takes as long as reading it, so that is only
// done near what could be part of something.
type folding uint8

// The sorts of foldings. A sign that could be part of something together with one of them is noted in the same way.
const (
	foldsLetters folding = 1 << iota
	foldsReference
	foldsQuiet // in a quiet part of JSON
)

// foldingOf are the foldings that mean something beside a sign.
var foldingOf = func() (set [256]folding) {
	for c := range set {
		switch c {
		case '.', '-', ':', '&':
		case '/', '=':
			set[c] = foldsLetters
		default:
			set[c] = foldsLetters | foldsReference | foldsQuiet
		}
	}
	return set
}()

// lookalikes returns where the letters end that begin at i and look like those of ASCII. They are ok if they tell nothing when they are
// read as these: in a text in another script, they stand among others.
func (l *detail) lookalikes(i int) (end int, ok bool) {
	const most, behind = 5, 2
	s, n := l.s, 0
	var word [most + behind]byte
	for end = i; end+1 < len(s) && s[end]&0xe0 == 0xc0 && s[end+1]&0xc0 == 0x80; end += 2 {
		c := similar[int(s[end]&0x1f)<<6|int(s[end+1]&0x3f)]
		if !isLetter(c) {
			break
		}
		if n == most || n > 0 && c < 'a' { // it may be a word by itself
			return end, false
		}
		word[n] = c
		n++
	}
	if n == 0 || !l.mayFold(i) || i > 0 && !besideWords[s[i-1]] ||
		end < len(s) && !besideWords[s[end]] && s[end] != ',' && (s[end] != '.' || end+1 < len(s) && !besideWords[s[end+1]]) {
		return end, false
	}
	for i := end; i < min(len(s), end+behind); i++ {
		word[n] = s[i]
		if s[i] >= utf8.RuneSelf { // no word of a finder has it here
			word[n] = '_'
		}
		n++
	}
	text := string(word[:n])
	if l.begin.sorts[hashOf(text, 0)]&^ofName != 0 || l.names.Begin(text) {
		return end, false
	}
	return end, l.m.literals == nil || !l.m.known().odd && !l.m.hasLiteral(text)
}

// besideWords are bytes that may stand before and behind a word of which finders take nothing.
var besideWords = setThat(func(c byte) bool { return c == ' ' || c == '\n' || c >= utf8.RuneSelf })

// longestBegin is the length of the longest text of several words that begins something.
const longestBegin = 24

// mayFold reports whether a folding at i may mean nothing: data about people is not searched for, and nothing has begun before it.
func (l *detail) mayFold(i int) bool {
	return !l.m.personal && len(l.m.people) == 0 && i-l.candidate >= longestBegin
}

// calm are references that stand for signs between words.
var calm = [...]string{"&nbsp;", "&amp;", "&lt;", "&gt;"}

// isCalm reports whether a reference stands between words, and means nothing more than a sign there.
func (l *detail) isCalm(i int) bool {
	s := l.s
	if i+1 == len(s) || !isLetter(s[i+1]) {
		return false
	}
	for _, text := range calm {
		if !strings.HasPrefix(s[i:], text) {
			continue
		}
		next := i + len(text)
		word := skip(s, next, len(s), isWord)
		return l.mayFold(i) && (l.m.literals == nil || !l.m.known().odd) && !strings.HasSuffix(s[:i], "7z") &&
			!l.names.Begin(s[next:word]) && (i == 0 || isWord(s[i-1]) || besideReferences[s[i-1]]) &&
			(next == len(s) || isLetter(s[next]) || besideReferences[s[next]]) && (word == len(s) || s[word] != ';')
	}
	return false
}

var besideReferences = setOf(" \n<>;&")
