// Package report writes what a check has found in the forms that people and other programs read.
//
// What a server says of itself is hostile: each form escapes it in its own way, and no form shows characters that hide others.
package report

import (
	"io"

	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/privacy/visible"
)

// A Form writes a report in one form.
type Form func(io.Writer, *check.Report) error

// site is where the pages are.
const site = "https://github.com/recoursehq/recourse"

// page returns the URL of a page of ours.
func page(path string) string { return site + "/blob/main/" + path }

// plain returns a text of a server without characters that hide others.
func plain(text string) string { return visible.Escape(text) }

// where names the tool that a finding is about.
func where(f *check.Finding) string {
	if f.Tool == "" {
		return "the server"
	}
	return plain(f.Tool)
}

// known says why a finding does not fail a run.
func known(f *check.Finding) string {
	if f.Known == "" {
		return ""
	}
	return " (known: " + plain(f.Known) + ")"
}

// findingsOf returns the findings of a rule.
func findingsOf(r *check.Report, rule string) (found []*check.Finding) {
	for i := range r.Findings {
		if r.Findings[i].Rule == rule {
			found = append(found, &r.Findings[i])
		}
	}
	return found
}

// unobserved returns why rules were not observed.
func unobserved(r *check.Report) map[string]string {
	why := map[string]string{}
	for _, n := range r.NotObserved {
		why[n.Rule] = n.Why
	}
	return why
}
