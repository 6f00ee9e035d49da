package term_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/privacy/visible"
)

// Whatever is printed, a terminal does not obey it, and nothing in it is hidden: not in an error either, which may name a file or
// quote a server.
func TestPrintfHidesNothing(t *testing.T) {
	t.Parallel()
	const hidden = "\x1b[2K\x07\b\r\x7f\u0085\u009b\u200b\u200e\u202e\u2066\u2028\u061c\u180e\u00ad\u2060\ufeff\U000e0041"
	var out strings.Builder
	term.Printf(&out, "a%sb\tc\r\nd\n", hidden)
	term.Painter{}.To(&out).Printf(term.Red, "a%sb\n", hidden)
	term.Report(term.Painter{}.To(&out), errors.New("open a"+hidden+"b"))
	if strings.ContainsFunc(out.String(), visible.Hides) || strings.Contains(out.String(), "\r") {
		t.Errorf("got %q", out.String())
	}
	if want := `a\u001b[2K\u0007\u0008\u000d\u007f\u0085\u009b\u200b\u200e\u202e\u2066\u2028\u061c\u180e\u00ad\u2060\ufeff\udb40\udc41b` + "\tc\nd\n"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}
