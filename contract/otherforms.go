package contract

import (
	"slices"
	"strconv"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/json"
)

// A reads is a form of failures that is read and never written: a whole text, or an
// object.
type reads struct {
	text  *template
	shape *shape
	set   []constant
}

// A codeRange gives a kind to codes that are numbers and not listed.
type codeRange struct {
	from, to int
	kind     recourse.Kind
	name     string
}

// otherForms reads the form of questions, and what the contract understands beyond
// what it writes.
func (k *compiler) otherForms() {
	if k.file.Question != nil {
		k.c.question = k.shape(k.file.Question, contractform.QuestionType)
	}
	if k.file.Reads != nil {
		k.c.reads = nil
	}
	for _, f := range k.file.Reads {
		r := reads{set: k.constants(f.Set)}
		switch {
		case (f.Text == nil) == (f.Shape == nil):
			k.mistakef(f.Node, `for example {text: "Timed out after {details.ms} ms", set: {kind: timeout}}`,
				"give either `text` or `shape`")
			continue
		case f.Text != nil:
			r.text = k.template(f.Text)
			k.readable(f.Text, r.text)
		default:
			r.shape = k.shape(f.Shape, contractform.RecordType)
		}
		k.c.reads = append(k.c.reads, r)
	}
	if k.file.Ranges != nil {
		k.c.ranges = nil
	}
	for _, f := range k.file.Ranges {
		r := codeRange{from: f.From, to: f.To, kind: recourse.Kind(k.oneOf(f.Kind, words(recourse.Kinds())...)), name: f.Name}
		switch {
		case r.from > r.to:
			k.mistakef(f.Node, "give the lower one first", "from %d to %d there is no code", r.from, r.to)
		case slices.ContainsFunc(k.c.ranges, func(other codeRange) bool { return r.from <= other.to && other.from <= r.to }):
			k.mistakef(f.Node, "let ranges not overlap", "codes from %d to %d are in a range already", r.from, r.to)
		}
		k.c.ranges = append(k.c.ranges, r)
	}
}

// kindOfRange returns the kind of a code that is not listed, by its range.
func (c *Contract) kindOfRange(code string) (recourse.Kind, bool) {
	if r := c.rangeOf(code); r != nil {
		return r.kind, true
	}
	return "", false
}

// rangeOf returns the range of a code, or nil.
func (c *Contract) rangeOf(code string) *codeRange {
	n, err := strconv.Atoi(code)
	if err != nil {
		return nil
	}
	for i := range c.ranges {
		if r := &c.ranges[i]; r.from <= n && n <= r.to {
			return r
		}
	}
	return nil
}

// ranged reports whether the code is one of a range and not listed, for which the fallback
// stands in.
func (s *subject) ranged() bool { return s.unlisted() && s.c.rangeOf(s.e.Code) != nil }

// ownNumber reports whether c gives a number a meaning, as the code of a JSON-RPC
// error too.
func (c *Contract) ownNumber(code string) bool {
	if en := c.byCode[code]; en != nil {
		return en.rpc == nil
	}
	_, ok := c.kindOfRange(code)
	return ok
}

// readOtherObject reads an object in a form that c does not write itself: any, if the
// server is known to keep c, and otherwise one that is an object of c with more in it.
func (c *Contract) readOtherObject(raw json.Value, known bool, d *draft) bool {
	var members map[string]json.Value
	if len(c.reads) == 0 || raw.Kind() != '{' || json.UnmarshalLenient(raw, &members) != nil {
		return false
	}
	if own := c.layout.shape; !known && (own == nil || !own.marked() || !own.fits(members)) {
		return false
	}
	for i := range c.reads {
		if r := &c.reads[i]; r.shape != nil && r.shape.isWhole(members) {
			r.apply(d)
			r.shape.read(members, d.base(), d)
			d.foreign = true
			return true
		}
	}
	return false
}

// readOtherText reads a whole text in a form that c does not write itself.
func (c *Contract) readOtherText(text string, d *draft) bool {
	for i := range c.reads {
		r := &c.reads[i]
		if r.text == nil || !r.text.match(text, func(*path, string) {}) {
			continue
		}
		d.e.Message = cut(text) // unless it is put into a frame
		r.apply(d)
		return r.text.match(text, func(p *path, text string) { p.setText(d.base(), text) })
	}
	return false
}

// apply stores what the form says where its text or object does not say otherwise.
func (r *reads) apply(d *draft) {
	for _, k := range r.set {
		k.path.set(d.base(), k.value)
	}
}

// isWhole reports whether object has every member of sh, of its type.
func (sh *shape) isWhole(object map[string]json.Value) bool {
	return !slices.ContainsFunc(sh.members, func(m shapeMember) bool { return !m.is(object[m.name]) })
}

func (m *shapeMember) is(raw json.Value) bool {
	switch kind := raw.Kind(); {
	case m.constant != nil:
		return string(compact(raw)) == string(m.constant)
	case m.list != nil:
		return kind == '['
	case m.nested != nil:
		return kind == '{'
	case m.path != nil && m.path.text:
		return kind == '"'
	default:
		return kind != 0 && kind != 'n'
	}
}
