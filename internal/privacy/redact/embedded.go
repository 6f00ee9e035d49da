package redact

import (
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// embedded masks the JSON objects and arrays within a text whose names may be those of secrets. Their structure says more than
// their spelling does: a list or an object may have such a name, too. It also returns whether it is known that there is no such name.
func (m *Masker) embedded(s string, layer int, b *budget) (masked string, nameless bool) {
	const failures = 8 // of texts that only begin like JSON, which take time
	if layer >= maxLayers || !hasNames(s) {
		return s, false
	}
	if !secret.Mentions(s) {
		return s, true
	}
	inside := *m
	inside.spoken = false
	var out strings.Builder
	raw, r, done, began := []byte(s), inside.reader(b), 0, b.begin()
	for at, failed := 0, 0; at < len(s) && failed < failures; {
		start := at + indexOfSet(s[at:], &opensObject)
		if start == len(s) {
			break
		}
		if b.isOver(began) {
			return notShown, false
		}
		at = start + 1
		if !opensJSON(s[at:]) {
			continue
		}
		size := r.sizeOf(raw[start:])
		if size == 0 {
			failed++
			continue
		}
		at = start + size
		if !secret.Mentions(s[start:at]) {
			continue
		}
		if masked, err := r.rewrite(s[start:at], layer+1); err == nil && masked != s[start:at] {
			out.WriteString(s[done:start])
			out.WriteString(masked)
			done = at
		}
	}
	if done == 0 {
		return s, false
	}
	return out.String() + s[done:], false
}

// hasNames reports whether there may be a member of JSON, after whose name a colon stands.
func hasNames(s string) bool {
	for at := 0; ; at++ {
		i := strings.IndexByte(s[at:], '"')
		if i < 0 {
			return false
		}
		if at += i; strings.HasPrefix(s[at+1:], ":") || strings.HasPrefix(s[at+1:], " :") {
			return true
		}
	}
}

var opensObject = setOf("{[")

// opensJSON reports whether what follows a bracket may be the inside of an object or array.
func opensJSON(rest string) bool {
	const blanks = 64
	at := skip(rest, 0, blanks, isSpace)
	return at < len(rest) && strings.IndexByte(`"{[`, rest[at]) >= 0
}
