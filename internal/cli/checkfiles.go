package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/report"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// checkFiles are the files that a check writes.
type checkFiles struct {
	SARIF         string `placeholder:"FILE" group:"files" help:"Write the findings in SARIF 2.1.0, for code scanning."`
	JUnit         string `name:"junit" placeholder:"FILE" group:"files" help:"${check_files_junit}"`
	HTML          string `name:"html" placeholder:"FILE" group:"files" help:"Write a page of one file, with the evidence."`
	Markdown      string `placeholder:"FILE" group:"files" help:"Write a summary in Markdown."`
	Badge         string `placeholder:"FILE" group:"files" help:"Write the grade as a small picture, in SVG."`
	Baseline      string `placeholder:"FILE" group:"files" help:"Findings that are known, and do not fail the check."`
	WriteBaseline string `placeholder:"FILE" group:"files" help:"Write all findings as a baseline."`
	Entry         string `placeholder:"FILE" group:"files" help:"${check_files_entry}"`
	Draft         string `placeholder:"FILE" group:"files" help:"Write the failures that were seen as a contract."`
	Traceability  string `placeholder:"FILE" group:"files" help:"${check_files_traceability}"`
}

// output is a file that is written in a form.
type output struct {
	flag, path string
	form       report.Form
}

// list returns those that are asked for.
func (c *checkFiles) list() (asked []output) {
	for _, o := range []output{
		{"--sarif", c.SARIF, report.SARIF},
		{"--junit", c.JUnit, report.JUnit},
		{"--html", c.HTML, report.HTML},
		{"--markdown", c.Markdown, report.Markdown},
		{"--badge", c.Badge, report.Badge},
		{"--traceability", c.Traceability, report.Traceability},
		{"--entry", c.Entry, report.Entry},
		{"--draft", c.Draft, report.Draft},
		{"--write-baseline", c.WriteBaseline, check.WriteBaseline},
	} {
		if o.path != "" {
			asked = append(asked, o)
		}
	}
	return asked
}

// onStdout returns the flag that has claimed standard output, or "". It is an error if two have.
func (c *checkFiles) onStdout(json bool) (flag string, err error) {
	if json {
		flag = "--json"
	}
	for _, o := range c.list() {
		if o.path != "-" {
			continue
		}
		if flag != "" {
			return "", term.Usage(errors.New(flag + " and " + o.flag + " both write to standard output: give one of them a file"))
		}
		flag = o.flag
	}
	return flag, nil
}

// baseline reads the baseline; nil: there is none.
func (c *checkFiles) baseline() (*check.Baseline, error) {
	if c.Baseline == "" {
		return nil, nil // most runs have none
	}
	src, err := os.ReadFile(filepath.Clean(c.Baseline))
	if err != nil {
		return nil, term.Usage(fmt.Errorf("read the baseline: %w", err))
	}
	known, err := check.ReadBaseline(c.Baseline, src)
	if _, mistakes := errors.AsType[strictyaml.Errors](err); err != nil && !mistakes {
		return nil, term.Usage(err)
	}
	return known, err
}

// write writes them.
func (c *checkFiles) write(env *term.Environment, r *check.Report) error {
	for _, o := range c.list() {
		var text bytes.Buffer
		if err := o.form(&text, r); err != nil {
			return fmt.Errorf("%s: %w", o.flag, err)
		}
		if o.path == "-" {
			_, _ = env.Stdout.Write(text.Bytes()) // each form escapes what a server says
			continue
		}
		if err := os.WriteFile(filepath.Clean(o.path), text.Bytes(), 0o644); err != nil { //nolint:gosec // a report is for others
			return fmt.Errorf("%s: %w", o.flag, err)
		}
	}
	return nil
}
