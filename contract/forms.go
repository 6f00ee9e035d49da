package contract

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// An httpForm is a code's whole HTTP answer.
type httpForm struct {
	status  int
	headers []header
	media   string // content type; empty: no body
	body    *body
}

type header struct {
	name  string // as written in the contract
	value *language.Template
}

// An rpcForm is a code's JSON-RPC error.
type rpcForm struct {
	code     int
	messages []*language.Template // the first that can be filled in is written; all are read
	data     *body
}

// answer writes the message and the data of the JSON-RPC error. One in the contract's own form is edited.
func (f *rpcForm) answer(s *subject) (message string, data []byte) {
	original := s.call.in(s.c, SurfaceRPC)
	message = f.message(s)
	if string(json.Lookup(original, "/code")) != strconv.Itoa(f.code) {
		original = nil
	} else if said, ok := json.TextOf(json.Lookup(original, "/message")); ok {
		message = said
	}
	data = json.Lookup(original, "/data")
	switch {
	case f.data == nil:
	case len(data) > 0:
		data = f.data.edit(data, s.inForm())
	default:
		data = f.data.append(nil, s.inForm())
	}
	return message, data
}

// message writes the message of the JSON-RPC error.
func (f *rpcForm) message(s *subject) string {
	for _, t := range f.messages {
		if text, ok := s.render(t); ok {
			return text
		}
	}
	return s.message()
}

// says reports whether data has a member that f knows.
func (f *rpcForm) says(data json.Value) bool {
	if f.data == nil || f.data.object == nil {
		return true
	}
	return slices.ContainsFunc(json.MembersOf(data), func(m json.Member) bool {
		return slices.ContainsFunc(f.data.object, func(known bodyMember) bool { return known.name == m.Name })
	})
}

// A body is a JSON value with placeholders. Exactly one of its sources is set.
type body struct {
	constant json.Value
	text     *language.Template
	object   []bodyMember
	list     []*body
	shape    bool // the contract's own object, as in a tool result
}

type bodyMember struct {
	name  string
	value *body
}

// append writes b, or nothing if it is empty.
func (b *body) append(dst []byte, s *subject) []byte {
	switch {
	case b.constant != nil:
		return append(dst, b.constant...)
	case b.shape:
		return s.inResult().appendShape(dst)
	case b.text != nil:
		if p := b.text.Only(); p != nil {
			if v := s.value(p, s.base()); v.IsValid() {
				return appendValue(dst, v)
			}
			return dst
		}
		if text, ok := s.render(b.text); ok {
			return json.AppendQuote(dst, text)
		}
		return dst
	case b.list != nil:
		dst = append(dst, '[')
		for _, item := range b.list {
			before := len(dst)
			if before > 0 && dst[before-1] != '[' {
				dst = append(dst, ',')
			}
			value := len(dst)
			if dst = item.append(dst, s); len(dst) == value {
				dst = dst[:before]
			}
		}
		return append(dst, ']')
	}
	open := len(dst)
	dst = append(dst, '{')
	for _, m := range b.object {
		dst = appendMember(dst, open, m.name, func(dst []byte) []byte { return m.value.append(dst, s) })
	}
	if open > 0 && len(dst) == open+1 && len(b.object) > 0 { // an object whose members are all empty
		return dst[:open]
	}
	return append(dst, '}')
}

// read reports whether raw could have been written by b, and stores its values in d. Members of b may be
// missing, since empty ones are left out.
func (b *body) read(c *Contract, raw json.Value, d *draft) bool {
	switch {
	case b.constant != nil:
		return bytes.Equal(json.Compact(raw), json.Compact(b.constant))
	case b.shape:
		return c.readObject(json.NodeOf(raw), d)
	case b.text != nil:
		if p := b.path(); p != nil {
			p.Set(d.base(), raw)
			return true
		}
		text, ok := json.TextOf(raw)
		return ok && b.text.Match(text, func(p *language.Path, text string) { p.SetText(d.base(), text) })
	case b.list != nil:
		var items []json.Value
		if json.UnmarshalLenient(raw, &items) != nil || len(items) > len(b.list) {
			return false
		}
		for i, item := range items {
			if !b.list[i].read(c, item, d) {
				return false
			}
		}
		return true
	}
	return b.readObject(c, raw, d)
}

