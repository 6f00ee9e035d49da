package contractgen

import (
	"embed"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// The core of a module is the code that interprets the tables. It is written in files of its language, and a module
// contains the parts that its contract and its audience need:
//
//   - Lines between `//{{if has "poll"}}` and `//{{end}}` (in Python, after a #) are for contracts whose tables have a
//     member of that name. "code.message" is a member of "code"; ":ms" is the type of a path, and "path ..." a path.
//   - A declaration that the module neither uses nor exports is left out.
//   - Exported declarations keep their documentation; other documentation is only for readers of the files.

// A core is where a language has its files, and what its declarations look like.
type core struct {
	files   embed.FS
	dir     string
	ext     string
	comment string

	// declares matches the first line of a declaration. Its groups capture the names.
	declares *regexp.Regexp
	// leads matches lines that belong to the declaration that follows them.
	leads *regexp.Regexp
	// ignores matches text that cannot name a declaration: comments, strings and members of objects.
	ignores *regexp.Regexp
	// gap is the greatest number of empty lines between declarations.
	gap int
	// titles matches the title of a section of a file.
	titles *regexp.Regexp
	// documents matches the documentation in or before a declaration.
	documents *regexp.Regexp
	// exports reports whether a module exports what a line declares.
	exports func(line string) bool
}

// text returns the files of these names, without the lines that the tables do not need.
func (l *core) text(names []string, data sections) string {
	var b strings.Builder
	for _, name := range names {
		b.WriteString(strings.Repeat("\n", l.gap))
		if err := l.write(&b, name, data); err != nil {
			panic("contract: " + err.Error())
		}
	}
	var text strings.Builder
	for _, d := range l.declarations(b.String()) {
		if !d.kept {
			d.text = l.documents.ReplaceAllString(d.text, "")
		}
		text.WriteString(d.blank + l.titles.ReplaceAllString(d.text, ""))
	}
	return text.String()
}

// write writes a file without the lines that the tables do not need.
func (l *core) write(w io.Writer, name string, data sections) error {
	source, err := l.files.ReadFile(l.dir + "/" + name + l.ext)
	if err != nil {
		return err
	}
	parsed, err := template.New(name).Delims(l.comment+"{{", "}}\n").
		Funcs(template.FuncMap{"has": data.has, "writes": data.writes}).Parse(string(source))
	if err != nil {
		return err
	}
	return parsed.Execute(w, nil)
}

// A sections says which optional lines a module has.
type sections struct {
	words    map[string]bool
	audience Audience
}

func (s sections) writes() bool { return s.audience != ForClients }

// has reports whether the contract uses one of the names.
func (s sections) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return s.words[name] })
}

// sectionsOf returns the sections that the tables need.
func sectionsOf(audience Audience, tables tableSet) sections {
	s := sections{map[string]bool{}, audience}
	s.add("code", tables.codes)
	s.add("contract", tables.contract)
	for _, entry := range elementsOf(tables.codes) {
		switch retryable := json.Lookup(entry, "/retryable"); {
		case retryable.Kind() == '[':
			s.words["retryable.status"] = true
		case string(retryable) == `"stated"`:
			s.words["retryable.stated"] = true
		}
	}
	for _, layout := range elementsOf(json.Lookup(tables.contract, "/layouts")) {
		if json.Lookup(layout, "/shape") == nil {
			s.words["contract.record"] = true
		}
	}
	return s
}

// add notes the members in the value of a name, and its paths with their types.
func (s sections) add(at string, raw json.Value) {
	switch raw.Kind() { //nolint:exhaustive // the others have no names
	case '{':
		for _, m := range json.MembersOf(raw) {
			s.words[m.Name] = true
			s.words[at+"."+m.Name] = true
			s.add("", quoted(m.Name))
			s.add(m.Name, m.Value)
		}
	case '[':
		for _, item := range elementsOf(raw) {
			s.add(at, item)
		}
	case '"':
		path := strings.Trim(string(raw), `"`)
		list, _, _ := strings.Cut(path, ".")
		s.words["path "+path], s.words["path "+list] = true, true
		for _, t := range pathType.FindAllString(string(raw), -1) {
			s.words[t] = true
		}
	}
}

// pathType matches the type of a path, alone or in a template.
var pathType = regexp.MustCompile(`:[a-z]+`)

// A declaration is a part of a module that is kept or left out as a whole.
type declaration struct {
	blank string // the empty lines before it
	text  string
	names []string
	uses  []string
	kept  bool
}

// word matches a possible name.
var word = regexp.MustCompile(`[A-Za-z_]\w*`)

// used returns a module without unused declarations.
func (l *core) used(module string) string {
	list := l.declarations(module)
	byName := map[string][]*declaration{}
	var next []*declaration
	for _, d := range list {
		for _, name := range d.names {
			byName[name] = append(byName[name], d)
		}
		if d.kept {
			next = append(next, d)
		}
	}
	for len(next) > 0 {
		d := next[0]
		next = next[1:]
		for _, name := range d.uses {
			for _, other := range byName[name] {
				if !other.kept {
					other.kept = true
					next = append(next, other)
				}
			}
		}
	}
	var b strings.Builder
	blank := ""
	for _, d := range list {
		if len(d.blank) > len(blank) {
			blank = d.blank[:min(len(d.blank), l.gap)]
		}
		if d.kept {
			b.WriteString(blank + d.text)
			blank = ""
		}
	}
	return b.String()
}

// declarations splits a module.
func (l *core) declarations(module string) []*declaration {
	var list []*declaration
	var lead strings.Builder // lines that belong to the next declaration
	for line := range strings.Lines(module) {
		if line == "\n" || l.leads.MatchString(line) {
			lead.WriteString(line)
			continue
		}
		if found := l.declares.FindStringSubmatch(line); found != nil || len(list) == 0 {
			d := &declaration{kept: found == nil || l.exports(line)}
			for _, names := range found[min(len(found), 1):] {
				d.names = append(d.names, word.FindAllString(names, -1)...)
			}
			d.text = strings.TrimLeft(lead.String(), "\n")
			d.blank = lead.String()[:lead.Len()-len(d.text)]
			list = append(list, d)
		} else {
			list[len(list)-1].text += lead.String()
		}
		lead.Reset()
		list[len(list)-1].text += line
	}
	for _, d := range list {
		d.uses = word.FindAllString(l.ignores.ReplaceAllString(d.text, ""), -1)
	}
	return list
}
