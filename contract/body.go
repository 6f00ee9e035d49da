package contract

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// An httpForm is the whole HTTP answer that stands for a code.
type httpForm struct {
	status  int
	headers []header
	media   string // content type; empty: no body
	body    *body
}

type header struct {
	name  string
	value *template
}

// An rpcForm is the JSON-RPC error that stands for a code.
type rpcForm struct {
	code    int
	message *template
	data    *body
}

// A body is a JSON value with placeholders. Exactly one of its sources is set.
type body struct {
	constant json.Value
	text     *template
	object   []bodyMember
	list     []*body
	shape    bool // the contract's own object
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
		return s.c.appendShape(dst, s)
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
		before := len(dst)
		if before > open+1 {
			dst = append(dst, ',')
		}
		dst = append(json.AppendQuote(dst, m.name), ':')
		value := len(dst)
		if dst = m.value.append(dst, s); len(dst) == value {
			dst = dst[:before]
		}
	}
	return append(dst, '}')
}

// read reports whether raw may have been written by b, and stores in e what it
// says. Members that b knows may be missing: they may have come out empty.
func (b *body) read(c *Contract, raw json.Value, e *recourse.Error) bool {
	base := reflect.ValueOf(e).Elem()
	switch {
	case b.constant != nil:
		return slices.Equal(compact(raw), compact(b.constant))
	case b.shape:
		return c.readShape(raw, e)
	case b.text != nil:
		if p := b.text.only(); p != nil {
			p.set(base, raw)
			return true
		}
		text, err := json.AppendUnquote(nil, raw)
		return err == nil && b.text.match(string(text), func(p *path, text string) { p.setText(base, text) })
	case b.list != nil:
		var items []json.Value
		if json.UnmarshalLenient(raw, &items) != nil || len(items) > len(b.list) {
			return false
		}
		for i, item := range items {
			if !b.list[i].read(c, item, e) {
				return false
			}
		}
		return true
	}
	var members map[string]json.Value
	if json.UnmarshalLenient(raw, &members) != nil {
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
		if !m.value.read(c, value, e) {
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
			h.Set(header.name, value)
		}
	}
	if f.body == nil {
		h.Set("Content-Length", "0")
		return h, nil
	}
	h.Set("Content-Type", f.media)
	return h, f.body.append(nil, s)
}

// read reports whether an HTTP answer may have been written by f, and stores in e
// what it says.
func (f *httpForm) read(c *Contract, status int, h http.Header, raw []byte, e *recourse.Error) bool {
	if status != f.status || (f.body == nil) != (len(raw) == 0) {
		return false
	}
	if f.body != nil && !f.body.read(c, raw, e) {
		return false
	}
	base := reflect.ValueOf(e).Elem()
	for _, header := range f.headers {
		header.value.match(strings.TrimSpace(h.Get(header.name)), func(p *path, text string) { p.setText(base, text) })
	}
	// The binding quota stands first, as in every record.
	slices.SortStableFunc(e.Quotas, func(a, b recourse.Quota) int {
		return int(min(a.Remaining, 1) - min(b.Remaining, 1))
	})
	return true
}
