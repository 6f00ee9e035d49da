package wire

import (
	"bytes"
	"hash/maphash"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// nameSet finds names that are repeated in one object of a text. It is a single hash table of offsets
// into the text, eight bytes per slot, so that a text of nothing but names costs a small multiple of
// its size; the hash is seeded, so that nobody can choose names that collide.
type nameSet struct {
	text    []byte
	seed    maphash.Seed
	seeded  bool
	slots   []nameSlot // their number is a power of two; the zero slot is free
	used    int
	scratch [2][]byte // for names with escapes
}

// nameSlot is a name of an object: the object's offset, and the offset of the name's opening quote,
// which is never 0; escapedName is added if the name contains escapes.
type nameSlot struct {
	object, name uint32
}

const (
	escapedName = 1 << 31
	firstSlots  = 64
	keptSlots   = 1024 // a table that a huge text made larger is not reused
)

// maxText is the smallest size of a text whose offsets no longer fit.
const maxText = escapedName - 1

// reset empties the set and makes it refer to text.
func (s *nameSet) reset(text []byte) {
	unused := s.used == 0
	s.text, s.used = text, 0
	if !s.seeded {
		s.seed, s.seeded = maphash.MakeSeed(), true
	}
	if len(s.slots) > keptSlots {
		s.slots, s.scratch = nil, [2][]byte{}
		return
	}
	if unused {
		return
	}
	clear(s.slots)
	s.scratch = [2][]byte{s.scratch[0][:0], s.scratch[1][:0]}
}

// add adds the quoted name at [start, end) to the set of the object that begins at offset object, and
// reports whether it is new.
func (s *nameSet) add(object, start, end int, escaped bool) bool {
	if 4*s.used >= 3*len(s.slots) {
		s.grow()
	}
	slot := nameSlot{object: uint32(object), name: uint32(start)}
	name := s.text[start+1 : end-1]
	if escaped {
		slot.name |= escapedName
		name = s.unquoted(0, start)
	}
	mask := len(s.slots) - 1
	for i := s.hash(slot.object, name) & mask; ; i = (i + 1) & mask {
		switch at := s.slots[i]; {
		case at == nameSlot{}:
			s.slots[i] = slot
			s.used++
			return true
		case at.object == slot.object && s.equal(at, name, escaped):
			return false
		}
	}
}

// equal reports whether the name in the slot equals name. Unless one of the two contains escapes, equal
// names have equal bytes.
func (s *nameSet) equal(at nameSlot, name []byte, escaped bool) bool {
	start := int(at.name &^ escapedName)
	if escaped || at.name&escapedName != 0 {
		return bytes.Equal(s.unquoted(1, start), name)
	}
	rest := s.text[start+1:]
	return len(rest) > len(name) && rest[len(name)] == '"' && bytes.Equal(rest[:len(name)], name)
}

// hash mixes the object into the hash of the name, so that the same name in many objects does not make
// a chain.
func (s *nameSet) hash(object uint32, name []byte) int {
	const odd = 0x9e3779b97f4a7c15
	h := (maphash.Bytes(s.seed, name) ^ uint64(object)) * odd
	return int(h >> 33)
}

func (s *nameSet) grow() {
	old := s.slots
	s.slots = make([]nameSlot, max(firstSlots, 2*len(old)))
	mask := len(s.slots) - 1
	for _, slot := range old {
		if slot == (nameSlot{}) {
			continue
		}
		i := s.hash(slot.object, s.name(slot)) & mask
		for s.slots[i] != (nameSlot{}) {
			i = (i + 1) & mask
		}
		s.slots[i] = slot
	}
}

// name returns the text of the name in the slot.
func (s *nameSet) name(slot nameSlot) []byte {
	start := int(slot.name &^ escapedName)
	if slot.name&escapedName != 0 {
		return s.unquoted(1, start)
	}
	return s.text[start+1 : start+quotedLen(s.text[start:])-1]
}

// unquoted returns the text of the name whose opening quote is at start. It is
// valid until the same scratch buffer is used again.
func (s *nameSet) unquoted(scratch, start int) []byte {
	raw := s.text[start : start+quotedLen(s.text[start:])]
	b, _ := json.AppendUnquote(s.scratch[scratch][:0], raw) // the lexer has checked it
	s.scratch[scratch] = b
	return b
}

// quotedLen returns the length, including quotes, of the string at the beginning of p. The string is
// known to be valid.
func quotedLen(p []byte) int {
	for i := 1; i < len(p); i++ {
		switch p[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(p)
}
