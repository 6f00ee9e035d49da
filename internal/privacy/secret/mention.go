package secret

import (
	"slices"
	"sync"
	"unicode/utf8"
)

// Mentions reports whether a text has a word, or two words in turn, that mark a name as that of a secret or of what sometimes is one. It
// may be wrong only if it reports true. It reads each byte once.
func Mentions(text string) bool {
	known := mentionable()
	var last hashed // the word before
	for i := 0; i < len(text); {
		switch sorts[text[i]] {
		case beyond:
			return mayBe(text) // which always is so
		case small, capital:
			end, word := wordAt(text, i)
			if known.has(last, word, text[i:end]) {
				return true
			}
			i, last = end, word
		default:
			i++
		}
	}
	return false
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

// wordAt returns the end of the word that begins at i, and its hash: letters up to a capital that begins the next one. Digits do not count.
func wordAt(text string, i int) (end int, word hashed) {
	word = word.with(text[i])
	for before := sorts[text[i]]; ; {
		if i++; i == len(text) {
			return i, word
		}
		switch sort := sorts[text[i]]; {
		case sort == small, sort == capital && before != small && !beginsWord(text, i, before):
			word = word.with(text[i])
			before = sort
		case sort == digit:
			before = sort
		default:
			return i, word
		}
	}
}

// beginsWord reports whether a capital after others begins a word, as the K of APIKey does.
func beginsWord(text string, i int, before byte) bool {
	return before == capital && i+1 < len(text) && sorts[text[i+1]] == small
}

// hashed is the hash of a word in any case (FNV-1a); 0: no word.
type hashed uint32

func (h hashed) with(c byte) hashed {
	const offset, prime = 2166136261, 16777619
	if h == 0 {
		h = offset
	}
	return (h ^ hashed(c|0x20)) * prime
}

func hashOf(word string) (h hashed) {
	for i := range len(word) {
		h = h.with(word[i])
	}
	return h
}

// hashes are those of words, and of two words in turn.
type hashes struct{ words, pairs [1 << 16 / 64]uint64 }

func (h hashed) bit() (index int, bit uint64) {
	h ^= h >> 16
	return int(h&0xffff) / 64, 1 << (h % 64)
}

// has reports whether a word is known, by itself or after the last one. text ends in it.
func (k *hashes) has(last, word hashed, text string) bool {
	if i, bit := word.bit(); k.words[i]&bit != 0 {
		return true
	}
	if i, bit := last.after(word).bit(); last != 0 && k.pairs[i]&bit != 0 {
		return true
	}
	return endsLike(text) && slices.ContainsFunc(split(text), joined)
}

func (h hashed) after(word hashed) hashed { return h*31 + word }

// endsLike is a fast test of whether a word may be joined.
func endsLike(text string) bool {
	const least = 6
	if len(text) < least {
		return false
	}
	a, b := text[len(text)-2]|0x20, text[len(text)-1]|0x20
	switch b {
	case 'd':
		return a == 'r' || a == 'w' || a == 'i'
	case 't':
		return a == 'r' || a == 'e'
	case 'y', 'e', 'n':
		return a == 'e' && b != 'e' || a == 's' && b == 'e'
	default:
		return sorts[text[len(text)-1]] == digit
	}
}

var mentionable = sync.OnceValue(func() *hashes {
	known := new(hashes)
	for _, words := range []map[string]bool{always, last, weak, numbers} {
		for word := range words {
			i, bit := hashOf(word).bit()
			known.words[i] |= bit
		}
	}
	add := func(first, second string) {
		i, bit := hashOf(first).after(hashOf(second)).bit()
		known.pairs[i] |= bit
	}
	for pair := range pairs {
		add(pair[0], pair[1])
	}
	add("security", "number")
	add("card", "number")
	return known
})
