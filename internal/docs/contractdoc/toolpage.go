package contractdoc

import (
	"maps"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// ToolPages returns a page for each tool of a server that follows the contract, in Markdown: its parameters and its
// possible errors, with what to do about each.
func ToolPages(c *contract.Contract, tools []contract.Tool) string {
	p := &pageWriter{described: describe(c)}
	p.linef("# The tools of %s", p.title())
	p.linef("The error contract is `%s`. "+
		"The server lists the codes that a tool can fail with in `_meta[%q]` of tools/list.", c.Name, contract.ErrorsKey)
	for _, t := range tools {
		p.tool(t)
	}
	return strings.TrimRight(p.b.String(), "\n") + "\n"
}

func (p *pageWriter) tool(t contract.Tool) {
	p.heading(code(t.Name))
	p.linef("%s", t.Description)
	p.parameters(json.Value(t.InputSchema))
	p.linef("### Errors of %s", code(t.Name))
	if t.Errors == nil {
		p.linef("The server does not list them: any code of the contract is possible.")
		return
	}
	listed := slices.DeleteFunc(slices.Clone(p.form.Codes), func(en *contractform.Code) bool { return !slices.Contains(t.Errors, en.Code) })
	if len(listed) > 0 {
		p.table(p.codeRows(listed)...)
	}
	other := slices.DeleteFunc(slices.Clone(t.Errors), func(word string) bool { return p.form.Words[word] != nil })
	if len(other) > 0 {
		p.linef("The contract does not list: %s.", codesText(other))
	}
}

// parameters writes the parameters of an inputSchema.
func (p *pageWriter) parameters(schema json.Value) {
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
