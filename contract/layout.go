package contract

import (
	"iter"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A layout says where in a tool result a failure appears.
type layout struct {
	shape      *shape             // the JSON object; nil: the record's own JSON form
	record     bool               // the contract's object is the record, which is in _meta in any case
	text       codec              // the text block
	human      *language.Template // a text block for people, gated by format
	format     contractform.Format
	structured bool   // the contract's object also stands in structuredContent
	result     string // and in this member of the result
	isError    bool
	mimeTypes  bool // text blocks state their MIME type
	advises    bool // the contract's hints follow the message
}

// The values of a format argument.
const (
	formatMarkdown = "markdown"
	formatJSON     = "json"
	formatBoth     = "both"
)

// An ownResult is the layout for tools that return a failure as a result of their own kind, without isError,
// so that the caller continues.
type ownResult struct {
	tools  []string
	layout *layout
}

// layouts returns all layouts, the contract's main one first.
func (c *Contract) layouts() iter.Seq[*layout] {
	return func(yield func(*layout) bool) {
		if !yield(&c.layout) {
			return
		}
		for _, r := range c.ownResults {
			if !yield(r.layout) {
				return
			}
		}
	}
}

// layout returns the layout for a call.
func (s *subject) layout() *layout {
	if l := s.c.ownLayout(s.call.Tool); l != nil {
		return l
	}
	return &s.c.layout
}

// Returns reports whether a tool returns its failures as results of its own kind, without isError: whoever calls it reads them there,
// and a client's program gets no error.
func (c *Contract) Returns(tool string) bool {
	l := c.ownLayout(tool)
	return l != nil && !l.isError
}

// ownLayout returns the layout of a tool that returns its failures, or nil.
func (c *Contract) ownLayout(tool string) *layout {
	for _, r := range c.ownResults {
		if slices.Contains(r.tools, tool) {
			return r.layout
		}
	}
	return nil
}

// hasObject reports whether the contract has an object of its own in any layout.
func (c *Contract) hasObject() bool { return c.layout.shape != nil || len(c.ownResults) > 0 }

// writesObject reports whether the object appears anywhere in a result.
func (c *Contract) writesObject() bool {
	_, isJSON := c.layout.text.(jsonCodec)
	return isJSON || c.layout.structured || c.layout.result != ""
}

// within returns the object that stands in an object as it does in a result: a server may write the whole result as its
// text. It returns nil if there is none.
func (l *layout) within(object *json.Node) *json.Node {
	if l.result == "" || !object.IsObject() {
		return nil
	}
	if inner := object.Member(l.result); inner != nil && inner.IsObject() {
		return inner
	}
	return nil
}

// blocks returns the text blocks of s.
func (l *layout) blocks(s *subject) []block {
	form := block{text: l.text.append(nil, s), media: mediaJSON}
	if _, line := l.text.(textCodec); line {
		form.media = mediaMarkdown
	}
	if l.human == nil {
		return []block{form}
	}
	text, _ := s.render(l.human)
	return chosen(l.format, s, block{text: []byte(text), media: mediaMarkdown}, form)
}

type block struct {
	text  []byte
	media string
	more  json.Members
}

// MIME types of text blocks.
const (
	mediaMarkdown = "text/markdown"
	mediaJSON     = "application/json"
)

// chosen returns the blocks that the call selects.
func chosen(g contractform.Format, s *subject, human, form block) []block {
	switch formatOf(g, s) {
	case formatJSON:
		return []block{form}
	case formatBoth:
		return []block{human, form}
	default:
		return []block{human}
	}
}

// formatOf returns the format that the call selects, if the tool takes that argument or has evidently honoured it.
func formatOf(g contractform.Format, s *subject) string {
	call := s.call
	if !call.FormatArgument && !slices.Contains(g.Tools, call.Tool) && !call.answeredInJSON(s.c) {
		return g.Fallback
	}
	var arguments map[string]json.Value
	if json.UnmarshalLenient(call.Arguments, &arguments) != nil {
		return g.Fallback
	}
	var value string
	if json.Unmarshal(arguments[g.Argument], &value) != nil {
		return g.Fallback
	}
	switch value {
	case formatMarkdown, formatJSON, formatBoth:
		return value
	default:
		return g.Fallback
	}
}

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
		for _, m := range b.more {
			dst = append(append(json.AppendQuote(append(dst, ','), m.Name), ':'), m.Value...)
		}
		dst = append(dst, '}')
	}
	return dst
}

