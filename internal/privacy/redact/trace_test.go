package redact_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/privacy/redact"
)

// A recorded failure is what a program printed when it failed, and how that reads once it is masked.
type recorded struct{ name, text, masked string }

// recordings returns the failures in testdata/traces.txt. They are what programs in many languages really printed, but for those that are
// written after the documentation.
func recordings(tb testing.TB) []recorded {
	tb.Helper()
	content, err := os.ReadFile("testdata/traces.txt")
	if err != nil {
		tb.Fatal(err)
	}
	var all []recorded
	for block := range strings.SplitSeq(string(content), "\n== ") {
		name, rest, _ := strings.Cut(block, "\n")
		text, masked, ok := strings.Cut(rest, "\n-- masked\n")
		if ok {
			all = append(all, recorded{name, text, strings.TrimSuffix(masked, "\n")})
		}
	}
	return all
}

// Of the stack traces of every language only the messages are left, also on one line and inside JSON and HTML.
func TestTraces(t *testing.T) {
	t.Parallel()
	all := recordings(t)
	if len(all) < 100 {
		t.Fatalf("got %d failures", len(all))
	}
	m := redact.New(redact.All)
	for _, r := range all {
		got := m.String(r.text)
		if diff := cmp.Diff(r.masked, strings.TrimSuffix(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", r.name, diff)
		}
		if again := m.String(got); again != got {
			t.Errorf("%s, masked twice:\n%s", r.name, cmp.Diff(got, again))
		}
	}
}

// What looks a little like a frame stays.
func TestNoTraces(t *testing.T) {
	t.Parallel()
	m := redact.New(redact.All)
	for _, text := range []string{
		"The shop opens\nat 10:30\nand closes\nat 18:00",
		"Two steps failed:\n  1: apples\n  2: pears\n  3: plums",
		"Open issues:\n#12 The total is wrong (see step:3)\n#13 Fields overlap (row:17)",
		"#1 (first): choose a field\n#2 (second): sow",
		"The meeting is\nat the office (room 12:30)",
		"1. Sow (in April)\n2. Water\n3. Reap",
		"ERROR: syntax error at or near \"FORM\"\nLINE 1: SELECT id FORM fields\n                  ^",
		"Expected:\n  lines: 3\nGot:\n  lines: 2\n         ^",
		"from 12:30 to 14:00: in the field\nfrom 14:00 to 16:00: in the barn",
		"File \"orders.csv\" has no header",
		"File \"orders.csv\", row 12: the date is wrong",
		"Contact ada@farm.example.com:\nextension 12",
		"[1] Sow\n[2] Reap\n@ the field",
		"goroutine of the week: [none]:",
		"Stack trace: not available",
		"0x1f is not a field\n1 0x2f is one",
		"The order has\n--- End of the list",
		"Two meetings:\n  at noon (12:30)\n  at dusk (18:00)",
		"Write to\nada@\nat the farm (3:1)",
		"(see page 3) notes.ex:12: total(nil)\n(or page 4) lib: sum(1)",
		"price$total (orders.csv:12)\nsum$total (orders.csv:13)",
	} {
		if got := m.String(text); got != text {
			t.Error(cmp.Diff(text, got))
		}
	}
}
