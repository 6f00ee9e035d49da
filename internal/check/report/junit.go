package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/recoursehq/recourse/internal/check"
)

// The elements of JUnit's form, as far as a report has them.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Failure *junitMessage `xml:"failure"`
		Skipped *junitMessage `xml:"skipped"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes a report as test results: a case for each rule. One that was not observed is skipped. A finding that does not
// fail the run does not fail its case either, and stands in the case's output.
func JUnit(w io.Writer, r *check.Report) error {
	all := junitSuites{Name: plain(r.Name() + ": " + r.Graded())}
	why := unobserved(r)
	for _, rule := range check.Rules() {
		if len(all.Suites) == 0 || all.Suites[len(all.Suites)-1].Name != rule.Group {
			all.Suites = append(all.Suites, junitSuite{Name: rule.Group})
		}
		suite, c := &all.Suites[len(all.Suites)-1], junitOf(r, rule, why[rule.ID])
		suite.Cases = append(suite.Cases, c)
		suite.Tests++
		all.Tests++
		if c.Failure != nil {
			suite.Failures++
			all.Failures++
		}
		if c.Skipped != nil {
			suite.Skipped++
			all.Skipped++
		}
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return err
}

// junitOf returns the case of a rule.
func junitOf(r *check.Report, rule *check.Rule, unseen string) junitCase {
	c := junitCase{Name: rule.ID + ": " + rule.Title, Class: "recourse.check." + strings.ReplaceAll(rule.Group, " ", "_")}
	if unseen != "" {
		c.Skipped = &junitMessage{Message: "not observed: " + unseen}
		return c
	}
	var text strings.Builder
	fails := 0
	for _, f := range findingsOf(r, rule.ID) {
		fmt.Fprintf(&text, "%s: %s%s\n", where(f), plain(f.Said), known(f))
		if r.Fails(f) {
			fails++
		}
	}
	switch {
	case fails > 0:
		fmt.Fprintf(&text, "mend: %s\n%s\n", rule.Mend, page("docs/checks.md#"+rule.ID))
		c.Failure = &junitMessage{Message: fmt.Sprintf("%d findings", fails), Type: string(rule.Harm), Text: text.String()}
	default:
		c.Out = text.String()
	}
	return c
}