// readObject reads an object that b may have written. What b has no place for is kept.
func (b *body) readObject(c *Contract, raw json.Value, d *draft) bool {
	var members map[string]json.Value
	if raw.Kind() != '{' || json.UnmarshalLenient(raw, &members) != nil {
		return false
	}
	stranger, known := false, false
	others := maps.Clone(members)
	for _, m := range b.object {
		value, ok := members[m.name]
		if !ok {
			if m.value.constant != nil {
				return false
			}
			continue
		}
		if p := m.value.path(); p != nil && !p.Set(d.base(), value) {
			continue // of another type
		}
		switch {
		case m.value.read(c, value, d):
			known = true
			delete(others, m.name)
		case m.value.shape: // something else of that name
			stranger = true
		default:
			return false
		}
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		keepDetail(d.e, name, others[name])
	}
	return known || !stranger
}

// path returns the path of a body that is one placeholder, or nil.
func (b *body) path() *language.Path {
	if b.text == nil {
		return nil
	}
	return b.text.Only()
}

// edit returns a value that b may have written with what the caller has to do next, and the URL of the call, as s says
// them.
func (b *body) edit(raw json.Value, s *subject) json.Value {
	switch {
	case b.shape:
		inner := s.inResult()
		if shape := inner.layout().shape; shape != nil && shape.fits(json.NodeOf(raw)) {
			return shape.edit(raw, inner, inner.base())
		}
	case b.text != nil:
		if p := b.text.Only(); p != nil && p.Computed != nil && p.Computed.Name == language.CallURL {
			return b.append(nil, s)
		}
	case b.object != nil:
		var more json.Members
		for _, m := range b.object {
			if m.value.shape {
				more.Add(m.name, m.value.append(nil, s))
			}
		}
		return json.Edit(raw, func(name string, value json.Value) json.Value {
			if i := slices.IndexFunc(b.object, func(m bodyMember) bool { return m.name == name }); i >= 0 {
				return b.object[i].value.edit(value, s)
			}
			return value
		}, more)
	}
	return raw
}

// fits reports whether a body could have been written by f.
func (f *httpForm) fits(c *Contract, raw json.Value) bool {
	return f.body != nil && f.body.read(c, raw, newDraft())
}

// answer writes the HTTP form for s.
func (f *httpForm) answer(s *subject) (http.Header, []byte) {
	h := http.Header{}
	for _, header := range f.headers {
		if value, ok := s.render(header.value); ok {
			h.Set(header.name, clean.Line(value))
		}
	}
	if f.body == nil {
		h.Set("Content-Length", "0")
		return h, nil
	}
	h.Set("Content-Type", f.media)
	return h, f.body.append(nil, s)
}

// read reports whether an HTTP answer could have been written by f, and stores its values in d.
func (f *httpForm) read(c *Contract, status int, h http.Header, raw []byte, d *draft) bool {
	if status != f.status || (f.body == nil) != (len(raw) == 0) {
		return false
	}
	if f.body != nil && !f.body.read(c, raw, d) {
		return false
	}
	for _, header := range f.headers {
		header.value.Match(strings.TrimSpace(h.Get(header.name)), func(p *language.Path, text string) { p.SetText(d.base(), text) })
	}
	slices.SortStableFunc(d.e.Quotas, binding)
	return true
}

// binding sorts quotas: first those that are used up, and among these the one with the latest reset.
func binding(a, b recourse.Quota) int {
	switch {
	case (a.Remaining <= 0) != (b.Remaining <= 0):
		return int(min(max(a.Remaining, 0), 1) - min(max(b.Remaining, 0), 1))
	case a.Remaining <= 0:
		return b.ResetAt.Compare(a.ResetAt)
	default:
		return 0
	}
}

func (k *compiler) http(f *contractform.HTTPFile) *httpForm {
	form := &httpForm{status: f.Status, media: f.Type}
	if f.Status < http.StatusBadRequest || f.Status > 599 {
		k.Mistakef(f.Node.Get("status"), "a failure is answered with 400 to 599", "status %d is not an error status", f.Status)
	}
	if (f.Body == nil) != (f.Type == "") {
		k.Mistakef(f.Node, "leave out both for an empty body", "`type` and `body` go together")
	}
	for _, h := range f.Headers {
		t := k.Template(h.Value)
		k.Readable(h.Value, t)
		form.headers = append(form.headers, header{h.Key, t})
	}
	if f.Body != nil {
		form.body = k.body(f.Body)
	}
	return form
}

