package contract

import (
	"reflect"
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
	read(c *Contract, text string, e *recourse.Error, said func(*recourse.Error, bool)) bool
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
	if c.shape != nil {
		return c.shape.append(dst, s, s.base())
	}
	record, err := s.e.MarshalJSON()
	if err != nil {
		return append(dst, "{}"...)
	}
	return append(dst, record...)
}

// readShape reads the contract's object into e, and reports whether raw is one.
func (c *Contract) readShape(raw json.Value, e *recourse.Error) bool {
	return c.readObject(raw, e, func(*recourse.Error, bool) {})
}

func (c *Contract) readObject(raw json.Value, e *recourse.Error, said func(*recourse.Error, bool)) bool {
	if c.shape == nil {
		record, ok := readRecord(raw)
		if ok && record.Contract == c.Name {
			*e = *record
			return true
		}
		return false
	}
	var members map[string]json.Value
	if json.UnmarshalLenient(raw, &members) != nil || !c.shape.fits(members) {
		return false
	}
	c.shape.read(members, reflect.ValueOf(e).Elem(), said)
	return true
}

// readRecord reads the record's own JSON form.
func readRecord(raw json.Value) (*recourse.Error, bool) {
	var head struct {
		V    int    `json:"v"`
		Kind string `json:"kind"`
	}
	if json.UnmarshalLenient(raw, &head) != nil || head.V < 1 || head.Kind == "" {
		return nil, false
	}
	e := new(recourse.Error)
	if e.UnmarshalJSON(raw) != nil {
		return nil, false
	}
	return e, true
}

// oneLine folds line breaks, so that a sentence stays on its line.
func oneLine(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}
