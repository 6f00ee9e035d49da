package redact

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// Sorts of words, by what they may begin.
const (
	ofForm = 1 << iota
	ofAnnouncement
	ofCommand
	ofPairs
	ofLibpq
	ofResolved
	ofOther
	ofName // of a secret
)

// What a character beyond ASCII may be.
const (
	aMention   = 1 << iota // of the name of a secret, which begins there
	aLookalike             // of one in ASCII
)

// A kind of bytes, or several.
type kind uint8

const (
	inWord  kind = 1 << iota // it is part of a word
	aLetter                  // in any case
	aMixer                   // a word with it has parts, or is in other letters: a capital, digit or underscore
	endsRun                  // it is not part of base64
	always                   // something may be at this sign
	inForm                   // before what may follow it in a form
	aValue                   // a value may follow
	isWide                   // it is beyond ASCII

	tellsAny = always | inForm | aValue | isWide
)

// begun is what begins something that finders look for.
type begun struct {
	sorts  [1 << 15]uint8 // of words, by the hash of their first three bytes
	single [256]bool      // letters and digits that begin a form by themselves
	inside []string       // what forms contain without a sign, in words of this length
	least  int
	held   [256][]held     // what they contain, by a sign in it
	after  [256]*[256]bool // what follows a sign that a form contains or begins with
	kinds  [256]kind
	wide   [1 << 12]uint8 // what a character beyond ASCII may be, by its first two bytes
}

// held is a text that a form contains, with a sign at a position.
type held struct {
	text string
	at   int
}

var begins = sync.OnceValue(func() *begun {
	b := &begun{least: maxForm}
	for sort, set := range map[uint8]*wordSet{
		ofAnnouncement: announcing, ofCommand: programWords, ofPairs: pairWords, ofLibpq: libpqWords, ofResolved: resolvedWords,
		ofOther: newWords(slices.Concat(otherWords.list, insertWords.list)...),
	} {
		for _, word := range set.list {
			b.add(word, sort)
		}
	}
	index := knownForms()
	for _, list := range index.begins {
		for _, form := range list {
			b.add(form.text, ofForm)
		}
	}
	for _, form := range index.whole {
		for _, text := range form.holds {
			if at := strings.IndexAny(text, "./~:"); at >= 0 {
				b.held[text[at]] = append(b.held[text[at]], held{text, at})
				b.follow(text[at:])
			} else if text != "#" {
				b.inside = append(b.inside, text)
				b.least = min(b.least, form.least())
			}
		}
	}
	b.addNames(secret.Known())
	for _, r := range secret.Known().Beyond() {
		b.wide[pairOf(string(r))] |= aMention
	}
	for _, r := range slices.Concat(slices.Collect(maps.Keys(lookalikes)), between(wide, widest), between(math, last)) {
		b.wide[pairOf(string(r))] |= aLookalike
	}
	for c := range b.kinds {
		b.kinds[c] = b.kindOf(byte(c))
	}
	return b
})

// pairOf returns the first two bytes of a character beyond ASCII.
func pairOf(s string) int { return int(s[0]&0x3f)<<6 | int(s[1]&0x3f) }

func between(first, last rune) (list []rune) {
	for r := first; r <= last; r++ {
		list = append(list, r)
	}
	return list
}

func (b *begun) kindOf(c byte) (k kind) {
	switch {
	case isLetter(c):
		k = inWord | aLetter
		if c < 'a' {
			k |= aMixer
		}
		return k
	case ofWords[c]:
		return inWord | aMixer
	}
	if c != '+' && c != '/' && c != '-' {
		k |= endsRun
	}
	if c == ':' || c == '=' {
		k |= aValue
	}
	switch {
	case c >= utf8.RuneSelf:
		if utf8.RuneStart(c) {
			k |= isWide
		}
	case mayBeSpelled[c] || strings.IndexByte("-:@./~\\", c) >= 0:
		k |= always
	}
	if b.after[c] != nil {
		k |= inForm
	}
	return k
}

// addNames adds what the names of secrets begin with.
func (b *begun) addNames(names *secret.Words) {
	for x := byte('a'); x <= 'z'; x++ {
		for y := byte('a'); y <= 'z'; y++ {
			short := names.Begin(string([]byte{x, y}))
			for z := range byte(1 << 5) {
				if short || names.Begin(string([]byte{x, y, z | 0x60})) {
					b.sorts[int(x&0x1f)<<10|int(y&0x1f)<<5|int(z)] |= ofName
				}
			}
		}
	}
}

// follow notes what follows a sign.
func (b *begun) follow(text string) {
	next := b.after[text[0]]
	if next == nil {
		next = new([256]bool)
		b.after[text[0]] = next
	}
	for c := range next {
		next[c] = next[c] || len(text) == 1 || text[1] == byte(c)
	}
}

// add adds what something of a sort begins with.
func (b *begun) add(text string, sort uint8) {
	switch {
	case !ofWords[text[0]]:
		b.follow(text)
	case len(text) == 1 || isDigit(text[0]) && !ofWords[text[1]]:
		b.single[text[0]] = true
	default:
		for c := range byte(1 << 5) {
			if len(text) == 2 || c == text[2]&0x1f { //nolint:mnd // two letters are followed by any
				hash := headOf2(text)<<5 | int(c)
				b.sorts[hash] |= sort
			}
		}
	}
}
