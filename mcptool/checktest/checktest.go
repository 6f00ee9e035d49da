// Package checktest checks in a test how an MCP server fails, as `recourse check` does:
//
//	func TestFailures(t *testing.T) {
//		checktest.Run(t, newServer())
//	}
//
// It makes only calls that the tools' own schemas forbid, and reads what cannot exist; a tool that says that it destroys something
// is never called. docs/checks.md explains the rules.
package checktest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/server"
)

// An Option changes how a server is checked.
type Option func(*run)

// run is a check.
type run struct {
	failOn   check.Harm
	reads    []string
	baseline string
}

// FailOn sets the least harm that fails the test: "write", "hides", which is the default, "leaks", "unhelpful" or "protocol".
func FailOn(harm string) Option { return func(r *run) { r.failOn = check.Harm(harm) } }

// ReadOnly names tools that only read although they do not say so; * stands for any letters.
func ReadOnly(tools ...string) Option { return func(r *run) { r.reads = append(r.reads, tools...) } }

// Baseline names a file of findings that are known, as `recourse check --write-baseline` writes it. They do not fail the test; one that
// is mended and still listed does.
func Baseline(file string) Option { return func(r *run) { r.baseline = file } }

// Run checks a server. It fails the test for each finding of a harm that matters, and logs the others.
func Run(t testing.TB, s *mcp.Server, options ...Option) {
	t.Helper()
	r := run{failOn: check.HarmHides}
	for _, set := range options {
		set(&r)
	}
	harms := []check.Harm{check.HarmWrite, check.HarmHides, check.HarmLeaks, check.HarmUnhelpful, check.HarmProtocol}
	if !slices.Contains(harms, r.failOn) {
		t.Fatalf("checktest: there is no harm %q", r.failOn)
	}
	listening := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	defer listening.Close()
	to := &server.Endpoint{URL: listening.URL}
	report := check.Check(t.Context(), to, check.Options{Mode: check.Safe, Reads: r.reads})
	report.FailOn = r.failOn
	if !report.Checked() {
		t.Fatalf("checktest: the server cannot be checked: %s", report.Stopped)
	}
	r.know(t, report)
	t.Logf("%s: %s", report.Name(), report.Graded())
	for i := range report.Findings {
		f := &report.Findings[i]
		say := t.Logf
		if report.Fails(f) {
			say = t.Errorf
		}
		say("%s", sentence(f))
	}
	for _, k := range report.Mended {
		t.Errorf("%s is mended, and still in %s", k, r.baseline)
	}
}

// know reads the baseline.
func (r *run) know(t testing.TB, report *check.Report) {
	t.Helper()
	if r.baseline == "" {
		return
	}
	src, err := os.ReadFile(filepath.Clean(r.baseline))
	if err != nil {
		t.Fatalf("checktest: read the baseline: %v", err)
	}
	known, err := check.ReadBaseline(r.baseline, src)
	if err != nil {
		t.Fatalf("checktest: %v", err)
	}
	report.Know(known)
}

// sentence tells a finding.
func sentence(f *check.Finding) string {
	lines := []string{f.Title + " (" + f.Rule + ", " + string(f.Harm) + ")", strings.TrimPrefix(f.Tool+": "+f.Said, ": ")}
	if f.Known != "" {
		lines = append(lines, "known: "+f.Known)
	}
	lines = append(lines, "mend: "+f.Mend)
	if f.Entry != "" {
		lines = append(lines, "  "+f.Entry)
	}
	return strings.Join(append(lines, f.Frames...), "\n    ")
}
