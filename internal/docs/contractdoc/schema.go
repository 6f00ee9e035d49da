package contractdoc

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Schema returns a JSON Schema (2020-12) of the contract's object, in structuredContent, in a text of JSON or in the
// contract's own member of the result. If the text of a failure is a line, $defs/text describes that line; $defs/TOOL
// is the object of a tool that returns its failures.
func Schema(c *contract.Contract) []byte {
	d := describe(c)
	var s json.Members
	s.Text("$schema", "https://json-schema.org/draft/2020-12/schema")
	s.Text("title", strings.TrimSpace(d.title()+": a failed call"))
	s.Text("description", c.Doc)
	if d.form.Layout.Shape != nil {
		s = append(s, d.shapeSchema(d.form.Layout.Shape, contractform.RecordType)...)
	} else {
		s = append(s, d.recordSchema()...)
	}
	var defs json.Members
	if line := d.form.Layout.Line; line != nil {
		var text json.Members
		text.Text("type", contractform.TypeString)
		text.Text("pattern", pattern(line))
		defs.Object("text", text)
	}
	d.toolResultSchemas(&defs)
	if len(defs) > 0 {
		s.Object("$defs", defs)
	}
	raw := s.AppendTo(nil)
	if pretty, err := json.AppendIndent(nil, raw, "  "); err == nil {
		raw = pretty
	}
	return append(raw, '\n')
}

// shapeSchema describes an object of the shape: its type, its members, and which of them are required.
func (d described) shapeSchema(sh *contractform.Shape, on reflect.Type) json.Members {
	var s, properties json.Members
	var required []string
	s.Text("type", contractform.TypeObject)
	for _, m := range sh.Members {
		var p json.Members
		switch {
		case m.Constant != nil:
			p.Add("const", m.Constant)
		case m.List != nil:
			var items json.Members
			items = append(items, d.shapeSchema(m.Nested, m.List.Leaf.Elem())...)
			p.Text("type", contractform.TypeArray)
			p.Object("items", items)
		case m.Nested != nil:
			p = d.shapeSchema(m.Nested, on)
		case m.Choices != nil:
			if types := m.ChoiceTypes(); len(types) == 1 && slices.Contains(jsonTypes, types[0]) {
				p.Text("type", types[0])
			}
		default:
			p = d.memberSchema(m.Path)
		}
		p.Text("description", d.form.DocOf(sh, m.Name))
		properties.Object(m.Name, p)
		if m.Required(on) {
			required = append(required, m.Name)
		}
	}
	s.Object("properties", properties)
	s.Texts("required", required)
	return s
}

// memberSchema describes the value that p leads to.
func (d described) memberSchema(p *contractform.Path) json.Members {
	var s json.Members
	switch {
	case p.Computed == "" && (p.IsCode() || strings.HasSuffix(p.Src, "error.code")): // of the record, or of one inside it
		return d.codeSchema()
	case p.Computed != "":
		s.Text("type", p.Computed)
	default:
		s = typeSchema(p.Leaf)
	}
	return s
}

// codeSchema lists the codes and allows others, since clients must expect codes that are added later.
func (d described) codeSchema() json.Members {
	var known, other, s json.Members
	var codes []string
	for _, en := range d.form.Codes {
		if en.InResult() {
			codes = append(codes, en.Code)
		}
	}
	known.Texts("enum", codes)
	other.Text("type", contractform.TypeString)
	other.Text("description", "A code that was added later.")
	list := append([]byte{'['}, known.AppendTo(nil)...)
	list = append(other.AppendTo(append(list, ',')), ']')
	s.Add("anyOf", list)
	return s
}

// recordSchema describes the record's own JSON form.
func (d described) recordSchema() json.Members {
	var v, truncated json.Members
	v.Add("const", json.Value(strconv.Itoa(recourse.Version)))
	truncated.Text("type", contractform.TypeBoolean)
	s := typeSchema(contractform.RecordType)
	for i := range s {
		if s[i].Name != "properties" {
			continue
		}
		properties := json.Members{{Name: "v", Value: v.AppendTo(nil)}}
		for _, m := range json.MembersOf(s[i].Value) {
			if m.Name == "code" {
				codes := d.codeSchema()
				m.Value = codes.AppendTo(nil)
			}
			p := json.MembersOf(m.Value)
			for _, doc := range d.form.Members {
				if doc.Name == m.Name {
					p.Text("description", doc.Doc)
				}
			}
			properties.Object(m.Name, p)
		}
		properties.Object("truncated", truncated)
		s[i].Value = properties.AppendTo(nil)
	}
	s.Texts("required", []string{"v", "kind", "retry"}) // members that remain even if the record was cut to fit
	return s
}

// pattern returns a regular expression, in the common dialect of Go and JavaScript, for the texts that line describes.
func pattern(line *contractform.Line) string {
	var b strings.Builder
	b.WriteByte('^')
	for _, p := range line.Parts {
		switch {
		case p.Path == nil:
			b.WriteString(regexp.QuoteMeta(p.Literal))
		case p.Path.IsCode():
			b.WriteString(`[A-Za-z0-9_.-]+`)
		default:
			b.WriteString(`[\s\S]*`)
		}
	}
	b.WriteString(`$`)
	return b.String()
}

// typeSchema describes the JSON form of a type of the record.
func typeSchema(t reflect.Type) json.Members {
	var s json.Members
	t = contractform.Indirect(t)
	switch {
	case t == contractform.RawType:
	case t == contractform.ArgsType || t.Kind() == reflect.Map:
		s.Text("type", contractform.TypeObject)
	case t == contractform.TimeType:
		s.Text("type", contractform.TypeString)
		s.Text("format", "date-time")
	case t.Kind() == reflect.String:
		s.Text("type", contractform.TypeString)
		s.Texts("enum", contractform.WordsOf(t))
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		s.Text("type", contractform.TypeInteger)
	case t.Kind() == reflect.Slice:
		items := typeSchema(t.Elem())
		s.Text("type", contractform.TypeArray)
		s.Object("items", items)
	case t.Kind() == reflect.Struct:
		var properties json.Members
		for _, name := range contractform.MembersOf(t) {
			f, _ := contractform.FieldNamed(t, name)
			if contractform.Indirect(f.Type) == contractform.RecordType { // a record inside a record
				properties.Object(name, json.Members{{Name: "$ref", Value: json.Value(`"#"`)}})
				continue
			}
			properties.Object(name, typeSchema(f.Type))
		}
		s.Text("type", contractform.TypeObject)
		s.Object("properties", properties)
	}
	return s
}

// toolResultSchemas adds the schema of the object of each tool that returns its failures.
func (d described) toolResultSchemas(defs *json.Members) {
	for _, r := range d.form.ToolResults {
		schema := d.shapeSchema(r.Layout.Shape, contractform.RecordType)
		for _, tool := range r.Tools {
			defs.Object(tool, schema)
		}
	}
}

// jsonTypes are the types of JSON Schema.
var jsonTypes = []string{
	contractform.TypeString, contractform.TypeNumber, contractform.TypeInteger, contractform.TypeBoolean, contractform.TypeObject,
	contractform.TypeArray,
}
