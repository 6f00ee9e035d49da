//go:build unix

package check_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/check"
)

// What a baseline lists does not fail; what of it is mended is told, but not what was not observed.
func TestBaseline(t *testing.T) {
	t.Parallel()

	report := func(breaks string, mode check.Mode) *check.Report {
		r := fixtureReport(t, breaks, check.Options{Mode: mode, Timeout: 10 * time.Second})
		r.FailOn = check.HarmProtocol
		return r
	}
	broken := report("no-stack", check.Safe)
	var file bytes.Buffer
	if err := check.WriteBaseline(&file, broken); err != nil {
		t.Fatal(err)
	}
	known, err := check.ReadBaseline("known.yaml", file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name            string
		of              *check.Report
		failing, mended int
	}{
		{"known", broken, 0, 0},
		{"mended", report("", check.Safe), 0, len(known.Known)},
		{"another", report("argument-form", check.Safe), 2, len(known.Known)},
		{"not observed", report("no-stack", check.Static), 0, 0},
	} {
		test.of.Know(known)
		if n := test.of.Failing(); n != test.failing || len(test.of.Mended) != test.mended {
			t.Errorf("%s: %d fail, mended: %v", test.name, n, test.of.Mended)
		}
	}
}
