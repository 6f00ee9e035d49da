package secret

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// letters is the size of the alphabet: places 0 to 25 for the letters, and 31 for every other character.
const letters = 32

// fragments are the first three letters of all words that mark a name as a secret's. A name without any of them cannot
// be a secret's.
var fragments = sync.OnceValue(func() *[letters * letters * letters]bool {
	var set [letters * letters * letters]bool
	words := slices.Concat(suffixes, []string{"token"}, slices.Collect(maps.Keys(always)), slices.Collect(maps.Keys(last)),
		slices.Collect(maps.Keys(weak)), slices.Collect(maps.Keys(numbers)), []string{"card", "security"})
	for pair := range maps.Keys(pairs) {
		words = append(words, longer(pair))
	}
	for _, word := range words {
		if strings.IndexFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 { // such names always pass
			continue
		}
		a, b := letter(word[0]), letter(word[1])
		if len(word) > 2 { //nolint:mnd // a word of two letters has no third
			set[(a*letters+b)*letters+letter(word[2])] = true
			continue
		}
		for c := range letters {
			set[(a*letters+b)*letters+c] = true
		}
	}
	return &set
})

func longer(pair [2]string) string {
	if len(pair[0]) > len(pair[1]) {
		return pair[0]
	}
	return pair[1]
}

func letter(c byte) int {
	if c |= 0x20; 'a' <= c && c <= 'z' {
		return int(c - 'a')
	}
	return letters - 1
}

// mayBe is a fast test that lets too many names pass, and all with letters beyond ASCII.
func mayBe(name string) bool {
	set := fragments()
	a, b := letters-1, letters-1
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return true
		}
		c := letter(name[i])
		if set[(a*letters+b)*letters+c] {
			return true
		}
		a, b = b, c
	}
	return set[(a*letters+b)*letters+letters-1]
}

// Any is a fast test of whether a name, or a text that contains names, has one that [Name], [Weak] or [Number] reports.
// It may be wrong only if it reports true.
func Any(text string) bool { return mayBe(text) }
