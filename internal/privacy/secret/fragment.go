package secret

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// letters is the size of the alphabet: places 0 to 25 for the letters, and 31 for every other character.
const letters = 32

// places are those of bytes.
var places = func() (table [256]three) {
	for c := range table {
		table[c] = letters - 1
		if small := byte(c) | 0x20; 'a' <= small && small <= 'z' {
			table[c] = three(small - 'a')
		}
	}
	return table
}()

// three are the places of three bytes in turn.
type three uint16

const none three = letters*letters*letters - 1

func (t three) with(c byte) three { return t%(letters*letters)*letters + places[c] }

// threeOf returns the first three letters of a word.
func threeOf(word string) three {
	switch len(word) {
	case 1:
		return none.with(word[0]).with(' ').with(' ')
	case 2: //nolint:mnd // letters
		return none.with(word[0]).with(word[1]).with(' ')
	default:
		return threeAt(word, 0)
	}
}

func threeAt(word string, i int) three {
	return (places[word[i]]*letters+places[word[i+1]])*letters + places[word[i+2]]
}

// threes are a set.
type threes [letters * letters * letters / 64]uint64

func (set *threes) has(t three) bool { return set[t/64]&(1<<(t%64)) != 0 }

func (set *threes) add(t three) { set[t/64] |= 1 << (t % 64) }

// fragments are the first three letters of all words that mark a name as a secret's. A name without any of them cannot
// be a secret's.
var fragments = sync.OnceValue(func() *threes {
	set := new(threes)
	words := slices.Concat(suffixes, []string{"token"}, slices.Collect(maps.Keys(always)), slices.Collect(maps.Keys(last)),
		slices.Collect(maps.Keys(weak)), slices.Collect(maps.Keys(numbers)), []string{"card", "security"})
	for pair := range maps.Keys(pairs) {
		words = append(words, longer(pair))
	}
	for _, word := range words {
		switch {
		case strings.IndexFunc(word, isBeyond) >= 0: // such names always pass
		case len(word) > 2: //nolint:mnd // a word of two letters has no third
			set.add(threeOf(word))
		default:
			for c := range three(letters) {
				set.add(threeOf(word)/letters*letters + c)
			}
		}
	}
	return set
})

func isBeyond(r rune) bool { return r >= utf8.RuneSelf }

func longer(pair [2]string) string {
	if len(pair[0]) > len(pair[1]) {
		return pair[0]
	}
	return pair[1]
}

// mayBe is a fast test that lets too many names pass, and all with letters beyond ASCII.
func mayBe(name string) bool {
	set := fragments()
	last := none
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return true
		}
		if last = last.with(name[i]); set.has(last) {
			return true
		}
	}
	return set.has(last.with(' '))
}

// Any is a fast test of whether a name, or a text that contains names, has one that [Name], [Weak] or [Number] reports.
// It may be wrong only if it reports true.
func Any(text string) bool { return mayBe(text) }

// A telling word marks a name by itself, or after another.
type telling struct {
	word   string
	single bool
	firsts []string
}

// Words are the words that mark a name by themselves or together with another.
type Words struct {
	heads [letters * letters * letters]uint8 // for the first letters of words, which of the lists has those; 0: there are none
	lists [][]telling
	tails threes // the last letters of words that end others

	foreign map[rune]string // the second letters of words that begin beyond ASCII, by the first ones in either case
	beyond  [256]bool       // the first bytes of letters beyond ASCII that count
	skipped [256]bool       // bytes that begin no word
}

// Known returns these words.
func Known() *Words { return known() }

var known = sync.OnceValue(func() *Words {
	w := &Words{lists: make([][]telling, 1), foreign: map[rune]string{}}
	single, firsts := map[string]bool{}, map[string][]string{"number": {"card", "security"}}
	for _, some := range []map[string]bool{always, last, weak, numbers} {
		maps.Copy(single, some)
	}
	for pair := range pairs {
		firsts[pair[1]] = append(firsts[pair[1]], pair[0])
	}
	all := maps.Clone(single)
	for word := range firsts {
		all[word] = true
	}
	for pair := range pairs { // what begins in ASCII and goes on beyond counts by itself
		all[pair[0]] = all[pair[0]] || strings.IndexFunc(pair[0], isBeyond) > 0
	}
	maps.DeleteFunc(all, func(_ string, counts bool) bool { return !counts })
	for word := range all {
		if r := []rune(word); isBeyond(r[0]) {
			for _, first := range []rune{r[0], unicode.ToUpper(r[0])} {
				w.foreign[first] += string(r[1])
				w.beyond[string(first)[0]] = true
			}
			continue
		}
		head := threeOf(word)
		if w.heads[head] == 0 {
			w.heads[head] = uint8(len(w.lists))
			w.lists = append(w.lists, nil)
		}
		list := &w.lists[w.heads[head]]
		*list = append(*list, telling{word, single[word], firsts[word]})
	}
	for _, end := range append(suffixes, "token") {
		w.tails.add(threeAt(end, len(end)-3))
	}
	for _, c := range []byte("\u212aİ" + digitLeads) {
		w.beyond[c] = true
	}
	for c := range w.skipped {
		sort := sorts[c]
		w.skipped[c] = sort == sign || sort == digit || sort == beyond && !w.beyond[c]
	}
	return w
})
