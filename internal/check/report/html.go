package report

import (
	_ "embed"
	"html/template"
	"io"
	"strings"

	"github.com/recoursehq/recourse/internal/check"
)

// pageHTML is one file with its style in it; it has no script, and loads nothing.
//
//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"plain": plain, "where": where, "page": page, "lower": strings.ToLower,
}).Parse(pageHTML))

// shownRule is a rule that was broken, with its findings.
type shownRule struct {
	*check.Rule

	Findings []shownFinding
}

// shownFinding is a finding with what the page says besides.
type shownFinding struct {
	*check.Finding

	Call  string
	Fails bool
}

// HTML writes a report as a page of one file.
func HTML(w io.Writer, r *check.Report) error {
	var broken []*shownRule
	for i := range r.Findings { // in the order of their harm
		f := &r.Findings[i]
		if n := len(broken); n == 0 || broken[n-1].ID != f.Rule {
			broken = append(broken, &shownRule{Rule: check.Rules()[ruleIndex(f.Rule)]})
		}
		last := broken[len(broken)-1]
		last.Findings = append(last.Findings, shownFinding{f, r.Call(f), r.Fails(f)})
	}
	titles := map[string]string{}
	for _, rule := range check.Rules() {
		titles[rule.ID] = rule.Title
	}
	return pageTemplate.Execute(w, struct {
		*check.Report

		Broken []*shownRule
		Titles map[string]string
	}{r, broken, titles})
}
