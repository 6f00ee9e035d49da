package wild

import "github.com/recoursehq/recourse/internal/protocol/json"

// gramSize is the length of the grams by which texts are searched, in bytes.
const gramSize = 4

// An index finds, in one pass, which of many forms may match a text. A text with none of their words takes
// about a nanosecond a byte, however many forms there are.
type index struct {
	present [1 << 16 / 64]uint64 // which hashes of grams occur
	words   map[uint32][]indexed // by gram
}

// An indexed is a word that a text must contain to match a form.
type indexed struct {
	form *familyForm
	word string // in lower case
	at   int    // where the gram is in it
	by   int    // which of the form's phrases it is from
}

// newIndex indexes forms. Each word is indexed by its rarest gram.
func newIndex(families []*Family) *index {
	x := &index{words: map[uint32][]indexed{}}
	const manyGrams = 1 << 14
	common := make(map[uint32]int, manyGrams)
	each := func(do func(f *familyForm, word string, by int)) {
		for _, family := range families {
			for _, f := range family.forms {
				if f.object != nil {
					do(f, f.object.word(), 0)
				}
				for i, p := range f.phrases {
					do(f, p.parts[p.key].literal, i)
				}
			}
		}
	}
	each(func(_ *familyForm, word string, _ int) {
		for i := range len(word) - gramSize + 1 {
			common[gramOf(word[i:])]++
		}
	})
	each(func(f *familyForm, word string, by int) {
		best := 0
		for i := range len(word) - gramSize + 1 {
			if common[gramOf(word[i:])] < common[gramOf(word[best:])] {
				best = i
			}
		}
		gram := gramOf(word[best:])
		x.words[gram] = append(x.words[gram], indexed{f, word, best, by})
		x.present[hashOf(gram)>>6] |= 1 << (hashOf(gram) & 63)
	})
	return x
}

// gramOf returns the gram at the start of text, in lower case.
func gramOf[T string | json.Value](text T) uint32 {
	return uint32(lower(text[0])) | uint32(lower(text[1]))<<8 | uint32(lower(text[2]))<<16 | uint32(lower(text[3]))<<24
}

func hashOf(gram uint32) uint32 { return gram * 2654435769 >> 16 }

// eachIndexed calls do for every occurrence in text of a word in x.
func eachIndexed[T string | json.Value](x *index, text T, do func(in indexed, at int)) {
	if len(text) < gramSize {
		return
	}
	var gram uint32
	for i := range gramSize - 1 {
		gram = gram>>8 | uint32(lower(text[i]))<<24
	}
	for i := gramSize - 1; i < len(text); i++ {
		gram = gram>>8 | uint32(lower(text[i]))<<24
		hash := hashOf(gram)
		if x.present[hash>>6]&(1<<(hash&63)) == 0 {
			continue
		}
		for _, in := range x.words[gram] {
			at := i - (gramSize - 1) - in.at
			if at >= 0 && hasFold(text[at:], in.word) {
				do(in, at)
			}
		}
	}
}

// lower folds a letter of ASCII.
func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b | 0x20
	}
	return b
}

// folded returns text with its ASCII letters in lower case, and the same length.
func folded(text string) string {
	b := []byte(text)
	for i := range b {
		b[i] = lower(b[i])
	}
	return string(b)
}

// hasFold reports whether text begins with word, which is in lower case.
func hasFold[T string | json.Value](text T, word string) bool {
	if len(text) < len(word) {
		return false
	}
	for i := range len(word) {
		if lower(text[i]) != word[i] {
			return false
		}
	}
	return true
}

// indexFold is strings.Index for a word in lower case.
func indexFold(text, word string) int {
	for i := range len(text) - len(word) + 1 {
		if lower(text[i]) == word[0] && hasFold(text[i:], word) {
			return i
		}
	}
	return -1
}

// lastIndexFold is strings.LastIndex for a word in lower case.
func lastIndexFold(text, word string) int {
	for i := len(text) - len(word); i >= 0; i-- {
		if hasFold(text[i:], word) {
			return i
		}
	}
	return -1
}
