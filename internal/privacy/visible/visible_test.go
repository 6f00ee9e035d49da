package visible_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/privacy/visible"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"plain\ttext\r\nof two lines":         {"plain\ttext\r\nof two lines", "plain\ttext\r\nof two lines"},
		"grün, 日本, é":                         {"grün, 日本, é", "grün, 日本, é"},
		"\x1b[31mred\x1b[0m":                  {"red", `\x1b[31mred\x1b[0m`},
		"\x1b]0;title\x07x":                   {"x", `\x1b]0;title\x07x`},
		"\x1b]8;;http://x\x1b\\link":          {"link", `\x1b]8;;http://x\x1b\link`},
		"\x1b]8; that does not end\nsecond":   {"8; that does not end\nsecond", `\x1b]8; that does not end` + "\nsecond"},
		"\u009b1mbold":                        {"bold", `\u{9b}1mbold`},
		"over\rwritten":                       {"over\rwritten", `over\rwritten`},
		"a\u202eb\u2066c\u200bd\u00ade\ufeff": {"abcde", `a\u{202e}b\u{2066}c\u{200b}d\u{ad}e\u{feff}`},
		"one\u2028two":                        {"one\ntwo", `one\u{2028}two`},
		"tag\U000e0041\U000e007f":             {"tag", `tag\u{e0041}\u{e007f}`},
		"👩\u200d💻 pass\u200dword":             {"👩\u200d💻 password", `👩\u{200d}💻 pass\u{200d}word`},
		"no UTF-8 \xff":                       {"no UTF-8 \ufffd", `no UTF-8 \xff`},
		"end \x1b":                            {"end ", `end \x1b`},
	} {
		if got := visible.Strip(text); got != want[0] {
			t.Errorf("Strip(%q) = %q, want %q", text, got, want[0])
		}
		if got := visible.Escape(text); got != want[1] {
			t.Errorf("Escape(%q) = %q, want %q", text, got, want[1])
		}
		if got := visible.Strip(visible.Strip(text)); got != want[0] {
			t.Errorf("Strip(%q), twice: %q", text, got)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	w := visible.Lines(&b, strings.ToUpper)
	for _, piece := range []string{"a", "b\nc", "", "d\n\n", "e"} {
		if _, err := w.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.String(); got != "AB\nCD\n\n" {
		t.Errorf("got %q", got)
	}
	if err := w.Close(); err != nil || b.String() != "AB\nCD\n\nE" {
		t.Errorf("closed: %v, %q", err, b.String())
	}
}
