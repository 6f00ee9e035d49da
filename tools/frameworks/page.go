package main

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

//go:embed page.md.tmpl
var pageText string

//go:embed node/package.json python/requirements/*.txt
var pins embed.FS

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// A measured framework has its cells.
type measured struct {
	*framework

	cells kept
}

// plain is the framework that hands a result's text on as it is.
const plain = "mcp1"

// writePage writes the page from what is kept of all frameworks.
func writePage(env, file string) error {
	var all []*measured
	for _, f := range frameworks {
		cells, err := load(env, f)
		if err != nil {
			return err
		}
		for _, c := range cells {
			c.normalize(absolute(env))
		}
		if len(cells) == 2*len(classes) { // all of them have been run
			all = append(all, &measured{framework: f, cells: cells})
		}
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, &document{all}); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// changing is what differs from run to run.
var changing = []struct {
	form *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`req-[0-9a-f]{24}`), "req-ID"},
	{regexp.MustCompile(`Wall time: [0-9.]+ seconds`), "Wall time: N seconds"},
	{regexp.MustCompile(`0x[0-9a-f]{6,}`), "0xN"},
	{regexp.MustCompile(`frameworks-\d+`), "frameworks-N"},
	{regexp.MustCompile(`(\n +at [^\n]+)+`), "\n    at ..."},
}

func (c *cell) normalize(env string) {
	for _, one := range changing {
		c.Threw = one.form.ReplaceAllString(strings.ReplaceAll(c.Threw, env, "ENV"), one.by)
		for i, text := range c.Told {
			c.Told[i] = one.form.ReplaceAllString(strings.ReplaceAll(text, env, "ENV"), one.by)
		}
	}
}

// A document is what the template asks.
type document struct{ all []*measured }

func (p *document) of(name string) *measured {
	for _, m := range p.all {
		if m.name == name {
			return m
		}
	}
	return &measured{framework: &framework{}, cells: kept{}}
}

func (m *measured) cell(c *class, through bool) *cell {
	return m.cells[(&cell{Class: c.name, Through: through}).key()]
}

