package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"text/template"
	"time"
)

//go:embed page.md.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// A studyPage is what the template shows.
type studyPage struct {
	Date            string
	Servers         []*published // those that started
	HTTP            int          // how many of them are over HTTP
	Not             int          // how many did not
	Rules           []*counts
	Harms           []*counts
	Grades          []grade
	Findings        [2]int // bare, and behind the gateway
	Tools, Observed int    // observations are bare
}

// ruleLine is a line of the table in docs/checks.md.
type ruleLine struct{ ID, Title, Harm string }

var ruleForm = regexp.MustCompile("(?m)^\\| \\[`([a-z-]+)`\\]\\(#[a-z-]+\\) \\| (.*?) \\| `([a-z]+)` \\|")

// checkReport is what is read of `recourse check --json`.
type checkReport struct {
	Started bool   `json:"started"`
	Grade   string `json:"grade"`
	Seen    int    `json:"observations"`
	Server  struct {
		Tools int `json:"tools"`
	} `json:"server"`
	Findings []struct {
		Rule string `json:"rule"`
		Harm string `json:"harm"`
	} `json:"findings"`
	Kept []string `json:"kept"`
}

// counts say for a rule, or for all rules of a harm, how many servers broke it, with how many findings; bare, and behind the gateway.
type counts struct {
	ruleLine

	Observed, Broken, Findings [2]int
}

// A grade has the number of servers that got it.
type grade struct {
	Letter  string
	Servers [2]int
}

// writePage writes the page from the reports of all servers.
func writePage(file string, servers []*published) error {
	p := studyPage{Date: time.Now().UTC().Format("2 January 2006")}
	text, err := os.ReadFile("../../docs/checks.md")
	if err != nil {
		return err
	}
	for _, of := range ruleForm.FindAllStringSubmatch(string(text), -1) {
		p.Rules = append(p.Rules, &counts{ruleLine: ruleLine{of[1], of[2], of[3]}})
	}
	for _, harm := range []string{"write", "hides", "leaks", "unhelpful", "protocol"} {
		p.Harms = append(p.Harms, &counts{ruleLine: ruleLine{Harm: harm}})
	}
	for _, letter := range []string{"A", "B", "C", "D", "F"} {
		p.Grades = append(p.Grades, grade{Letter: letter})
	}
	for _, s := range servers {
		if err := p.add(s); err != nil {
			return err
		}
	}
	p.Rules = slices.DeleteFunc(p.Rules, func(c *counts) bool { return c.Observed == [2]int{} })
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, &p); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// add counts the two reports of a server.
func (p *studyPage) add(s *published) error {
	var reports [2]checkReport
	for i, kind := range []string{bare, behind} {
		text, err := os.ReadFile(filepath.Join(s.dir, kind+".json"))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &reports[i]); err != nil {
			return fmt.Errorf("%s: %w", s.pkg, err)
		}
	}
	if !reports[0].Started {
		p.Not++
		return nil
	}
	p.Servers = append(p.Servers, s)
	if s.url != "" {
		p.HTTP++
	}
	p.Tools += reports[0].Server.Tools
	p.Observed += reports[0].Seen
	for i := range reports {
		p.count(i, &reports[i])
	}
	return nil
}

// count counts a report: i is 0 if it is of the server alone.
func (p *studyPage) count(i int, r *checkReport) {
	for j := range p.Grades {
		if p.Grades[j].Letter == r.Grade {
			p.Grades[j].Servers[i]++
		}
	}
	for _, c := range slices.Concat(p.Rules, p.Harms) {
		of := func(rule, harm string) bool { return c.ID == rule || c.ID == "" && c.Harm == harm }
		broken := 0
		for j := range r.Findings {
			if of(r.Findings[j].Rule, r.Findings[j].Harm) {
				broken++
			}
		}
		c.Findings[i] += broken
		if broken > 0 {
			c.Broken[i]++
		}
		if broken > 0 || slices.Contains(r.Kept, c.ID) {
			c.Observed[i]++
		}
	}
	p.Findings[i] += len(r.Findings)
}

// String names the package with its version.
func (s *published) String() string {
	name := s.pkg + " " + s.version
	if s.url != "" {
		name += ", over HTTP"
	}
	return name
}

// Registry names where the package is from.
func (s *published) Registry() string {
	return map[string]string{"npm": "npm", "pypi": "PyPI"}[s.registry]
}
