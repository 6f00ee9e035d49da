package contract

import (
	"bytes"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// A layout says where a failure stands in a tool result.
type layout struct {
	shape      *shape    // of the JSON object; nil: the record's own JSON form
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
	// read takes a text apart that append may have written in the layout l. It
	// reports whether it is of this syntax and names a code that c lists or may list.
	read(c *Contract, l *layout, text string, d *draft) bool
}

var (
	_ codec = jsonCodec{}
	_ codec = textCodec{}
)

// blocks returns the text blocks of s.
func (l *layout) blocks(s *subject) []block {
	form := block{text: l.text.append(nil, s), media: mediaJSON}
	if _, line := l.text.(textCodec); line {
		form.media = mediaMarkdown
	}
	if l.human == nil {
		return []block{form}
	}
	text, _ := l.human.render(s)
	return l.format.choose(s, block{text: []byte(text), media: mediaMarkdown}, form)
}

// choose returns the blocks that the call asks for.
func (g formatGate) choose(s *subject, human, form block) []block {
	switch g.of(s) {
	case formatJSON:
		return []block{form}
	case formatBoth:
		return []block{human, form}
	default:
		return []block{human}
	}
}

type block struct {
	text  []byte
	media string
}

// The media types of texts.
const (
	mediaMarkdown = "text/markdown"
	mediaJSON     = "application/json"
)

// appendBlocks writes the items of content, without the brackets.
func (l *layout) appendBlocks(dst []byte, blocks []block) []byte {
	for i, b := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"text","text":`...)
		dst = json.AppendQuote(dst, b.text)
		if l.mimeTypes {
			dst = json.AppendQuote(append(dst, `,"mimeType":`...), b.media)
		}
		dst = append(dst, '}')
	}
	return dst
}

// FormatArgument returns the name of the argument by which calls choose the texts of a
// failure, where the tool has it; "" where no argument does.
func (c *Contract) FormatArgument() string { return c.layout.format.argument }

// of returns the format that the call asks for: where the tool takes one, or has given
// what was asked for all the same.
func (g formatGate) of(s *subject) string {
	call := s.call
	if !call.FormatArgument && !call.answeredInJSON(s.c) {
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
func (s *subject) appendShape(dst []byte) []byte {
	if l := s.layout(); l.shape != nil {
		return l.shape.append(dst, s, s.base())
	}
	return append(dst, s.record()...)
}

// readObject reads an object of the contract, and reports whether raw is one.
func (c *Contract) readObject(raw json.Value, d *draft) bool {
	if raw.Kind() != '{' {
		return false
	}
	for _, l := range c.layouts() {
		if d.try(func() bool { return l.readObject(c, raw, d) }) {
			return true
		}
	}
	return false
}

func (l *layout) readObject(c *Contract, raw json.Value, d *draft) bool {
	if l.shape == nil {
		record, ok := readRecord(raw)
		if !ok || record.Contract != c.Name {
			return false
		}
		d.e = record
		return true
	}
	var members map[string]json.Value
	if json.UnmarshalLenient(raw, &members) != nil || !l.shape.fits(members) {
		return false
	}
	l.shape.read(members, d.base(), d)
	d.object = true
	_, listed := c.byCode[d.e.Code]
	return listed || d.open || l.shape.marked()
}

// readText reads the text of a failure, whichever of the blocks it is.
func (c *Contract) readText(text string, d *draft) bool {
	for _, l := range c.layouts() {
		if d.try(func() bool { return l.text.read(c, l, text, d) }) || l.readHuman(c, text, d) {
			return true
		}
	}
	return false
}

// readHuman reads the text for people.
func (l *layout) readHuman(c *Contract, text string, d *draft) bool {
	return l.human != nil && d.try(func() bool {
		return l.human.match(text, func(p *path, text string) { p.setText(d.base(), text) }) && c.identify(d.e.Message, d)
	})
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

// writesObject reports whether the object stands anywhere in a result.
func (c *Contract) writesObject() bool {
	_, isJSON := c.layout.text.(jsonCodec)
	return isJSON || c.layout.structured || c.layout.result != ""
}
