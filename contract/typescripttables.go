package contract

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/json"
)

// The contract as the tables of a TypeScript module, whose types stand in
// typescript/types.ts.

// typescriptCodes returns the entries.
func (c *Contract) typescriptCodes() json.Value {
	return listOf(c.codes, func(en *entry) json.Value {
		var m memberList
		m.text("code", en.code)
		m.text("name", en.name)
		m.text("kind", string(en.kind))
		m.text("group", en.group)
		m.text("when", en.when)
		m.add("for", listOf(en.selectors, selector.table))
		m.list("reads", en.reads)
		m.some("set", constantsTable(en.set))
		m.add("retryable", en.retry.table())
		if en.wait > 0 {
			m.number("waitMs", int(en.wait.Milliseconds()))
		}
		m.some("message", listOf(en.message, (*template).table))
		m.some("hint", listOf(en.hints, alternative.table))
		if en.http != nil {
			m.add("http", en.http.table())
		}
		if en.rpc != nil {
			var rpc memberList
			rpc.number("code", en.rpc.code)
			rpc.add("messages", listOf(en.rpc.messages, (*template).table))
			if en.rpc.data != nil {
				rpc.add("data", en.rpc.data.table())
			}
			m.object("rpc", rpc)
		}
		m.text("otherwise", en.otherwise)
		return m.appendTo(nil)
	})
}

// typescriptContract returns what is not of a single code.
func (c *Contract) typescriptContract() memberList {
	var m memberList
	m.text("name", c.Name)
	m.text("unknownTool", c.UnknownTool)
	m.text("literals", orText(c.literals, literalsJSON))
	m.flag("showsValues", c.showsValues)
	m.text("default", c.fallback.code)
	m.add("layout", c.layout.table())
	m.add("returns", listOf(c.returned, func(r returned) json.Value {
		var one memberList
		one.list("tools", r.tools)
		one.add("layout", r.layout.table())
		return one.appendTo(nil)
	}))
	if c.question != nil {
		m.add("question", c.question.table())
	}
	m.add("reads", listOf(c.reads, func(r reads) json.Value {
		var one memberList
		if r.text != nil {
			one.text("text", r.text.src)
		}
		if r.shape != nil {
			one.add("shape", r.shape.table())
		}
		one.some("set", constantsTable(r.set))
		return one.appendTo(nil)
	}))
	m.add("ranges", listOf(c.ranges, func(r codeRange) json.Value {
		var one memberList
		one.number("from", r.from)
		one.number("to", r.to)
		one.text("kind", string(r.kind))
		one.text("name", r.name)
		return one.appendTo(nil)
	}))
	if c.silence != nil {
		m.add("silence", json.Value(strconv.AppendBool(nil, *c.silence)))
	}
	var verify memberList
	for _, tool := range slices.Sorted(maps.Keys(c.verify)) {
		verify.object(tool, c.verify[tool].table())
	}
	m.object("verify", verify)
	m.add("hints", listOf(c.hints, alternative.table))
	return m
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// listOf returns a list with what one makes of each item.
func listOf[T any](items []T, one func(T) json.Value) json.Value {
	list := []byte{'['}
	for i, item := range items {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, one(item)...)
	}
	return append(list, ']')
}

// number appends a member that is a whole number.
func (l *memberList) number(name string, n int) { l.add(name, json.Value(strconv.Itoa(n))) }

// flag appends a member that is a boolean.
func (l *memberList) flag(name string, b bool) { l.add(name, strconv.AppendBool(nil, b)) }

// some appends a member that is a list or an object, unless it is empty.
func (l *memberList) some(name string, value json.Value) {
	if len(value) > len("[]") {
		l.add(name, value)
	}
}

func (t *template) table() json.Value { return json.AppendQuote(nil, t.src) }

func (sel selector) table() json.Value {
	var m memberList
	for _, c := range sel {
		m.add(c.on, quotedList(c.values))
	}
	return m.appendTo(nil)
}

func (a alternative) table() json.Value {
	var m memberList
	if len(a.when) > 0 {
		m.add("for", a.when.table())
	}
	m.text("text", a.text.src)
	m.list("tools", a.tools)
	return m.appendTo(nil)
}

func constantsTable(list []constant) json.Value {
	var m memberList
	for _, k := range list {
		m.add(k.path.src, k.value)
	}
	return m.appendTo(nil)
}

func (r retryable) table() json.Value {
	switch r.mode {
	case always:
		return json.Value("true")
	case never:
		return json.Value("false")
	case byStatus:
		return quotedList(r.status)
	case stated:
		return json.Value(`"stated"`)
	default:
		return json.Value(`"error"`)
	}
}

func (v verifyRule) table() memberList {
	var m memberList
	m.text("call", v.call)
	m.add("args", listOf(v.args, func(a verifyArg) json.Value {
		var arg memberList
		arg.text("name", a.name)
		arg.text("pointer", a.pointer)
		if a.list {
			arg.flag("list", true)
		}
		if a.pointer == "" {
			arg.add("is", a.value)
		}
		return arg.appendTo(nil)
	}))
	m.text("lookAt", v.lookAt)
	return m
}

