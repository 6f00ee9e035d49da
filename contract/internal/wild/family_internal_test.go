package wild

import (
	"cmp"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
)

// No two of the built-in families read a text as different kinds, since only one of them could be right.
func TestFamiliesAgree(t *testing.T) {
	t.Parallel()
	type claim struct {
		family *Family
		kind   recourse.Kind
	}
	claims := map[string]claim{}
	for _, f := range Builtin() {
		for _, form := range f.forms {
			for _, p := range form.phrases {
				text := phraseText(p)
				other, taken := claims[text]
				if taken && other.family != f && other.kind != form.kind && other.kind != "" && form.kind != "" {
					t.Errorf("%s: %s in %s, %s in %s", text, other.kind, other.family.Name(), form.kind, f.Name())
				}
				claims[text] = claim{f, form.kind}
			}
		}
	}
}

// phraseText returns a phrase with {} for its places.
func phraseText(p *phrase) string {
	var text strings.Builder
	for _, part := range p.parts {
		text.WriteString(cmp.Or(part.literal, "{}"))
	}
	return text.String()
}