// appendShape writes the contract's object: its shape, or the record itself.
func (s *subject) appendShape(dst []byte) []byte {
	if l := s.layout(); l.shape != nil {
		return l.shape.append(dst, s, s.base())
	}
	return append(dst, s.record()...)
}

// readObject reads an object of the contract; it reports false if raw is not one.
func (c *Contract) readObject(object *json.Node, d *draft) bool {
	if object.Raw.Kind() != '{' {
		return false
	}
	for l := range c.layouts() {
		if d.try(func() bool { return l.readObject(c, object, d) }) {
			return true
		}
	}
	return false
}

func (l *layout) readObject(c *Contract, object *json.Node, d *draft) bool {
	if l.shape == nil {
		record, ok := recordIn(object)
		if !ok || record.Contract != c.Name {
			return false
		}
		d.e = record
		return true
	}
	if !object.IsObject() || !l.shape.fits(object) {
		return false
	}
	l.shape.read(object, d.base(), d)
	d.object = true
	_, listed := c.byCode[d.e.Code]
	return listed || l.shape.marked() || d.open && (d.known || c.mayPass(d.e.Code) || l.shape.isWhole(object))
}

// mayPass reports whether a code that c does not list is one that it may have.
func (c *Contract) mayPass(code string) bool {
	_, ranged := c.kindOfRange(code)
	return ranged || c.open != nil && clean.IsWord(code)
}

// readText reads the text of a failure in any layout.
func (c *Contract) readText(a *evidence, d *draft) bool {
	for l := range c.layouts() {
		if d.try(func() bool { return l.text.read(c, l, a, d) }) || l.readHuman(c, a.text, d) {
			return true
		}
	}
	return false
}

// readHuman reads the text for people.
func (l *layout) readHuman(c *Contract, text string, d *draft) bool {
	return l.human != nil && d.try(func() bool {
		return l.human.Match(text, func(p *language.Path, text string) { p.SetText(d.base(), text) }) && c.identify(d.e.Message, d)
	})
}

func (k *compiler) layout(w *contractform.WriteFile) layout {
	l := layout{structured: w.Structured, result: w.Result, isError: w.IsError, mimeTypes: w.MimeTypes, advises: w.Advises}
	if w.Indent < 0 || w.Indent > 8 {
		k.Mistakef(w.Node.Get("indent"), "use 0 to 8", "indent %d is not sensible", w.Indent)
		w.Indent = 0
	}
	if w.Text.Text() == "json" {
		l.text = jsonCodec{indent: strings.Repeat(" ", w.Indent)}
	} else {
		l.text = k.line(w)
	}
	if w.Human != nil {
		l.human = k.Template(w.Human)
		k.Readable(w.Human, l.human)
	}
	if w.Format != nil {
		l.format = contractform.Format{Argument: w.Format.Argument, Tools: w.Format.Tools, Fallback: w.Format.Default}
		if w.Human == nil {
			k.Mistakef(w.Format.Node, `add human: "{message}"`,
				"a format argument chooses between `text` and `human`, and there is no `human`")
		}
		if !slices.Contains([]string{formatMarkdown, formatJSON, formatBoth}, w.Format.Default) {
			k.Mistakef(w.Format.Node.Get("default"), "one of markdown, json, both", "`%s` is not a format", w.Format.Default)
		}
	}
	return l
}

// ownResults compiles the layouts of single tools.
func (k *compiler) ownResults(files []contractform.ReturnsFile) []ownResult {
	var list []ownResult
	var tools []string
	for _, f := range files {
		if f.Write == nil || f.Shape == nil {
			continue // reported elsewhere as missing
		}
		l := k.layout(f.Write)
		if l.shape = k.shape(f.Shape, contractform.RecordType); !l.shape.marked() {
			k.Mistakef(f.Shape, "for example ok: =false", "nothing in the object tells it from a success")
		}
		if !l.shape.places("code") && !l.shape.places("code.number") {
			k.Mistakef(f.Shape, "for example error_kind: code", "the object has no member for the code")
		}
		for i, tool := range f.Tools {
			if slices.Contains(tools, tool) {
				k.Mistakef(f.Node.Get("tools").Item(i), "give each tool one layout", "%s has a layout already", tool)
			}
			tools = append(tools, tool)
		}
		list = append(list, ownResult{f.Tools, &l})
	}
	return list
}
