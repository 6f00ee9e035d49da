package term_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/cli/term"
)

// A text is broken between words, never in one, and its lines fit.
func TestWrap(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text          string
		width, indent int
		want          string
	}{
		{"one two three", 9, 2, "one two\n  three"},
		{"one two\nthree", 0, 2, "one two three"},
		{"averylongword and more", 6, 1, "averylongword\n and\n more"},
		{"", 10, 2, ""},
		{"größe ist da", 9, 0, "größe ist\nda"},
	} {
		if got := term.Wrap(test.text, test.width, test.indent); got != test.want {
			t.Errorf("%q in %d: got %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

// What is no terminal has no status line.
func TestNoStatusLine(t *testing.T) {
	t.Parallel()
	if term.NewStatusLine(&strings.Builder{}) != nil {
		t.Error("there is one")
	}
}
