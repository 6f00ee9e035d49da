// Package language is what the files of contracts and of families have in common: paths to members of the record,
// texts with placeholders, constants, and reports of mistakes. It stores values in records and takes them out; what a
// code or a form means is not its business.
package language

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/nearest"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A Compiler reads the parts of one file and collects the mistakes in it.
type Compiler struct {
	// Mistakes counts those that were reported.
	Mistakes int
	// ShowsValues says that a path shows the value of an argument.
	ShowsValues bool

	doc *strictyaml.Document
}

// NewCompiler returns one that reports the mistakes in doc.
func NewCompiler(doc *strictyaml.Document) *Compiler { return &Compiler{doc: doc} }

// Mistakef reports a mistake in a value.
func (k *Compiler) Mistakef(at *strictyaml.Node, hint, format string, args ...any) {
	k.Reportf(at.Pos(), hint, format, args...)
}

// Reportf reports a mistake in another place.
func (k *Compiler) Reportf(at strictyaml.Pos, hint, format string, args ...any) {
	k.Mistakes++
	k.doc.Reportf(at, hint, format, args...)
}

// formVersion is the version of the file format.
const formVersion = 1

// Head checks what every file says first: the version of its form, and under key the name of what it describes.
func (k *Compiler) Head(file *strictyaml.Node, form int, key, name, what string) {
	if form != formVersion && form != 0 {
		k.Mistakef(file.Get("form"), "write form: 1", "form %d is not known", form)
	}
	if !isName(name) && name != "" {
		k.Mistakef(file.Get(key), "use lower-case letters, digits, - and _", "%q is not a name for a %s", name, what)
	}
}

func isName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" && s[0] != '-' && s[0] != '_'
}

// OneOf reads a text that must be one of values.
func (k *Compiler) OneOf(n *strictyaml.Node, values ...string) string {
	var text string
	if n.Decode(&text) != nil {
		return ""
	}
	if !slices.Contains(values, text) {
		k.Mistakef(n, Suggest(text, values), "`%s` is not known here", text)
		return ""
	}
	return text
}

// Suggest returns a hint for a text that is none of values.
func Suggest(text string, values []string) string {
	if near, ok := nearest.Of(text, values); ok {
		return "did you mean `" + near + "`?"
	}
	const most = 8
	if more := len(values) - most; more > 2 {
		return fmt.Sprintf("one of %s and %d others", strings.Join(values[:most], ", "), more)
	}
	return "one of " + strings.Join(values, ", ")
}

// Items returns the items of a sequence, or the value itself.
func Items(n *strictyaml.Node) []*strictyaml.Node {
	if n.Kind() != strictyaml.KindSequence {
		return []*strictyaml.Node{n}
	}
	list := make([]*strictyaml.Node, n.Len())
	for i := range list {
		list[i] = n.Item(i)
	}
	return list
}

// JSON turns a YAML value into JSON.
func (k *Compiler) JSON(n *strictyaml.Node) json.Value {
	var v any
	if n.Decode(&v) != nil {
		return json.Value("null")
	}
	raw, err := json.Marshal(v)
	if err != nil {
		k.Mistakef(n, "", "%s", fmt.Errorf("has no JSON form: %w", err))
		return json.Value("null")
	}
	return raw
}

// A Constant is a member of the record with a fixed value.
type Constant struct {
	Path  *Path
	Value json.Value
}

// Store puts constants into the record, or the part of it, that base is.
func Store(list []Constant, base reflect.Value) {
	for _, c := range list {
		c.Path.Set(base, c.Value)
	}
}

// Constants reads values by path.
func (k *Compiler) Constants(n *strictyaml.Node, on reflect.Type) []Constant {
	var list []Constant
	for name, value := range n.All() {
		p, err := CompilePath(name, on)
		if err != nil {
			k.Reportf(n.Key(name), PathHint(name), "%s", err)
			continue
		}
		if words := p.Words(); words != nil {
			k.OneOf(value, words...)
		}
		list = append(list, Constant{p, k.JSON(value)})
	}
	return list
}

// Path reads a path, or returns nil.
func (k *Compiler) Path(n *strictyaml.Node, on reflect.Type) *Path {
	var text string
	if n.Decode(&text) != nil {
		return nil
	}
	p, err := CompilePath(text, on)
	if err != nil {
		k.Mistakef(n, PathHint(text), "%s", err)
		return nil
	}
	k.saw(p)
	return p
}

