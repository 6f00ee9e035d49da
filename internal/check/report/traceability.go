package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/recoursehq/recourse/internal/check"
)

// specification is what the sources of rules begin with that come from MCP's specification.
const specification = "https://modelcontextprotocol.io/specification/"

// Traceability writes which rules have tested the specification in this run, and which could not, in the form of SEP-2484's
// sep-NNNN.yaml: a requirement is mapped to a check, or excluded for a reason.
func Traceability(w io.Writer, r *check.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "spec_url: %s2025-11-25\nrequirements:\n", specification)
	why := unobserved(r)
	for _, rule := range check.Rules() {
		if !strings.HasPrefix(rule.Source, specification) {
			continue
		}
		if reason := why[rule.ID]; reason != "" {
			reason = single("not observed: " + reason)
			fmt.Fprintf(&b, "  - text: %s\n    url: %s\n    excluded: %s\n", single(rule.Title), rule.Source, reason)
			continue
		}
		fmt.Fprintf(&b, "  - check: recourse-%s\n    text: %s\n    url: %s\n", rule.ID, single(rule.Title), rule.Source)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// single quotes a text of one line for YAML.
func single(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
