package secret

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mentions reports whether a text has a word, or two words in turn, that mark a name as that of a secret or of what sometimes is one. It
// may be wrong only if it reports true, as it does for some words beyond ASCII.
func Mentions(text string) bool { return Known().Within(text, 0, len(text)) }

// Within is [Mentions] for a part of a text that begins and ends with a word. Words before it count with its first one.
func (w *Words) Within(text string, start, end int) bool {
	for i := start; i < end; {
		if w.skipped[text[i]] {
			i++
			continue
		}
		start := i
		if sorts[text[i]] == capital {
			i++
		}
		for i < len(text) && sorts[text[i]] == small {
			i++
		}
		letters := text[start:i]
		for i < len(text) && sorts[text[i]] == digit {
			i++
		}
		next := byte(sign)
		if i < len(text) {
			next = sorts[text[i]]
		}
		if letters != "" && (next == sign && !w.Begin(letters) || next == beyond && w.heads[threeOf(letters)] == 0) && !w.End(letters) {
			continue // true of most words
		}
		var found bool
		if i, found = w.haveAt(text, start); found {
			return true
		}
	}
	return false
}

// Begin reports whether a word that marks a name may begin as a word of letters does.
func (w *Words) Begin(letters string) bool { return len(letters) > 1 && w.heads[threeOf(letters)] != 0 }

// End reports whether a word of letters may mark a name by its end.
func (w *Words) End(letters string) bool {
	return len(letters) > len("token") && w.tails.has(threeAt(letters, len(letters)-3))
}

// BeginBeyond reports whether a word that marks a name may begin at a character beyond ASCII.
func (w *Words) BeginBeyond(text string) bool { return w.beyond[text[0]] && w.beginBeyond(text) }

// Beyond returns the characters for which BeginBeyond may be true.
func (w *Words) Beyond() []rune {
	list := slices.AppendSeq([]rune("İ\u212a"), maps.Keys(w.foreign))
	for _, digits := range unicode.Digit.R16 {
		for r := digits.Lo; r <= digits.Hi; r++ {
			list = append(list, rune(r))
		}
	}
	for _, digits := range unicode.Digit.R32 {
		for r := digits.Lo; r <= digits.Hi; r++ {
			list = append(list, rune(r))
		}
	}
	return slices.DeleteFunc(list, func(r rune) bool { return r < utf8.RuneSelf })
}

// haveAt reports whether the word at i marks a name, and where it ends.
func (w *Words) haveAt(text string, i int) (end int, found bool) {
	if sorts[text[i]] == beyond {
		return i + 1, w.BeginBeyond(text[i:])
	}
	end, digits := wordEnd(text, i)
	word := text[i:end]
	if digits {
		word = strings.TrimRight(word, "0123456789")
		if strings.ContainsAny(word, "0123456789") {
			word = lettersOf(word)
		}
	}
	return end, w.have(text, word, i) || end < len(text) && sorts[text[end]] == beyond && w.begin(word)
}

// Sorts of bytes.
const (
	sign = iota
	small
	capital
	digit
	beyond // ASCII
)

var sorts = func() (table [256]byte) {
	for c := range table {
		switch {
		case 'a' <= c && c <= 'z':
			table[c] = small
		case 'A' <= c && c <= 'Z':
			table[c] = capital
		case '0' <= c && c <= '9':
			table[c] = digit
		case c >= utf8.RuneSelf:
			table[c] = beyond
		}
	}
	return table
}()

// wordEnd returns the end of the word that begins at i, and whether it has digits: these do not count.
func wordEnd(text string, i int) (end int, digits bool) {
	for i++; i < len(text); i++ {
		switch sorts[text[i]] {
		case small:
		case digit:
			digits = true
		case capital:
			if beginsWord(text, i) {
				return i, digits
			}
		default:
			return i, digits
		}
	}
	return i, digits
}

// beginsWord reports whether the capital at i begins a word, as the K of apiKey and APIKey does.
func beginsWord(text string, i int) bool {
	before := sorts[text[i-1]]
	return before == small || before == capital && i+1 < len(text) && sorts[text[i+1]] == small
}

// lettersOf returns the letters of a word in lower case.
func lettersOf(word string) string {
	found := make([]byte, 0, maxName)
	for i := range min(len(word), maxName) {
		if sorts[word[i]] != digit {
			found = append(found, word[i]|0x20)
		}
	}
	return string(found)
}

// have reports whether a word of a text, which begins at start, marks a name, by itself or after the one before.
func (w *Words) have(text, word string, start int) bool {
	list := w.lists[w.heads[threeOf(word)]]
	for i := range list {
		if k := &list[i]; len(k.word) == len(word) && strings.EqualFold(k.word, word) && (k.single || k.follows(text, start)) {
			return true
		}
	}
	return len(word) > len("token") && w.tails.has(threeAt(word, len(word)-3)) && joined(strings.ToLower(word))
}

// follows reports whether the word at a position follows one with which it marks a name.
func (k *telling) follows(text string, at int) bool {
	if k.firsts == nil {
		return false
	}
	word := wordBefore(text, at)
	letters, end := word, word
	last := len(word) - 1
	for last >= 0 && sorts[word[last]] != digit {
		last--
	}
	if last >= 0 { // a name may begin behind a digit
		letters, end = lettersOf(word), word[last+1:]
	}
	return slices.ContainsFunc(k.firsts, func(first string) bool {
		return strings.EqualFold(first, letters) || strings.EqualFold(first, end)
	})
}

// wordBefore returns the word before a position. The d of d'accès does not count.
func wordBefore(text string, at int) string {
	least := max(0, at-maxName)
	for {
		for at > least && (sorts[text[at-1]] == sign || sorts[text[at-1]] == digit) {
			at--
		}
		end := at
		for at > least && sorts[text[at-1]] != sign && (at == end || sorts[text[at]] != capital || !beginsWord(text, at)) {
			at--
		}
		word := text[at:end]
		if strings.IndexFunc(word, isBeyond) >= 0 { // letters, or signs between words
			words := slices.DeleteFunc(splitRunes(nil, []rune(word)), func(w string) bool { return w == "d" })
			if n := len(words); n > 0 {
				return words[n-1]
			}
		} else if word != "d" && word != "D" {
			return word
		}
	}
}

// begin reports whether such a word begins with word, which goes on beyond ASCII.
func (w *Words) begin(word string) bool {
	for _, k := range w.lists[w.heads[threeOf(word)]] {
		if _, ok := cutFold(k.word, word); ok {
			return true
		}
	}
	return false
}

// beginBeyond reports whether a text begins with letters beyond ASCII as such a word does, or with one that counts as a digit or a
// letter in ASCII.
func (w *Words) beginBeyond(text string) bool {
	first, size := utf8.DecodeRuneInString(text)
	second, _ := utf8.DecodeRuneInString(text[size:])
	switch next := w.foreign[first]; {
	case first == 'İ' || first == '\u212a':
		return true
	case next != "":
		return unicode.IsDigit(second) || strings.ContainsRune(next, unicode.ToLower(second))
	default:
		return strings.IndexByte(digitLeads, text[0]) >= 0 && unicode.IsDigit(first)
	}
}

// digitLeads are the first bytes of digits beyond ASCII, and of other letters.
const digitLeads = "\xd9\xdb\xdf\xe0\xe1\xea\xef\xf0"

// cutFold returns text without what it begins with, in any case.
func cutFold(text, begin string) (rest string, ok bool) {
	if len(text) < len(begin) || !strings.EqualFold(text[:len(begin)], begin) {
		return text, false
	}
	return text[len(begin):], true
}