// saw remembers the path if it shows the value of an argument.
func (k *Compiler) saw(p *Path) {
	const got = "got" // in a violation
	if p.Src == got || strings.HasSuffix(p.Src, "."+got) {
		k.ShowsValues = true
	}
}

// List reads a path to a list of objects, and returns the type of these; nil if there is none.
func (k *Compiler) List(n *strictyaml.Node, on reflect.Type) (*Path, reflect.Type) {
	p := k.Path(n, on)
	if p == nil {
		return nil, nil
	}
	t := on
	for _, st := range p.steps {
		if st.field < 0 || p.Computed != nil {
			t = nil
			break
		}
		t = contractform.Indirect(t.Field(st.field).Type)
	}
	if t == nil || t == contractform.ArgsType || t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Struct {
		k.Mistakef(n, "lists of objects are violations, quotas, succeeded, failed and missing", "%s is not a list of objects", p.Src)
		return nil, nil
	}
	return p, t.Elem()
}

// PathHint suggests what an invalid path may have meant.
func PathHint(src string) string {
	known := slices.Clone(contractform.RecordOrder())
	for name := range computedMembers {
		known = append(known, strings.TrimSuffix(string(name), "."))
	}
	slices.Sort(known)
	for _, list := range []reflect.Type{reflect.TypeFor[recourse.Violation](), reflect.TypeFor[recourse.MissingData]()} {
		known = append(known, contractform.MembersOf(list)...)
	}
	if near, ok := nearest.Of(src, known); ok {
		return "did you mean `" + near + "`?"
	}
	return "paths are those of the record's JSON form, such as violations.0.param"
}

// Template reads a text with placeholders for members of the record.
func (k *Compiler) Template(n *strictyaml.Node) *Template {
	return k.TemplateOf(n, onRecord)
}

// TemplateOf reads a text with placeholders; resolve returns what one of them addresses.
func (k *Compiler) TemplateOf(n *strictyaml.Node, resolve func(name string) (*Path, error)) *Template {
	var text string
	if n.Decode(&text) != nil {
		return &Template{}
	}
	return k.template(n, text, resolve)
}

// OptionalTemplates reads a text with placeholders and optional parts: the first that can be filled in is the one to use. Each begins with
// a text of its own.
func (k *Compiler) OptionalTemplates(n *strictyaml.Node, begin string) []*Template {
	var text string
	if n.Decode(&text) != nil {
		return nil
	}
	variants, err := Variants(text)
	if err != nil {
		k.Mistakef(n, "write [[wait {after}, then ]]: the part is left out if there is no {after}", "%s", err)
	}
	var templates []*Template
	for before := k.Mistakes; len(templates) < len(variants) && k.Mistakes == before; { // each mistake once
		templates = append(templates, k.template(n, begin+variants[len(templates)], onRecord))
	}
	return templates
}

func onRecord(name string) (*Path, error) { return CompilePath(name, contractform.RecordType) }

func (k *Compiler) template(n *strictyaml.Node, text string, resolve func(name string) (*Path, error)) *Template {
	t, err := compileTemplate(text, resolve)
	switch {
	case errors.Is(err, errBraces):
		k.Mistakef(n, "write {path}, and a brace that stands for itself twice", "%s", err)
		return &Template{}
	case err != nil:
		name, _, _ := strings.Cut(err.Error(), " ")
		k.Mistakef(n, PathHint(name), "%s", err)
		return &Template{}
	}
	for _, p := range t.Parts {
		if p.Path != nil {
			k.saw(p.Path)
		}
	}
	return t
}

// Templates reads one template or a list of them.
func (k *Compiler) Templates(n *strictyaml.Node) []*Template {
	var list []*Template
	for _, item := range Items(n) {
		list = append(list, k.Template(item))
	}
	return list
}

// Readable rejects a template whose text would be ambiguous to read.
func (k *Compiler) Readable(n *strictyaml.Node, t *Template) bool {
	for i := 1; i < len(t.Parts); i++ {
		if t.Parts[i].Path != nil && t.Parts[i-1].Path != nil {
			k.Mistakef(n, "put a text between them", "two placeholders side by side cannot be told apart when it is read")
			return false
		}
	}
	return true
}