// body reads a JSON value with placeholders.
func (k *compiler) body(n *strictyaml.Node) *body {
	b := &body{}
	switch n.Kind() {
	case strictyaml.KindMapping:
		b.object = []bodyMember{}
		for name, value := range n.All() {
			b.object = append(b.object, bodyMember{name, k.body(value)})
		}
	case strictyaml.KindSequence:
		b.list = []*body{}
		for _, item := range language.Items(n) {
			b.list = append(b.list, k.body(item))
		}
	case strictyaml.KindString:
		if n.Text() == "{shape}" {
			b.shape = true
			break
		}
		t := k.Template(n)
		b.text = t
		if t.Constant() {
			b.text, b.constant = nil, json.AppendQuote(nil, t.Text())
		}
	default:
		b.constant = k.JSON(n)
	}
	return b
}

// A reads is a form of failures that is read but never written: a whole text, or an object.
type reads struct {
	text  *language.Template
	shape *shape
	set   []language.Constant
}

// otherForms compiles the form of questions, and the forms that the contract only reads.
func (k *compiler) otherForms() {
	if k.file.Question != nil {
		k.c.question = k.shape(k.file.Question, contractform.QuestionType)
	}
	if k.file.Reads != nil {
		k.c.reads = nil
	}
	for _, f := range k.file.Reads {
		r := reads{set: k.Constants(f.Set, contractform.RecordType)}
		switch {
		case (f.Text == nil) == (f.Shape == nil):
			k.Mistakef(f.Node, `for example {text: "Timed out after {details.ms} ms", set: {kind: timeout}}`,
				"give either `text` or `shape`")
			continue
		case f.Text != nil:
			r.text = k.Template(f.Text)
			k.Readable(f.Text, r.text)
		default:
			r.shape = k.shape(f.Shape, contractform.RecordType)
		}
		k.c.reads = append(k.c.reads, r)
	}
	if k.file.Ranges != nil {
		k.c.ranges = nil
	}
	for _, f := range k.file.Ranges {
		r := contractform.Range{From: f.From, To: f.To, Kind: recourse.Kind(k.OneOf(f.Kind, contractform.Kinds...)), Name: f.Name}
		switch {
		case r.From > r.To:
			k.Mistakef(f.Node, "give the lower one first", "from %d to %d there is no code", r.From, r.To)
		case slices.ContainsFunc(k.c.ranges, func(other contractform.Range) bool { return r.From <= other.To && other.From <= r.To }):
			k.Mistakef(f.Node, "let ranges not overlap", "codes from %d to %d are in a range already", r.From, r.To)
		}
		k.c.ranges = append(k.c.ranges, r)
	}
}

// readOtherObject reads an object in a form that c only reads. If the server is known to follow c, any such
// form is accepted, otherwise only an object of c with additional members.
func (c *Contract) readOtherObject(object *json.Node, known bool, d *draft) bool {
	if len(c.reads) == 0 || !object.IsObject() {
		return false
	}
	if own := c.layout.shape; !known && (own == nil || !own.marked() || !own.fits(object)) {
		return false
	}
	for i := range c.reads {
		if r := &c.reads[i]; r.shape != nil && r.shape.isWhole(object) {
			language.Store(r.set, d.base())
			r.shape.read(object, d.base(), d)
			d.foreign = true
			return true
		}
	}
	return false
}

// readOtherText reads a whole text in a form that c only reads.
func (c *Contract) readOtherText(text string, d *draft) bool {
	for i := range c.reads {
		r := &c.reads[i]
		if r.text == nil || !r.text.Match(text, func(*language.Path, string) {}) {
			continue
		}
		d.foreign = true
		d.e.Message = clean.Message(text) // a template may frame it
		language.Store(r.set, d.base())
		return r.text.Match(text, func(p *language.Path, text string) { p.SetText(d.base(), text) })
	}
	return false
}

// isWhole reports whether object has every member of sh with the right type.
func (sh *shape) isWhole(object *json.Node) bool {
	return !slices.ContainsFunc(sh.members, func(m shapeMember) bool { return !m.is(object.RawMember(m.name)) })
}

func (m *shapeMember) is(raw json.Value) bool {
	switch kind := raw.Kind(); {
	case m.constant != nil:
		return string(json.Compact(raw)) == string(m.constant)
	case m.list != nil:
		return kind == '['
	case m.nested != nil:
		return kind == '{'
	case m.path != nil && m.path.IsText:
		return kind == '"'
	default:
		return kind != 0 && kind != 'n'
	}
}
