package check

import (
	"bytes"
	"context"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/call/args"
	"github.com/recoursehq/recourse/internal/policy/glob"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// param is a parameter of a tool.
type param struct {
	name     string
	required bool     // and has no default
	types    []string // as the schema lists them; empty: it does not say
	enum     []json.Value
	schema   json.Value
}

// prepare reads the tool's schema.
func (t *listedTool) prepare(budget *args.Budget) {
	t.schema, t.problem = args.Compile(t.InputSchema, budget)
	var s struct {
		Properties json.Value `json:"properties"`
		Required   []string   `json:"required"`
	}
	if json.UnmarshalLenient(t.InputSchema, &s) != nil {
		return // the compiler has said why
	}
	for _, m := range json.MembersOf(s.Properties) {
		t.params = append(t.params, paramOf(m.Name, m.Value, slices.Contains(s.Required, m.Name)))
	}
}

func paramOf(name string, schema json.Value, required bool) param {
	p := param{name: name, required: required && json.Lookup(schema, "/default") == nil, schema: schema}
	var s struct {
		Type json.Value   `json:"type"`
		Enum []json.Value `json:"enum"`
	}
	if json.UnmarshalLenient(schema, &s) != nil {
		return p
	}
	p.enum = s.Enum
	if one, ok := json.TextOf(s.Type); ok {
		p.types = []string{one}
	} else {
		_ = json.UnmarshalLenient(s.Type, &p.types) // a type that is neither is none
	}
	return p
}

// isID reports whether its name says that it identifies something.
func (p *param) isID() bool {
	name := strings.ToLower(p.name)
	for _, end := range []string{"id", "uuid", "key", "slug", "number", "name", "path", "uri", "ref"} {
		if name == end || strings.HasSuffix(name, "_"+end) || strings.HasSuffix(name, "-"+end) {
			return true
		}
	}
	return len(p.name) > 2 && (strings.HasSuffix(p.name, "Id") || strings.HasSuffix(p.name, "ID"))
}

// keyNames are names of idempotency keys, without the signs between words.
var keyNames = []string{
	"idempotencykey", "idempotencytoken", "idempotencyid", "clienttoken", "dedupekey", "deduplicationid", "clientrequestid",
}

// isKey reports whether it is an idempotency key, by its name or its description.
func (p *param) isKey() bool {
	name := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(p.name))
	if slices.Contains(keyNames, name) {
		return true
	}
	return mentions(json.Text(p.schema, "/description"), "idempoten")
}

// believe has the tool count as one that only reads if the user says so.
func (t *listedTool) believe(patterns []string) {
	for _, pattern := range patterns {
		t.believed = t.believed || pattern == t.Name || glob.Match(pattern, t.Name) && !says(t.Annotations.Destructive)
	}
}

// required returns the parameters that the tool requires.
func (t *listedTool) required() (names []string) {
	for i := range t.params {
		if t.params[i].required {
			names = append(names, t.params[i].name)
		}
	}
	return names
}

// formats are texts in the formats of JSON Schema, about things that do not exist.
var formats = map[string]string{
	"uri": "https://" + absentID + ".invalid/", "email": absentID + "@example.invalid", "hostname": absentID + ".invalid",
	"uuid": "00000000-0000-4000-8000-00000000c4ec", "date": "1900-01-01", "date-time": "1900-01-01T00:00:00Z", "time": "00:00:00Z",
}

