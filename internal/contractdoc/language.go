package contractdoc

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/recoursehq/recourse/internal/contractform"
)

const languagePreface = `# Writing a contract

A contract is one YAML file that says how a server fails, and no code. A short one, which keeps everything of the default
and adds a code:

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

` + "`recourse contract lint FILE`" + ` checks a file and reports every mistake with its place; ` +
	"`recourse contract show FILE`" + ` prints the
contract's reference page, with what its form does not carry; ` + "`recourse contract gen FILE --lang ts`" + ` prints it as a
module of TypeScript. Configurations name the file under ` + "`contracts`" + `.
`

// Language returns the page that documents the form of contract files, in Markdown.
func Language() string {
	p := &page{}
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
		{"`landed` of `verify`", reflect.TypeFor[contractform.LandedFile]()},
	} {
		p.keys(section.title, section.of)
	}
	p.selectors()
	p.paths()
	return strings.TrimRight(p.b.String(), "\n") + "\n"
}

// keys documents a mapping of a file.
func (p *page) keys(title string, of reflect.Type) {
	p.heading(title)
	rows := [][]string{{"Key", "Default", "Meaning"}}
	for f := range of.Fields() {
		if name, options, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" {
			rows = append(rows, []string{code(name), defaultOf(f, options), marked(f.Tag.Get("doc"))})
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

// quotedWord is a word in a doc tag, where a backtick cannot stand.
var quotedWord = regexp.MustCompile(`(^|[ (])'([^']+)'`)

func marked(doc string) string { return quotedWord.ReplaceAllString(doc, "$1`$2`") }

// conditionDocs say what the conditions of a selector ask for.
var conditionDocs = map[string]string{
	"kind":          "The kind.",
	"class":         "The class of the kind.",
	"origin":        "Who failed.",
	"resource":      "The type of the resource that it is about.",
	"status":        "The HTTP status that the other side answered with: 404, 5xx, or none.",
	"upstream_code": "The other side's own error code.",
	"rule":          "The rule that the first violation breaks, a keyword of JSON Schema.",
	"params":        "The parameters that the violations name: these, and no others.",
	"has":           "Paths that lead to something.",
	"tool":          "The tool that was called.",
	"at":            "Where the call stood.",
	"effect":        "Whether the call took effect.",
	"retry":         "What has to come before a repetition.",
}

// selectors documents them.
func (p *page) selectors() {
	p.heading("Selectors")
	p.linef("A selector is a mapping of conditions, all of which have to hold; `{}` selects everything. Several values of one " +
		"condition, in a list, are alternatives, except for `params` and `has`.")
	rows := [][]string{{"Condition", "Holds for", "Values"}}
	for _, c := range contractform.Words().Conditions {
		rows = append(rows, []string{code(c.On), conditionDocs[c.On], codesText(c.Values)})
	}
	p.table(rows...)
}

// paths documents what templates and shapes can name.
func (p *page) paths() {
	p.heading("Shapes")
	p.linef("A shape is a mapping. Its values are paths, constants after an equals sign (`=true`), mappings of the same form, and " +
		"lists: `{each: PATH, item: SHAPE}`, where the paths of the item start at each item of the list. Members that come out " +
		"empty are left out. The member `...` places the members of `details` beside the others. What a shape writes is also " +
		"how it is read.")
	p.linef("A list of sources, such as `[upstream.code, {for: {kind: not_found}, is: =NOT_FOUND}]`, is one of alternatives: the first " +
		"is written whose selector holds and that is not empty. Read back, a word of a closed set such as `kind` goes where it " +
		"belongs, another value to the first path that can hold it; a constant adds what its selector says of kind, resource, " +
		"effect, retry and upstream_code.")
	p.heading("Templates and paths")
	p.linef("In a template `{PATH}` is filled in, and `{PATH|TEXT}` stands for TEXT where the path is empty; braces that stand " +
		"for themselves are doubled. Where a value of a body is one placeholder and nothing else, it keeps its type.")
	p.linef("A path is one into the record's JSON form, such as `violations.0.param` or `upstream.status`, which "+
		"[the reference page of the default contract](recourse.md) describes: %s. These are computed:",
		codesText(contractform.RecordOrder()))
	rows := [][]string{{"Path", "Type", "What it is"}}
	for _, c := range contractform.Words().Computed {
		rows = append(rows, []string{code(c.Path), c.Type, c.Doc})
	}
	p.table(rows...)
	p.linef("%s", fmt.Sprintf("Of a record inside another, such as the `error` of an item in `failed`, they are named behind it: %s.",
		code("error.retryable")))
}
