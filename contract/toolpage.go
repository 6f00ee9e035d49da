package contract

import (
	"maps"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/json"
)

// ErrorsKey is the member of `_meta` of a tool in tools/list in which a server says which
// codes of its contract the tool can fail with: a list of texts. It is the one place where
// that stands; the pages of [Contract.ToolPages] are printed from it.
const ErrorsKey = "io.github.recoursehq/errors"

// ToolPages returns a page for each tool of a server that keeps the contract, in Markdown:
// its parameters, and the errors that it can emit, with what to do about each.
func (c *Contract) ToolPages(tools []Tool) string {
	p := &page{c: c}
	p.linef("# The tools of %s", c.titleOrName())
	p.linef("The error contract is `%s`. "+
		"Which of its codes a tool can fail with, the server says in `_meta[%q]` of tools/list.", c.Name, ErrorsKey)
	for _, t := range tools {
		p.tool(t)
	}
	return strings.TrimRight(p.b.String(), "\n") + "\n"
}

func (p *page) tool(t Tool) {
	p.heading(code(t.Name))
	p.linef("%s", t.Description)
	p.parameters(json.Value(t.InputSchema))
	p.linef("### Errors of %s", code(t.Name))
	if t.Errors == nil {
		p.linef("The server does not say which: any code of the contract can come.")
		return
	}
	listed := slices.DeleteFunc(slices.Clone(p.c.codes), func(en *entry) bool { return !slices.Contains(t.Errors, en.code) })
	if len(listed) > 0 {
		p.table(p.codeRows(listed)...)
	}
	other := slices.DeleteFunc(slices.Clone(t.Errors), func(word string) bool { return p.c.byCode[word] != nil })
	if len(other) > 0 {
		p.linef("The contract does not list: %s.", codesText(other))
	}
}

// parameters writes the parameters of an inputSchema.
func (p *page) parameters(schema json.Value) {
	var s struct {
		Properties map[string]struct {
			Type        json.Value `json:"type"`
			Description string     `json:"description"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.UnmarshalLenient(schema, &s) != nil || len(s.Properties) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(s.Properties))
	rows := [][]string{{"Parameter", "Type", "Required", "Description"}}
	for _, name := range names {
		property := s.Properties[name]
		required := "no"
		if slices.Contains(s.Required, name) {
			required = "yes"
		}
		rows = append(rows, []string{code(name), strings.Trim(string(property.Type), `"`), required, property.Description})
	}
	p.table(rows...)
}
