package redact

import (
	"strings"
	"unicode/utf8"

	"github.com/recoursehq/recourse/internal/privacy/visible"
)

// maxHidden limits how many kept texts with invisible characters are looked for.
const maxHidden = 16

// wrote reports whether every invisible character of a text stands in a text that is kept: who wrote it knows that it is there.
func (m *Masker) wrote(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	known := make([]bool, len(s)) // the bytes that stand in a kept text
	looked := 0
	for _, kept := range m.kept {
		if kept == "" || strings.IndexFunc(kept, visible.Hides) < 0 {
			continue
		}
		if looked++; looked > maxHidden {
			break
		}
		for at := 0; ; {
			i := strings.Index(s[at:], kept)
			if i < 0 {
				break
			}
			at += i
			for j := range kept {
				known[at+j] = true
			}
			at += len(kept)
		}
	}
	for i, r := range s {
		if visible.Hides(r) && !known[i] {
			return false
		}
	}
	return true
}
