package redact //nolint:testpackage // which finders are asked is known inside only

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/privacy/secret"
)

// lookMisses returns the mark of a finder that finds something in s, but not where it only looks at the lines that may hold it.
func lookMisses(m *Masker, s string) (mark string, missed bool) {
	b := newBudget()
	got := map[*finder][]span{}
	looked := textOf(s)
	m.each(looked, func(f *finder) bool {
		got[f] = f.find(m, looked, b)
		return true
	})
	whole := &text{s: s}
	whole.add(passage{span{0, len(s)}, ^holds(0)})
	for _, finders := range [][]finder{outlined, detailed} {
		for i := range finders {
			f := &finders[i]
			if f.on != nil && !f.on(m) || f.holds&(aMark|aHead|aWriting) != 0 && !secret.Mentions(s) { // these go by names
				continue
			}
			want := slices.DeleteFunc(f.find(m, whole, b), func(p span) bool { return p.end <= p.start })
			if len(want) > 0 && len(got[f]) == 0 {
				return f.mark, true
			}
		}
	}
	return "", false
}

// FuzzLook checks that no finder is kept from a line in which it would find something.
func FuzzLook(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 4 {
		f.Fatal(files, err)
	}
	unescape := strings.NewReplacer(`\n`, "\n", `\t`, "\t", "«", "", "»", "", "‹›", "")
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			f.Add(unescape.Replace(strings.TrimSpace(line)))
		}
	}
	all := New(All)
	masters := []*Masker{all, all.With(Personal, Addresses).About([]byte(`{"customer":{"name":"Ada Lovelace"}}`)), all.within()}
	f.Fuzz(func(t *testing.T, s string) {
		const most = 8 << 10
		if s = strings.ToValidUTF8(s, ""); len(s) > most || strings.Count(s, "\n") >= near {
			return
		}
		for _, m := range masters {
			if mark, missed := lookMisses(m, s); missed {
				t.Errorf("%q: what is marked %s is not looked for", s, mark)
			}
		}
	})
}

// Each text that a writing holds without the name of a secret is looked for.
func TestWordsOfWritings(t *testing.T) {
	t.Parallel()
	for _, of := range otherWritings {
		for _, text := range of.holds {
			letters := strings.ToLower(strings.Trim(text, `"'- `))
			isWord := slices.ContainsFunc(otherWords.list, func(word string) bool {
				return strings.Contains(word+" by ", letters) || strings.HasPrefix(letters, word)
			})
			if isOption := strings.HasPrefix(text, `"-`) || strings.HasPrefix(text, `'-`); !isWord && !isOption {
				t.Errorf("%q begins with none of the words %q", text, otherWords.list)
			}
		}
	}
}
