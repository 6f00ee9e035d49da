package contract

import (
	"bytes"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// A layout says where a failure stands in a tool result.
type layout struct {
	text       codec     // of the text block
	human      *template // a text block for people, gated by format
	format     formatGate
	structured bool   // the contract's object also stands in structuredContent
	result     string // and in this member of the result
	isError    bool
	mimeTypes  bool // text blocks name their type
}

// A formatGate lets an argument of the call choose the blocks: markdown, json or
// both. The zero value is no gate.
type formatGate struct {
	argument string
	fallback string // what a missing, wrong or unknown value means
}

// The values of a format argument.
const (
	formatMarkdown = "markdown"
	formatJSON     = "json"
	formatBoth     = "both"
)

// A codec is the syntax of a failure in a text. It knows no code and no kind.
type codec interface {
	// append writes the text of s.
	append(dst []byte, s *subject) []byte
	// read takes a text apart that append may have written. It reports whether it
	// is of this syntax and names a code that c lists or may list.
	read(c *Contract, text string, d *draft) bool
}

var (
	_ codec = jsonCodec{}
	_ codec = textCodec{}
)

// blocks returns the text blocks of s.
func (l *layout) blocks(s *subject) []block {
	form := block{text: string(l.text.append(nil, s)), media: "application/json"}
	if _, line := l.text.(textCodec); line {
		form.media = "text/markdown"
	}
	if l.human == nil {
		return []block{form}
	}
	text, _ := l.human.render(s)
	human := block{text: text, media: "text/markdown"}
	switch l.format.of(s.call) {
	case formatJSON:
		return []block{form}
	case formatBoth:
		return []block{human, form}
	default:
		return []block{human}
	}
}

type block struct{ text, media string }

func (g formatGate) of(call *Call) string {
	if !call.FormatArgument {
		return g.fallback
	}
	var arguments map[string]json.Value
	if json.UnmarshalLenient(call.Arguments, &arguments) != nil {
		return g.fallback
	}
	var value string
	if json.Unmarshal(arguments[g.argument], &value) != nil {
		return g.fallback
	}
	switch value {
	case formatMarkdown, formatJSON, formatBoth:
		return value
	default:
		return g.fallback
	}
}

// appendShape writes the contract's object: its shape, or the record itself.
func (c *Contract) appendShape(dst []byte, s *subject) []byte {
	if c.shape == nil {
		return append(dst, s.record()...)
	}
	return c.shape.append(dst, s, s.base())
}

// readObject reads the contract's object, and reports whether raw is one.
func (c *Contract) readObject(raw json.Value, d *draft) bool {
	if raw.Kind() != '{' {
		return false
	}
	if c.shape == nil {
		record, ok := readRecord(raw)
		if !ok || record.Contract != c.Name {
			return false
		}
		d.e = record
		return true
	}
	var members map[string]json.Value
	if json.UnmarshalLenient(raw, &members) != nil || !c.shape.fits(members) {
		return false
	}
	c.shape.read(members, d.base(), d)
	_, listed := c.byCode[d.e.Code]
	return listed || d.open || c.shape.marked()
}

// readText reads the text of a failure, whichever of the blocks it is.
func (c *Contract) readText(text string, d *draft) bool {
	if c.layout.text.read(c, text, d) {
		return true
	}
	if c.layout.human == nil {
		return false
	}
	*d = draft{e: new(recourse.Error), said: d.said, open: d.open}
	return c.layout.human.match(text, func(p *path, text string) { p.setText(d.base(), text) }) &&
		c.identify(d.e.Message, d)
}

// readRecord reads the record's own JSON form.
func readRecord(raw json.Value) (*recourse.Error, bool) {
	var head struct {
		V    int    `json:"v"`
		Kind string `json:"kind"`
	}
	e := new(recourse.Error)
	if bytes.HasPrefix(raw, []byte(`{"v":1,"kind":"`)) { // as we write it
		return e, e.UnmarshalJSON(raw) == nil
	}
	ok := json.UnmarshalLenient(raw, &head) == nil && head.V > 0 && head.Kind != "" && e.UnmarshalJSON(raw) == nil
	return e, ok
}

// oneLine folds line breaks, so that a sentence stays on its line.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}
