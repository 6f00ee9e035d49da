package tracecontext_test

import (
	"math"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/protocol/tracecontext"
)

const (
	trace = "0af7651916cd43dd8448eb211c80319c"
	span  = "b7ad6b7169203331"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"00-" + trace + "-" + span + "-01":                    "00-" + trace + "-" + span + "-01",
		"00-" + trace + "-" + span + "-00":                    "00-" + trace + "-" + span + "-00",
		"00-" + trace + "-" + span + "-03":                    "00-" + trace + "-" + span + "-01",
		"cc-" + trace + "-" + span + "-01-what-comes":         "00-" + trace + "-" + span + "-01",
		"cc-" + trace + "-" + span + "-01.what-comes":         "",
		"00-" + trace + "-" + span + "-01-":                   "",
		"ff-" + trace + "-" + span + "-01":                    "",
		"00-" + strings.ToUpper(trace) + "-" + span + "-01":   "",
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01":  "",
		"00-" + trace + "-" + strings.Repeat("0", 16) + "-01": "",
		"00-" + trace + "-" + span + "-0":                     "",
		"00-" + trace + "-" + span + "-0x":                    "",
		"00_" + trace + "-" + span + "-01":                    "",
		"00-" + trace + "-" + span[:15] + "\n-01":             "",
		"":                         "",
		strings.Repeat("0", 1<<16): "",
	} {
		c, ok := tracecontext.Parse(text)
		if ok != (want != "") || ok && c.String() != want || !ok && !c.IsZero() {
			t.Errorf("%.80q: got %s, %v", text, c, ok)
		}
	}
}

// New samples a part of all traces, and a child is sampled if its parent is.
func TestNew(t *testing.T) {
	t.Parallel()
	const traces = 20_000
	for _, part := range []float64{0, 0.1, 0.5, 1} {
		n := 0
		for range traces {
			c := tracecontext.New(part)
			if again, ok := tracecontext.Parse(c.String()); !ok || again != c {
				t.Fatalf("%s: got %s after parsing", c, again)
			}
			if child := c.Child(); child.Trace != c.Trace || child.Span == c.Span || child.Sampled != c.Sampled {
				t.Fatalf("child of %s: got %s", c, child)
			}
			if c.Sampled {
				n++
			}
		}
		if got := float64(n) / traces; math.Abs(got-part) > 0.02 {
			t.Errorf("rate %v: sampled %v", part, got)
		}
	}
}

func TestPasses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"a=1,b=2": true, "key=value;p=1,\tk2=v2": true, "": false, "a=1\r\nX-Evil: 1": false, "ä=1": false, "a\x00": false,
		strings.Repeat("a", 8192): true, strings.Repeat("a", 8193): false,
	} {
		if got := tracecontext.Passes(text); got != want {
			t.Errorf("%.40q: %v", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("00-" + trace + "-" + span + "-01")
	f.Add("cc-" + trace + "-" + span + "-01-x")
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := tracecontext.Parse(text)
		if again, okAgain := tracecontext.Parse(c.String()); ok && (!okAgain || again != c) {
			t.Errorf("%q: got %s, and that became %s", text, c, again)
		}
	})
}