// Table returns the table of the frameworks of a language.
func (p *document) Table(language string) string {
	head, rule := "| class |", "|---|"
	for _, m := range p.all {
		if m.language == language {
			head, rule = head+" "+m.title+" |", rule+"---|"
		}
	}
	var b strings.Builder
	b.WriteString(head + "\n" + rule + "\n")
	for _, c := range classes {
		fmt.Fprintf(&b, "| `%s` |", c.name)
		for _, m := range p.all {
			if m.language == language {
				fmt.Fprintf(&b, " %s > %s |", m.cell(c, false).letters(), m.cell(c, true).letters())
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// defaults are the frameworks as they are, with nothing set.
func (p *document) defaults() (all []*measured) {
	for _, m := range p.all {
		if m.installed == "" {
			all = append(all, m)
		}
	}
	return all
}

// Frameworks, Classes and Cells count.
func (p *document) Frameworks() int { return len(p.defaults()) }

// Classes counts those that fail.
func (p *document) Classes() int { return len(classes) - 1 }

// Cells is how many cells there are on each side.
func (p *document) Cells() int { return p.Frameworks() * p.Classes() }

// Count counts cells of the classes that fail by what became of them.
func (p *document) Count(through bool, what string) (n int) {
	for _, m := range p.defaults() {
		n += m.count(through, what)
	}
	return n
}

// outcome is the letters in one word.
func (c *cell) outcome() string {
	letters := c.letters()
	word, _, _ := strings.Cut(letters, " x")
	if strings.Trim(word, "WREV") == "" {
		return "advice"
	}
	return word
}

// Habits returns for each framework how many classes end badly on either side, and in which a write arrives again.
func (p *document) Habits() string {
	var b strings.Builder
	for _, m := range p.all {
		fmt.Fprintf(&b, "| %s |", m.title)
		for _, what := range []string{"DIES", "HANGS", "BLIND"} {
			fmt.Fprintf(&b, " %d > %d |", m.count(false, what), m.count(true, what))
		}
		var again []string
		for _, c := range classes {
			if one := m.cell(c, false); c.writes() && one != nil && one.Arrived > 1 {
				again = append(again, fmt.Sprintf("%#q x%d > x%d", c.name, one.Arrived, m.cell(c, true).Arrived))
			}
		}
		fmt.Fprintf(&b, " %s |\n", strings.Join(again, ", "))
	}
	return b.String()
}

func (m *measured) count(through bool, what string) (n int) {
	for _, c := range classes[1:] {
		if m.cell(c, through).outcome() == what {
			n++
		}
	}
	return n
}

// list is a list of the frameworks for which something was found.
func (p *document) list(find func(*measured) []string) string {
	var b strings.Builder
	for _, m := range p.all {
		if found := find(m); len(found) > 0 {
			fmt.Fprintf(&b, "- **%s**: %s\n", m.title, strings.Join(found, ", "))
		}
	}
	return cmp.Or(b.String(), "- nobody\n")
}

// Unread lists who does not read all that the gateway says, and how much was said to whom.
func (p *document) Unread() string {
	return p.list(func(m *measured) (found []string) {
		for _, c := range classes[1:] {
			if one := m.cell(c, true); one != nil && !p.reads(c, one) {
				found = append(found, fmt.Sprintf("%#q (%s)", c.name, one.letters()))
			}
		}
		return found
	})
}

// squashed leaves of a text what no form of quoting changes.
func squashed(text string) string {
	return regexp.MustCompile(`\\+n|[^A-Za-z0-9]`).ReplaceAllString(text, "")
}

// reads tells whether the model has read all that the gateway says.
func (p *document) reads(c *class, one *cell) bool {
	said := p.of(plain).cell(c, true)
	return one.End == done && said != nil && strings.Contains(squashed(one.text()), squashed(said.text()))
}

// Sections returns what is read in each class.
func (p *document) Sections() string {
	var b strings.Builder
	for _, c := range classes[1:] {
		if c.like != "" {
			continue
		}
		fmt.Fprintf(&b, "\n### %s: %s\n\n", c.name, c.doc)
		for _, other := range classes {
			if other.like == c.name {
				fmt.Fprintf(&b, "`%s` reads alike: %s.\n\n", other.name, other.doc)
			}
		}
		b.WriteString("```text\n")
		p.bare(&b, c)
		p.through(&b, c)
		b.WriteString("```\n")
	}
	return b.String()
}

// alike is what reads the same.
type alike struct {
	text  string
	names []string
}

func grouped(all []*measured, text func(*measured) string) (groups []*alike) {
	for _, m := range all {
		said := text(m)
		if said == "" {
			continue
		}
		i := slices.IndexFunc(groups, func(g *alike) bool { return g.text == said })
		if i < 0 {
			groups, i = append(groups, &alike{text: said}), len(groups)
		}
		groups[i].names = append(groups[i].names, m.title)
	}
	slices.SortStableFunc(groups, func(a, b *alike) int { return len(b.names) - len(a.names) })
	return groups
}

func (g *alike) write(b *strings.Builder, among []*measured) {
	names := strings.Join(g.names, ", ")
	if len(g.names) > len(among)/2 {
		names = "all"
		but := " but "
		for _, m := range among {
			if !slices.Contains(g.names, m.title) {
				names, but = names+but+m.title, ", "
			}
		}
	}
	const most = 300
	text := strings.TrimRight(g.text, "\n")
	if len(text) > most {
		text = fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(text[:most], ""), len(text))
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\n", "\n    "), "\n    \n", "\n\n")
	fmt.Fprintf(b, "  %s: %s\n", names, text)
}

// bare writes what the most frameworks read, and who reads nothing.
func (p *document) bare(b *strings.Builder, c *class) {
	b.WriteString("bare\n")
	groups := grouped(p.all, func(m *measured) string {
		if one := m.cell(c, false); one != nil && one.End == done && one.Called != "" {
			return one.text()
		}
		return ""
	})
	for _, g := range groups[:min(2, len(groups))] {
		g.write(b, p.all)
	}
	p.ends(b, c, false)
}

// ends writes who reads nothing at all.
func (p *document) ends(b *strings.Builder, c *class, through bool) {
	for _, what := range []string{"DIES", "HANGS", "BLIND"} {
		var names []string
		for _, m := range p.all {
			if one := m.cell(c, through); one != nil && one.outcome() == what {
				names = append(names, m.title)
			}
		}
		if len(names) > 0 {
			fmt.Fprintf(b, "  %s: %s\n", what, strings.Join(names, ", "))
		}
	}
}

// through writes what the gateway says, and who reads something else.
func (p *document) through(b *strings.Builder, c *class) {
	said := p.of(plain).cell(c, true)
	if said == nil {
		return
	}
	b.WriteString("through Recourse\n")
	read := grouped(p.all, func(m *measured) string {
		if one := m.cell(c, true); one != nil && p.reads(c, one) {
			return said.text()
		}
		return ""
	})
	for _, g := range read {
		g.write(b, p.all)
	}
	others := grouped(p.all, func(m *measured) string {
		if one := m.cell(c, true); one != nil && one.End == done && one.Called != "" && !p.reads(c, one) {
			return one.text()
		}
		return ""
	})
	for _, g := range others {
		g.write(b, p.all)
	}
	p.ends(b, c, true)
}

// Forms returns in which form each framework hands a text on.
func (p *document) Forms() string {
	var b strings.Builder
	for _, g := range grouped(p.all, func(m *measured) string {
		if one := m.cell(classNamed("iserror"), true); one != nil {
			return one.text()
		}
		return ""
	}) {
		g.write(&b, p.all)
	}
	return b.String()
}

// Paragraphs returns what to know of each framework.
func (p *document) Paragraphs() (string, error) {
	var b strings.Builder
	for _, m := range p.all {
		versions, err := m.versions()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "- **%s** (%s). %s", m.title, versions, m.doc)
		if m.adapter != "" {
			fmt.Fprintf(&b, " With our package: `%s`.", m.adapter)
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

// versions are those of the framework's packages.
func (f *framework) versions() (string, error) {
	if f.language == node {
		var manifest struct {
			Dependencies map[string]string `json:"dependencies"`
		}
		b, err := pins.ReadFile("node/package.json")
		if err == nil {
			err = json.Unmarshal(b, &manifest)
		}
		var all []string
		for name := range strings.FieldsSeq(f.packages) {
			all = append(all, name+" "+manifest.Dependencies[name])
		}
		return strings.Join(all, ", "), err
	}
	b, err := pins.ReadFile("python/requirements/" + f.environment() + ".txt")
	pinned := regexp.MustCompile(`(?m)^([^\[=\n]+)[^=\n]*==(.*)$`).FindAllStringSubmatch(string(b), -1)
	var all []string
	for _, pin := range pinned {
		all = append(all, pin[1]+" "+pin[2])
	}
	return strings.Join(all, ", "), err
}