func (l *layout) table() json.Value {
	var m memberList
	if l.shape != nil {
		m.add("shape", l.shape.table())
	}
	switch text := l.text.(type) {
	case textCodec:
		m.text("line", text.line.src)
		if text.hints.before != "" {
			var hints memberList
			hints.text("before", text.hints.before)
			hints.text("between", text.hints.between)
			m.object("hints", hints)
		}
		if text.envelope.shape != nil {
			var envelope memberList
			envelope.text("mark", text.envelope.mark)
			envelope.add("shape", text.envelope.shape.table())
			m.object("envelope", envelope)
		}
	case jsonCodec:
		if text.indent != "" {
			m.number("indent", len(text.indent))
		}
	}
	if l.human != nil {
		m.text("human", l.human.src)
	}
	if l.format.argument != "" {
		var format memberList
		format.text("argument", l.format.argument)
		format.text("default", l.format.fallback)
		m.object("format", format)
	}
	if l.structured {
		m.flag("structured", true)
	}
	m.text("result", l.result)
	if l.isError {
		m.flag("isError", true)
	}
	if l.mimeTypes {
		m.flag("mimeTypes", true)
	}
	return m.appendTo(nil)
}

func (sh *shape) table() json.Value {
	var m memberList
	for i := range sh.members {
		m.add(sh.members[i].name, sh.members[i].table())
	}
	if sh.rest != nil {
		m.text(restMember, sh.rest.src)
	}
	return m.appendTo(nil)
}

func (m *shapeMember) table() json.Value {
	var source memberList
	switch {
	case m.constant != nil:
		source.add("is", m.constant)
	case m.list != nil:
		source.text("each", m.list.src)
		source.add("item", m.nested.table())
	case m.nested != nil:
		source.add("shape", m.nested.table())
	case m.choices != nil:
		source.add("oneOf", listOf(m.choices, func(c choice) json.Value { return c.table() }))
	default:
		return json.AppendQuote(nil, m.path.src)
	}
	return source.appendTo(nil)
}

func (c *choice) table() json.Value {
	var m memberList
	if len(c.when) > 0 {
		m.add("for", c.when.table())
	}
	if c.constant != nil {
		m.add("is", c.constant)
	} else {
		m.text("path", c.path.src)
	}
	return m.appendTo(nil)
}

func (f *httpForm) table() json.Value {
	var m, headers memberList
	m.number("status", f.status)
	for _, h := range f.headers {
		headers.text(h.name, h.value.src)
	}
	m.some("headers", headers.appendTo(nil))
	m.text("type", f.media)
	if f.body != nil {
		m.add("body", f.body.table())
	}
	return m.appendTo(nil)
}

// table writes a body as JSON with templates for texts.
func (b *body) table() json.Value {
	switch {
	case b.shape:
		return json.Value(`"{shape}"`)
	case b.text != nil:
		return b.text.table()
	case b.list != nil:
		return listOf(b.list, (*body).table)
	case b.object != nil:
		var m memberList
		for _, member := range b.object {
			m.add(member.name, member.value.table())
		}
		return m.appendTo(nil)
	case b.constant.Kind() == '"':
		return json.Value(strings.NewReplacer("{", "{{", "}", "}}").Replace(string(b.constant)))
	default:
		return b.constant
	}
}

// typescriptWidth is how long a line of a table may be.
const typescriptWidth = 120

// typescriptValue writes JSON as TypeScript: names without quotes where they need
// none, and each value on one line where it fits there.
func typescriptValue(raw json.Value, depth int) string {
	if line := typescriptLine(raw); len(line)+2*depth <= typescriptWidth && depth > 0 {
		return line
	}
	var items []string
	opening, closing := "[", "]"
	switch raw.Kind() {
	case '{':
		opening, closing = "{", "}"
		for _, m := range membersOf(raw) {
			items = append(items, typescriptName(m.name)+": "+typescriptValue(m.value, depth+1))
		}
	case '[':
		for _, item := range elementsOf(raw) {
			items = append(items, typescriptValue(item, depth+1))
		}
	default:
		return string(raw)
	}
	indent := strings.Repeat("  ", depth)
	return opening + "\n" + indent + "  " + strings.Join(items, ",\n"+indent+"  ") + ",\n" + indent + closing
}

func typescriptLine(raw json.Value) string {
	var items []string
	switch raw.Kind() {
	case '{':
		for _, m := range membersOf(raw) {
			items = append(items, typescriptName(m.name)+": "+typescriptLine(m.value))
		}
		if len(items) == 0 {
			return "{}"
		}
		return "{ " + strings.Join(items, ", ") + " }"
	case '[':
		for _, item := range elementsOf(raw) {
			items = append(items, typescriptLine(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	default:
		return string(raw)
	}
}

func elementsOf(list json.Value) []json.Value {
	var items []json.Value
	if json.UnmarshalLenient(list, &items) != nil {
		return nil
	}
	return items
}

// bareName matches the names that need no quotes.
var bareName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// typescriptName returns a member's name as it stands in an object: `__proto__`, too,
// has to be a member like any other.
func typescriptName(name string) string {
	quoted := string(json.AppendQuote(nil, name))
	if name == "__proto__" {
		return "[" + quoted + "]"
	}
	if bareName.MatchString(name) {
		return name
	}
	return quoted
}
