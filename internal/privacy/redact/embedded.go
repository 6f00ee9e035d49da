package redact

import (
	"strings"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// embedded returns a text with the JSON objects and arrays in it masked whose names may be those of secrets. Their structure says more
// than their spelling does: a list or an object may have such a name, too.
func (m *Masker) embedded(s string, layer int, b *budget) *text {
	const failures = 8 // of texts that only begin like JSON, which take time
	t := textOf(s)
	if layer >= maxLayers || !hasNames(s) {
		return t
	}
	if t.nameless = !secret.Mentions(s); t.nameless {
		return t
	}
	inside := *m
	inside.spoken = false
	var out strings.Builder
	raw, r, quiet, done, began := []byte(s), inside.reader(b), quietParts{m: m}, 0, b.begin()
	for at, failed := 0, 0; at < len(s) && failed < failures; {
		start := at + indexOfSet(s[at:], &opensObject)
		if start == len(s) {
			break
		}
		if b.isOver(began) {
			return textOf(notShown)
		}
		at = start + 1
		if !opensJSON(s[at:]) {
			continue
		}
		known := len(quiet.found)
		if size := quiet.read(s, raw, start, out.Len()-done); size > 0 {
			at = start + size
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
			done, quiet.found = at, quiet.found[:known]
		}
	}
	if done > 0 {
		t = textOf(out.String() + s[done:])
	}
	t.quiet = quiet.found
	return t
}

// hasNames reports whether there may be a member of JSON, after whose name a colon stands.
func hasNames(s string) bool {
	for at := range places(s, `"`) {
		if strings.HasPrefix(s[at+1:], ":") || strings.HasPrefix(s[at+1:], " :") {
			return true
		}
	}
	return false
}

var opensObject = setOf("{[")

// opensJSON reports whether what follows a bracket may be the inside of an object or array.
func opensJSON(rest string) bool {
	const blanks = 64
	at := skip(rest, 0, blanks, isSpace)
	return at < len(rest) && strings.IndexByte(`"{[`, rest[at]) >= 0
}
