package contractdoc

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

const languagePreface = `# Writing a contract

A contract is one YAML file that says how a server fails. It needs no code. A short one, which extends the default contract by one code:

` + "```yaml" + `
form: 1
name: shop
extends: recourse
codes:
- code: sold_out
  kind: conflict
  when: There are no more of them.
  for: {kind: conflict, resource: article}
  hint: Order something else.
` + "```" + `

` + "`recourse contract lint FILE`" + ` checks a file and reports every mistake with its position; ` +
	"`recourse contract show FILE`" + ` prints its
reference page, including what its form cannot express; ` + "`recourse contract gen FILE --lang ts`" + ` prints it as a
TypeScript module. Configurations list the file under ` + "`contracts`" + `.
`

// Language returns the page that documents the form of contract files, in Markdown.
func Language() string {
	p := &pageWriter{}
	p.linef("%s", languagePreface)
	for _, section := range []struct {
		title string
		of    reflect.Type
	}{
		{"The file", reflect.TypeFor[contractform.File]()},
		{"`codes`: an entry", reflect.TypeFor[contractform.CodeFile]()},
		{"`http` of an entry", reflect.TypeFor[contractform.HTTPFile]()},
		{"`rpc` of an entry", reflect.TypeFor[contractform.RPCFile]()},
		{"`reads`: an entry", reflect.TypeFor[contractform.ReadFile]()},
		{"`ranges`: an entry", reflect.TypeFor[contractform.RangeFile]()},
		{"`write`", reflect.TypeFor[contractform.WriteFile]()},
		{"`hints` of `write`", reflect.TypeFor[contractform.HintListFile]()},
		{"`envelope` of `write`", reflect.TypeFor[contractform.EnvelopeFile]()},
		{"`format` of `write`", reflect.TypeFor[contractform.FormatFile]()},
		{"`returns`: an entry", reflect.TypeFor[contractform.ReturnsFile]()},
		{"`session`", reflect.TypeFor[contractform.SessionFile]()},
		{"`retry`", reflect.TypeFor[contractform.RetryFile]()},
		{"`poll`", reflect.TypeFor[contractform.PollFile]()},
		{"`upstream`", reflect.TypeFor[contractform.UpstreamFile]()},
		{"`members`: an entry", reflect.TypeFor[contractform.MemberFile]()},
		{"`verify`: an entry", reflect.TypeFor[contractform.VerifyFile]()},
		{"`expects`: an entry", reflect.TypeFor[contractform.ExpectFile]()},
		{"`landed` of `verify`", reflect.TypeFor[contractform.LandedFile]()},
	} {
		p.keys(section.title, section.of)
	}
	p.selectors()
	p.paths()
	return strings.TrimRight(p.b.String(), "\n") + "\n"
}

// keys documents a mapping of a file.
func (p *pageWriter) keys(title string, of reflect.Type) {
	p.heading(title)
	rows := [][]string{{"Key", "Default", "Meaning"}}
	for f := range of.Fields() {
		if name, options, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" {
			rows = append(rows, []string{code(name), defaultOf(f, options), strictyaml.Comment(of, f.Name)})
		}
	}
	p.table(rows...)
}

func defaultOf(f reflect.StructField, options string) string {
	switch value := f.Tag.Get("default"); {
	case options == "required":
		return "required"
	case value != "":
		return code(value)
	case f.Type.Kind() == reflect.Bool:
		return code("false")
	default:
		return ""
	}
}

// conditionDocs say what the conditions of a selector require.
var conditionDocs = map[string]string{
	"kind":          "The kind.",
	"class":         "The class of the kind.",
	"origin":        "Who failed.",
	"resource":      "The type of the resource.",
	"status":        "The other side's HTTP status: 404, 5xx, or none.",
	"upstream_code": "The other side's own error code.",
	"rule":          "The rule that the first violation breaks, a keyword of JSON Schema.",
	"params":        "Exactly the parameters named in the violations.",
	"has":           "Paths that are not empty.",
	"tool":          "The tool that was called.",
	"at":            "How far the call got.",
	"effect":        "Whether the call took effect.",
	"basis":         "On what the effect rests.",
	"nature":        "Whether anybody says what the tool does. If not, that it writes is an assumption.",
	"retry":         "What must happen before a retry.",
}

// selectors documents the conditions of selectors.
func (p *pageWriter) selectors() {
	p.heading("Selectors")
	p.linef("A selector is a mapping of conditions, all of which must hold; `{}` selects everything. A list of values for one " +
		"condition means any of them, except for `params` and `has`.")
	rows := [][]string{{"Condition", "Holds for", "Values"}}
	for _, c := range contractform.Words().Conditions {
		rows = append(rows, []string{code(c.On), conditionDocs[c.On], codesText(c.Values)})
	}
	p.table(rows...)
}

// paths documents what templates and shapes can name.
func (p *pageWriter) paths() {
	p.heading("Shapes")
	p.linef("A shape is a mapping. Its values are paths, constants after an equals sign (`=true`), mappings of the same form, and " +
		"lists: `{each: PATH, item: SHAPE}`, where the item's paths are relative to each item of the list. Empty members are left " +
		"out. The member `...` inserts the members of `details`. A shape is used for both writing and reading. What a " +
		"server has written in it is edited, not written anew ([trust.md](../trust.md)); where it has to be, members that the shape " +
		"does not have are kept in `details`.")
	p.linef("A list of sources, such as `[upstream.code, {for: {kind: not_found}, is: =NOT_FOUND}]`, means alternatives: the first " +
		"whose selector holds and that is not empty is written. When read, a word of a closed set such as `kind` goes where it " +
		"belongs, and any other value to the first path that can hold it; a constant also sets the kind, resource, effect, retry " +
		"and upstream_code of its selector.")
	p.heading("Templates and paths")
	p.linef("In a template, `{PATH}` is replaced by the value at the path, and `{PATH|TEXT}` by TEXT if the value is empty; literal " +
		"braces are doubled. A value of a body that is a single placeholder keeps its type.")
	p.linef("A path leads into the record's JSON form, such as `violations.0.param` or `upstream.status`. The "+
		"[default contract's page](recourse.md) describes its members: %s. These paths are computed:",
		codesText(contractform.RecordOrder()))
	rows := [][]string{{"Path", "Type", "What it is"}}
	for _, c := range contractform.Words().Computed {
		rows = append(rows, []string{code(c.Path), c.Type, c.Doc})
	}
	p.table(rows...)
	p.linef("%s", fmt.Sprintf("For a record inside another, such as the `error` of an item in `failed`, they follow its path: %s.",
		code("error.retryable")))
}
