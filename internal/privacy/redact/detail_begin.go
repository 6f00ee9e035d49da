package redact

import (
	"slices"
	"strings"
	"sync"
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
)

// begun is what begins something that finders look for.
type begun struct {
	sorts  [1 << 15]uint8 // of words, by the hash of their first three bytes
	single [256]bool      // letters that begin a form by themselves
	inside []string       // what forms contain without a sign, in words of this length
	least  int
	held   [256][]held     // what they contain, by a sign in it
	after  [256]*[256]bool // what follows a sign that a form contains or begins with
	signs  [256]uint8      // where something may be
}

// Whether something may be at a sign.
const (
	_ = iota // never
	always
	inForm // before what may follow it in a form
)

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
	for c := range b.signs {
		switch {
		case mayBeSpelled[c] || strings.IndexByte("-:@./~\\", byte(c)) >= 0:
			b.signs[c] = always
		case b.after[c] != nil:
			b.signs[c] = inForm
		}
	}
	return b
})

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
	case len(text) == 1:
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
