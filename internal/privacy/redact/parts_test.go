package redact_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// In a long text, only the lines that may hold something are examined, with those around them. What is found is what is found in a short
// one.
func TestLongTextsAreMaskedLikeShortOnes(t *testing.T) {
	t.Parallel()
	before := strings.Repeat("The field lies in the north and its owner says that the wheat is fine this year\n", 300) + "\n"
	after := before[len(before)-1:] + before
	m := redact.New(redact.All)
	var texts []string
	for _, name := range []string{"mask.txt", "keep.txt"} {
		for _, line := range corpus(t, name) {
			texts = append(texts, unescape.Replace(line))
		}
	}
	for _, r := range recordings(t) {
		texts = append(texts, r.text)
	}
	for _, line := range slices.Concat(parts(t, "secrets.txt")...) {
		texts = append(texts, strings.NewReplacer("«", "", "»", "", "‹›", "").Replace(line))
	}
	for _, text := range texts {
		if json.Valid([]byte(text)) || strings.Contains(text, "-----") || strings.Contains(text, "PuTTY") {
			continue // these are read as a whole, or to the end
		}
		want := m.String("a: b\n\n"+text+"\n\n") + before
		if got := m.String("a: b\n\n" + text + "\n" + after); got != want {
			t.Errorf("%q:\n%s", text, cmp.Diff(want, got))
		}
		if got := m.String(before + text + "\n" + after); got != before+want[len("a: b\n\n"):] {
			t.Errorf("between: %q:\n%s", text, cmp.Diff(before+want, got))
		}
	}
}

// A table is masked to its end, however long it is.
func TestLongTables(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]string{"commas": "ada,hunter", "tabs": "ada\thunter", "bars": "| ada | hunter |"} {
		head := strings.NewReplacer("ada", "user", "hunter", "password").Replace(row)
		text := strings.Repeat("All is well in the north\n", 2000) + "\n" + head + "\n"
		if name == "bars" {
			text += "| --- | --- |\n"
		}
		got := redact.New(redact.All).String(text + strings.Repeat(row+"\n", 3000))
		if strings.Contains(got, "hunter") {
			t.Errorf("%s: leaks in %.100s", name, got[strings.Index(got, "hunter")-50:])
		}
	}
}
