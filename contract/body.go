package contract

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// An httpForm is the whole HTTP answer that stands for a code.
type httpForm struct {
	status  int
	headers []header
	media   string // content type; empty: no body
	body    *body
}

type header struct {
	name  string // as the contract spells it
	value *template
}

// An rpcForm is the JSON-RPC error that stands for a code.
type rpcForm struct {
	code     int
	messages []*template // the first that can be filled in is written, and each is read
	data     *body
}

// message writes the message.
func (f *rpcForm) message(s *subject) string {
	for _, t := range f.messages {
		if text, ok := t.render(s); ok {
			return text
		}
	}
	return s.message()
}

// says reports whether data has anything that f knows.
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
	text     *template
	object   []bodyMember
	list     []*body
	shape    bool // the contract's own object, as a tool result has it
}

type bodyMember struct {
	name  string
	value *body
}

// append writes b; nothing where it comes out empty.
func (b *body) append(dst []byte, s *subject) []byte {
	switch {
	case b.constant != nil:
		return append(dst, b.constant...)
	case b.shape:
		return s.inResult().appendShape(dst)
	case b.text != nil:
		if p := b.text.only(); p != nil {
			if v := p.get(s, s.base()); v.IsValid() {
				return appendValue(dst, v)
			}
			return dst
		}
		if text, ok := b.text.render(s); ok {
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
	if open > 0 && len(dst) == open+1 && len(b.object) > 0 { // of what stands in it nothing is known
		return dst[:open]
	}
	return append(dst, '}')
}

// read reports whether raw may have been written by b, and stores in d what it
// says. Members that b knows may be missing: they may have come out empty.
func (b *body) read(c *Contract, raw json.Value, d *draft) bool {
	switch {
	case b.constant != nil:
		return bytes.Equal(compact(raw), compact(b.constant))
	case b.shape:
		return c.readObject(raw, d)
	case b.text != nil:
		if p := b.text.only(); p != nil {
			p.set(d.base(), raw)
			return true
		}
		text, ok := textValue(raw)
		return ok && b.text.match(text, func(p *path, text string) { p.setText(d.base(), text) })
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
	var members map[string]json.Value
	if raw.Kind() != '{' || json.UnmarshalLenient(raw, &members) != nil {
		return false
	}
	for _, m := range b.object {
		value, ok := members[m.name]
		if !ok {
			if m.value.constant != nil {
				return false
			}
			continue
		}
		if !m.value.read(c, value, d) {
			return false
		}
	}
	return true
}

func compact(raw json.Value) []byte {
	b, err := json.AppendCompact(nil, raw)
	if err != nil {
		return raw
	}
	return b
}

// answer writes the HTTP form for s.
func (f *httpForm) answer(s *subject) (http.Header, []byte) {
	h := http.Header{}
	for _, header := range f.headers {
		if value, ok := header.value.render(s); ok {
			h.Set(header.name, oneLine(value))
		}
	}
	if f.body == nil {
		h.Set("Content-Length", "0")
		return h, nil
	}
	h.Set("Content-Type", f.media)
	return h, f.body.append(nil, s)
}

// read reports whether an HTTP answer may have been written by f, and stores in d
// what it says.
func (f *httpForm) read(c *Contract, status int, h http.Header, raw []byte, d *draft) bool {
	if status != f.status || (f.body == nil) != (len(raw) == 0) {
		return false
	}
	if f.body != nil && !f.body.read(c, raw, d) {
		return false
	}
	for _, header := range f.headers {
		header.value.match(strings.TrimSpace(h.Get(header.name)), func(p *path, text string) { p.setText(d.base(), text) })
	}
	slices.SortStableFunc(d.e.Quotas, binding)
	return true
}

// binding orders quotas: those that are used up first, and of these the one that
// is reset last.
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
		for _, item := range items(n) {
			b.list = append(b.list, k.body(item))
		}
	case strictyaml.KindString:
		if n.Text() == "{shape}" {
			b.shape = true
			break
		}
		t := k.template(n)
		if b.text = t; t.constant() {
			b.text, b.constant = nil, json.AppendQuote(nil, t.literal())
		}
	default:
		b.constant = k.constant(n)
	}
	return b
}
