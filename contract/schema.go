package contract

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// Schema returns a JSON Schema (2020-12) of the contract's object: what stands in
// structuredContent, in a text of JSON or in the contract's own member of the
// result. Where the text of a failure is a line, $defs/text describes that line;
// $defs/TOOL is the object of a tool that returns its failures.
func (c *Contract) Schema() []byte {
	var s memberList
	s.text("$schema", "https://json-schema.org/draft/2020-12/schema")
	s.text("title", strings.TrimSpace(c.titleOrName()+": a failed call"))
	s.text("description", c.Doc)
	if c.layout.shape != nil {
		s = append(s, c.shapeSchema(c.layout.shape, recordType)...)
	} else {
		s = append(s, c.recordSchema()...)
	}
	var defs memberList
	if line, ok := c.layout.text.(textCodec); ok {
		var text memberList
		text.text("type", typeString)
		text.text("pattern", line.pattern())
		defs.object("text", text)
	}
	if c.returnedSchema(&defs); len(defs) > 0 {
		s.object("$defs", defs)
	}
	raw := s.appendTo(nil)
	if pretty, err := json.AppendIndent(nil, raw, "  "); err == nil {
		raw = pretty
	}
	return append(raw, '\n')
}

func (c *Contract) titleOrName() string {
	if c.Title == "" {
		return c.Name
	}
	return c.Title
}

// add appends a member with that value.
func (l *memberList) add(name string, value json.Value) { *l = append(*l, member{name, value}) }

// text appends a member that is a text, unless it is empty.
func (l *memberList) text(name, text string) {
	if text != "" {
		l.add(name, json.AppendQuote(nil, text))
	}
}

// object appends a member that is an object.
func (l *memberList) object(name string, members memberList) { l.add(name, members.appendTo(nil)) }

// list appends a member that is a list of texts, unless it is empty.
func (l *memberList) list(name string, texts []string) {
	if len(texts) > 0 {
		l.add(name, quotedList(texts))
	}
}

func quotedList(texts []string) json.Value {
	list := []byte{'['}
	for i, text := range texts {
		if i > 0 {
			list = append(list, ',')
		}
		list = json.AppendQuote(list, text)
	}
	return append(list, ']')
}

// appendTo writes l as an object.
func (l *memberList) appendTo(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, '{')
	for _, m := range *l {
		dst = appendMember(dst, start, m.name, func(dst []byte) []byte { return append(dst, m.value...) })
	}
	return append(dst, '}')
}

// shapeSchema describes an object of the shape: its type, members, and which of
// them are always there.
func (c *Contract) shapeSchema(sh *shape, on reflect.Type) memberList {
	var s, properties memberList
	var required []string
	s.text("type", typeObject)
	for _, m := range sh.members {
		var p memberList
		switch {
		case m.constant != nil:
			p.add("const", m.constant)
		case m.list != nil:
			var items memberList
			items = append(items, c.shapeSchema(m.nested, m.list.leaf.Elem())...)
			p.text("type", typeArray)
			p.object("items", items)
		case m.nested != nil:
			p = c.shapeSchema(m.nested, on)
		case m.choices != nil:
			if types := typesOf(m.choices); len(types) == 1 && slices.Contains(jsonTypes, types[0]) {
				p.text("type", types[0])
			}
		default:
			p = c.memberSchema(m.path)
		}
		p.text("description", c.docOf(sh, m.name))
		properties.object(m.name, p)
		if m.constant != nil || m.path != nil && on == recordType && alwaysThere[m.path.src] {
			required = append(required, m.name)
		}
	}
	s.object("properties", properties)
	s.list("required", required)
	return s
}

// alwaysThere are the paths that are never empty in what is written.
var alwaysThere = map[string]bool{
	"kind": true, "code": true, "contract": true, memberMessage: true, "retryable": true, "retry": true,
}

func (c *Contract) docOf(sh *shape, name string) string {
	if sh != c.layout.shape {
		return ""
	}
	for _, m := range c.members {
		if m.Name == name {
			return m.Doc
		}
	}
	return ""
}

// memberSchema describes the value that p leads to.
func (c *Contract) memberSchema(p *path) memberList {
	var s memberList
	switch {
	case p.special == nil && (p.isCode() || strings.HasSuffix(p.src, "error.code")): // of the record, or of one in it
		return c.codeSchema()
	case p.special != nil:
		s.text("type", p.special.kind)
	default:
		s = typeSchema(p.leaf)
	}
	return s
}

// codeSchema lists the codes, and leaves room for others: a client has to expect
// codes that are added later.
func (c *Contract) codeSchema() memberList {
	var known, other, s memberList
	var codes []string
	for _, en := range c.codes {
		if en.inResult() {
			codes = append(codes, en.code)
		}
	}
	known.list("enum", codes)
	other.text("type", typeString)
	other.text("description", "A code that was added later.")
	list := append([]byte{'['}, known.appendTo(nil)...)
	list = append(other.appendTo(append(list, ',')), ']')
	s.add("anyOf", list)
	return s
}

// inResult reports whether the code can stand in a tool result.
func (en *entry) inResult() bool { return en.open == nil && en.otherwise == "" && en.rpc == nil }

// recordSchema describes the record's own JSON form.
func (c *Contract) recordSchema() memberList {
	var v, truncated memberList
	v.add("const", json.Value(strconv.Itoa(recourse.Version)))
	truncated.text("type", typeBoolean)
	s := typeSchema(recordType)
	for i := range s {
		if s[i].name != "properties" {
			continue
		}
		properties := memberList{{"v", v.appendTo(nil)}}
		for _, m := range membersOf(s[i].value) {
			if m.name == "code" {
				codes := c.codeSchema()
				m.value = codes.appendTo(nil)
			}
			p := membersOf(m.value)
			for _, doc := range c.members {
				if doc.Name == m.name {
					p.text("description", doc.Doc)
				}
			}
			properties.object(m.name, p)
		}
		properties.object("truncated", truncated)
		s[i].value = properties.appendTo(nil)
	}
	s.list("required", []string{"v", "kind", "retry"}) // what even a record has that was cut to fit
	return s
}

// pattern returns a regular expression, of the dialect that Go and JavaScript share,
// for the text that t writes.
func (t textCodec) pattern() string {
	var b strings.Builder
	b.WriteByte('^')
	for _, p := range t.line.parts {
		switch {
		case p.path == nil:
			b.WriteString(regexp.QuoteMeta(p.literal))
		case p.path.isCode():
			b.WriteString(`[A-Za-z0-9_.-]+`)
		default:
			b.WriteString(`[\s\S]*`)
		}
	}
	b.WriteString(`$`)
	return b.String()
}
