package check

import "testing"

// A draft has its parameter where a word of the text names it, not where its letters happen to stand.
func TestDraftsCutWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Input validation error: expected a number at a": "Input validation error: expected a number at |",
		"a: Input validation error":                      "|: Input validation error",
		"Input validation error":                         "",
		"validation of data_a failed":                    "",
	} {
		before, after, found := cutWord(text, "a")
		if got := before + "|" + after; found != (want != "") || found && got != want {
			t.Errorf("%s: got %q, %t", text, got, found)
		}
	}
}
