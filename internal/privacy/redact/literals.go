package redact

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"
)

// literals are the known secrets, by their first bytes: however many there are, a text is searched once.
type literals struct {
	list []literal
	odd  bool // one of them has other characters than most do

	// filter has a bit for each hash of the first four bytes of a secret. Of those with about the same hash, first has the number of the
	// first one, and after that of the one after each; they are counted from 1.
	filter       []uint64
	shift        int
	first, after []int32
}

// perSecret is how many bits the filter has for each.
const perSecret = 16

var noLiterals = &literals{}

func indexed(list []literal) *literals {
	const least = 10 // bits of the filter
	size := max(least, bits.Len(uint(perSecret*len(list))))
	l := &literals{list: list, filter: make([]uint64, 1<<size/64), shift: 32 - size}
	l.first, l.after = make([]int32, 1<<size/perSecret), make([]int32, len(list))
	for i, literal := range slices.Backward(list) {
		l.odd = l.odd || indexOfSet(literal.text, &oddBytes) < len(literal.text)
		hash := l.hash(headOf4(literal.text))
		l.filter[hash/64] |= 1 << (hash % 64)
		l.after[i], l.first[hash/perSecret] = l.first[hash/perSecret], int32(i+1)
	}
	return l
}

// oddBytes are blanks, what texts may spell, and what is not ASCII.
var oddBytes = setThat(func(c byte) bool { return c <= ' ' || c >= utf8.RuneSelf || c == '&' || c == '<' || c == '>' })

// headOf4 returns the first four bytes of a text, which has them.
func headOf4(s string) uint32 { return binary.LittleEndian.Uint32([]byte(s[:minLiteral])) }

func (l *literals) hash(head uint32) uint32 {
	const golden = 2654435769 // Knuth's multiplicative hash
	return head * golden >> l.shift
}

// next returns the first position from at on at which a secret may begin, and the number of the first one that may; 0: there is none.
func (l *literals) next(s string, at int) (int, int32) {
	if len(l.list) == 0 || len(s)-at < minLiteral {
		return len(s), 0
	}
	head := headOf4(s[at:])
	for {
		if hash := l.hash(head); l.filter[hash/64]&(1<<(hash%64)) != 0 {
			return at, l.first[hash/perSecret]
		}
		if at++; at+minLiteral > len(s) {
			return len(s), 0
		}
		head = head>>8 | uint32(s[at+minLiteral-1])<<24
	}
}

// known returns the secrets that are searched for literally.
func (m *Masker) known() *literals {
	if m.literals == nil {
		return noLiterals
	}
	return m.literals()
}

// least returns how many bytes of the literal count as all of it.
func (l literal) least() int {
	if l.cut {
		return max(minCut, (len(l.text)+1)/2)
	}
	return len(l.text)
}

// hasLiteral reports whether s contains a known secret, or that is too much to find out.
func (m *Masker) hasLiteral(s string) (has bool) {
	m.known().in(s, func(span) bool {
		has = true
		return false
	})
	return has
}

// spelledOut finds the known secrets.
func (m *Masker) spelledOut(s string) (found []span) {
	m.known().in(s, func(p span) bool {
		found = append(found, p)
		return true
	})
	return found
}

// maxCompared is how many bytes of secrets a text is compared with, for each of its own: secrets that begin alike, and a text of such
// beginnings, would take forever. Beyond it, the rest of the text counts as a secret.
const maxCompared = 32

// in calls visit with each secret in a text, until it returns false.
func (l *literals) in(s string, visit func(span) bool) {
	var ends map[int32]int // where each secret that was found ends
	left := maxCompared*len(s) + 1<<20
	for at := 0; ; at++ {
		var i int32
		if at, i = l.next(s, at); i == 0 {
			return
		}
		end := at
		for ; i > 0; i = l.after[i-1] {
			if at < ends[i] {
				continue
			}
			known := l.list[i-1]
			same := common(s[at:], known.text)
			if left -= same; left < 0 {
				visit(span{at, len(s)})
				return
			}
			if same < known.least() {
				continue
			}
			if ends == nil {
				ends = map[int32]int{}
			}
			ends[i] = at + same
			end = max(end, at+same)
		}
		if end > at && !visit(span{at, end}) {
			return
		}
	}
}

// common returns how many bytes two texts have in common at their beginnings.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