// plausible returns a value that the parameter's schema allows, as far as that is easy; absent is for texts.
func (p *param) plausible(absent string) json.Value {
	var s struct {
		Const   json.Value   `json:"const"`
		Default json.Value   `json:"default"`
		Example []json.Value `json:"examples"`
		Minimum json.Value   `json:"minimum"`
		Items   json.Value   `json:"items"`
		Fewest  int          `json:"minItems"`
		Format  string       `json:"format"`
	}
	_ = json.UnmarshalLenient(p.schema, &s) // what is not there is empty
	switch {
	case s.Const != nil:
		return s.Const
	case len(p.enum) > 0:
		return p.enum[0]
	case formats[s.Format] != "" && p.takes("string"):
		return json.AppendQuote(nil, formats[s.Format])
	case p.isID() && p.takes("string"):
		return json.AppendQuote(nil, absent)
	case s.Default != nil:
		return s.Default
	case len(s.Example) > 0:
		return s.Example[0]
	}
	for _, kind := range p.types {
		switch kind {
		case "integer", "number":
			if p.isID() {
				return json.Value("2147483646")
			}
			if s.Minimum != nil {
				return s.Minimum
			}
			return json.Value("1")
		case "boolean":
			return json.Value("false")
		case "array":
			item := paramOf("", s.Items, true)
			if s.Fewest == 0 {
				return json.Value("[]")
			}
			return slices.Concat([]byte{'['}, item.plausible(absent), []byte{']'})
		case "object":
			return json.Value("{}")
		}
	}
	return json.AppendQuote(nil, absent)
}

func (p *param) takes(kind string) bool { return len(p.types) == 0 || slices.Contains(p.types, kind) }

// wrong returns a value of a type that the parameter does not take, or nil.
func (p *param) wrong() json.Value {
	if len(p.types) == 0 {
		return nil
	}
	for _, candidate := range []struct {
		kind  string
		value json.Value
	}{{"array", json.Value(`[["recourse-check"]]`)}, {"object", json.Value(`{"recourse-check":true}`)}, {"boolean", json.Value("true")}} {
		if !p.takes(candidate.kind) {
			return candidate.value
		}
	}
	return nil
}

// beyond returns a number that is beyond the parameter's bounds, or nil. Those of what a number can hold are none.
func (p *param) beyond() json.Value {
	const exact = 1 << 52
	if !slices.Contains(p.types, "integer") && !slices.Contains(p.types, "number") {
		return nil
	}
	for _, bound := range []struct {
		name string
		step float64
	}{{"/maximum", 1}, {"/exclusiveMaximum", 1}, {"/minimum", -1}, {"/exclusiveMinimum", -1}} {
		at, err := strconv.ParseFloat(string(json.Lookup(p.schema, json.Pointer(bound.name))), 64)
		if err == nil && math.Abs(at) < exact {
			return strconv.AppendFloat(nil, at+bound.step, 'f', -1, 64)
		}
	}
	return nil
}

// unformed returns a text that is in no format, or nil if the parameter has none.
func (p *param) unformed() json.Value {
	if json.Text(p.schema, "/format") == "" || !slices.Contains(p.types, "string") {
		return nil
	}
	return json.AppendQuote(nil, "recourse check")
}

// forbids reports whether the tool's own schema forbids the arguments.
func (t *listedTool) forbids(arguments json.Value) bool {
	if t.schema == nil {
		return false
	}
	return len(t.schema.Check(context.Background(), arguments)) > 0
}

// allows reports whether the tool's own schema allows the arguments.
func (t *listedTool) allows(arguments json.Value) bool {
	return t.schema != nil && t.schema.Unchecked() == "" && len(t.schema.Check(context.Background(), arguments)) == 0
}

// deep returns a list in a list, and so on.
func deep(levels int) json.Value {
	return json.Value(strings.Repeat("[", levels) + strings.Repeat("]", levels))
}

// long returns a text of that many bytes.
func long(bytesOf int) json.Value {
	return append(append([]byte{'"'}, bytes.Repeat([]byte("x"), bytesOf)...), '"')
}

// blamesAnother reports whether a refusal names an argument that was made up to be right, or its value: a server may stop there.
func blamesAnother(x *exchange) bool {
	const letters = 3 // a shorter name may stand in any sentence
	if strings.Contains(x.said.text, absentID) {
		return true
	}
	for i := range x.step.tool.params {
		name := x.step.tool.params[i].name
		if len(name) < letters || slices.Contains(x.step.wrong, name) {
			continue
		}
		named, err := regexp.MatchString(`(?i)\b`+regexp.QuoteMeta(name)+`\b`, x.said.text)
		if err == nil && named || inWords(x.said.text, name) {
			return true
		}
	}
	return false
}

// description returns what the tool says of the parameter.
func (p *param) description() string {
	return strings.TrimSpace(json.Text(p.schema, "/description"))
}
