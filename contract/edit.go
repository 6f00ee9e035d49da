package contract

import (
	"bytes"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/wild"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A failure that already has the contract's form is edited, not written anew: it stays as it is spelled, with every
// member that the contract does not know. Only what tells the caller what to do next is made to agree with the record:
// the boolean, the wait, the advice and the call that settles the effect. What is missing of these is added.

// An edit changes a tool result that has the contract's form.
type edit struct {
	s      *subject   // as the contract's own form shows it
	record json.Value // that travels in _meta
	l      *layout
	object json.Value // the contract's own object, edited; nil: there is none
	line   string     // the text, edited, if it is a line
	at     int        // and the block in which it stands
}

// edited returns the original result, edited; ok is false if that does not have the contract's form.
func (s *subject) edited() (result json.Value, ok bool) {
	l, original := s.layout(), s.call.in(s.c, SurfaceResult)
	if original == nil || l.shape == nil && !l.isLine() {
		return nil, false
	}
	e := &edit{s: s.inForm(), record: s.bounded(), l: l}
	original = bytes.ToValidUTF8(original, []byte("\uFFFD"))
	if !e.find(json.NodeOf(original)) {
		return nil, false
	}
	return json.Edit(original, e.member, e.missing()), true
}

// isLine reports whether the text is a line that says the code.
func (l *layout) isLine() bool {
	line, ok := l.text.(textCodec)
	return ok && line.namesCode() && !line.onLines()
}

// find looks for the contract's own object, or its line, with the code that the record has.
func (e *edit) find(result *json.Node) bool {
	blocks := blocksOf(result.RawMember("content"))
	for i, block := range blocks {
		text, ok := textBlock(block)
		text = e.bare(text)
		switch line, isLine := e.l.text.(textCodec); {
		case !ok:
		case isLine:
			if e.line, ok = line.edit(e.s, text); ok {
				e.at = i
				return true
			}
		default:
			object := json.Value(strings.TrimSpace(text))
			e.take(object)
			e.take(e.within(object))
		}
	}
	e.take(e.l.structuredIn(result))
	if e.l.result != "" {
		e.take(result.RawMember(e.l.result))
	}
	if text, ok := firstText(blocks); ok && e.object == nil && e.l.says(e.s, text) {
		e.object = e.s.appendShape(nil)
	}
	return e.object != nil
}

// bare returns a text without the prefixes that runtimes put before it, if the contract's form is behind them.
func (e *edit) bare(text string) string {
	rest := text
	for range wild.MaxWraps {
		inner, _, ok := wild.Unwrap(nil, rest)
		if !ok {
			break
		}
		if rest = inner; e.isOwn(rest) {
			return rest
		}
	}
	return text
}

// isOwn reports whether a text is a line or an object of the contract's form.
func (e *edit) isOwn(text string) bool {
	if line, ok := e.l.text.(textCodec); ok {
		_, ok = line.edit(e.s, text)
		return ok
	}
	object := json.Value(strings.TrimSpace(text))
	return e.is(object) || e.within(object) != nil
}

// blocksOf returns the blocks of a result's content that are read.
func blocksOf(content json.Value) []json.Value {
	blocks, _ := json.Items(content, maxBlocks)
	return blocks
}

// firstText returns the text of the first block that has one.
func firstText(blocks []json.Value) (text string, ok bool) {
	for _, b := range blocks {
		if text, ok = textBlock(b); ok {
			return text, true
		}
	}
	return "", false
}

// structuredIn returns the structured content, if that is a place of the contract's object.
func (l *layout) structuredIn(result *json.Node) json.Value {
	if !l.structured {
		return nil
	}
	return result.RawMember("structuredContent")
}

// says reports whether a text is the one for people, with the code that the record has.
func (l *layout) says(s *subject, text string) bool {
	d := newDraft()
	d.open = true
	return l.readHuman(s.c, text, d) && d.e.Code == s.e.Code
}

// take takes a value as the contract's object if it is one, with the code that the record has.
func (e *edit) take(raw json.Value) {
	if e.object == nil && e.is(raw) && e.l.shape.codeIn(json.NodeOf(raw)) == e.s.e.Code {
		e.object = json.Compact(e.of(raw))
	}
}

// is reports whether a value is an object of the contract's form.
func (e *edit) is(raw json.Value) bool {
	object := json.NodeOf(raw)
	return object.IsObject() && e.l.shape != nil && e.l.shape.fits(object)
}

// within returns the object of the contract's form that a text wraps as a result does; nil: there is none.
func (e *edit) within(object json.Value) json.Value {
	if object.Kind() != '{' {
		return nil
	}
	if inner := e.l.within(json.NodeOf(object)); inner != nil && e.is(inner.Raw) {
		return inner.Raw
	}
	return nil
}

// of returns such an object, edited. One with another code than the record's is replaced.
func (e *edit) of(raw json.Value) json.Value {
	if e.l.shape.codeIn(json.NodeOf(raw)) != e.s.e.Code {
		return e.object
	}
	return e.l.shape.edit(raw, e.s, e.s.base())
}

// member returns a member of the result, edited; nil: it goes.
func (e *edit) member(name string, value json.Value) json.Value {
	switch name {
	case "content":
		return e.content(value)
	case "structuredContent":
		if e.l.structured && e.is(value) {
			return e.structured(value)
		}
	case e.l.result:
		if e.is(value) {
			return e.of(value)
		}
	case memberIsError:
		if e.l.isError && value.Kind() != 't' {
			return json.Value("true")
		}
	case "resultType":
		if !e.s.call.ResultType {
			return nil
		}
	case "_meta":
		if value.Kind() == '{' {
			return json.Edit(value, func(name string, value json.Value) json.Value {
				if name == recourse.MetaKey {
					return e.record
				}
				return value
			}, e.meta())
		}
		return e.added("_meta")
	}
	return value
}

// structured returns the structured content: none where it would not match the tool's schema.
func (e *edit) structured(object json.Value) json.Value {
	if e.s.call.OutputSchema && e.s.c.ownLayout(e.s.call.Tool) == nil {
		return nil
	}
	return e.of(object)
}

// meta is what every failure has in _meta.
func (e *edit) meta() json.Members { return json.Members{{Name: recourse.MetaKey, Value: e.record}} }

// missing returns the members that a result in this form has, for those that it lacks.
func (e *edit) missing() json.Members {
	var more json.Members
	for _, name := range []string{"content", "structuredContent", e.l.result, memberIsError, "resultType", "_meta"} {
		if value := e.added(name); value != nil {
			more.Add(name, value)
		}
	}
	return more
}

// added returns a member that the result lacks; nil: it may.
func (e *edit) added(name string) json.Value {
	switch name {
	case "":
	case "content":
		return e.content(json.Value("[]"))
	case "structuredContent":
		if e.l.structured && e.object != nil {
			return e.structured(e.object)
		}
	case e.l.result:
		return e.object
	case memberIsError:
		if e.l.isError {
			return json.Value("true")
		}
	case "resultType":
		if e.s.call.ResultType {
			return json.Value(`"complete"`)
		}
	case "_meta":
		meta := e.meta()
		return meta.AppendTo(nil)
	}
	return nil
}

// content returns the content with the blocks that the call selects, edited, and all others.
func (e *edit) content(content json.Value) json.Value {
	if content.Kind() != '[' {
		content = json.Value("[]")
	}
	has := map[int]string{} // the media types of the contract's own blocks
	edited := json.EditItems(content, func(i int, block json.Value) json.Value {
		text, ok := textBlock(block)
		if !ok || i >= maxBlocks {
			return block
		}
		other, media := e.text(i, text, len(has) == 0)
		has[i] = media
		if media == "" {
			delete(has, i)
		}
		if other == text {
			return block
		}
		return json.Edit(block, func(name string, value json.Value) json.Value {
			if name == "text" {
				return json.AppendQuote(nil, other)
			}
			return value
		}, nil)
	})
	own := e.own()
	if own == nil || slices.EqualFunc(own, mediaIn(has), func(b block, media string) bool { return b.media == media }) {
		return edited
	}
	var others []json.Value
	_ = json.UnmarshalLenient(edited, &others) // it is an array
	dst := e.l.appendBlocks([]byte{'['}, own)
	for i, block := range others {
		if has[i] == "" {
			dst = append(append(dst, ','), block...)
		}
	}
	return append(dst, ']')
}

// mediaIn returns the media types of blocks in their order.
func mediaIn(has map[int]string) []string {
	var list []string
	for i := range maxBlocks {
		if media := has[i]; media != "" {
			list = append(list, media)
		}
	}
	return list
}

// text returns a text of the content, edited, and its media type if it is one of the contract's own blocks.
func (e *edit) text(i int, text string, isFirst bool) (edited, media string) {
	text = e.bare(text)
	object := json.Value(strings.TrimSpace(text))
	switch {
	case e.line != "":
		if i == e.at {
			return e.line, mediaMarkdown
		}
	case e.is(object):
		if other := e.of(object); !bytes.Equal(other, object) {
			text = strings.Replace(text, string(object), string(other), 1)
		}
		return text, mediaJSON
	case e.within(object) != nil:
		other := json.Edit(object, func(name string, value json.Value) json.Value {
			if name == e.l.result && e.is(value) {
				return e.of(value)
			}
			return value
		}, nil)
		return strings.Replace(text, string(object), string(other), 1), mediaJSON
	case isFirst && e.l.human != nil:
		return e.s.stated(text), mediaMarkdown
	}
	return text, ""
}

// own returns the contract's own blocks that the call selects, in the form for a result that lacks one of them; nil:
// what is there is enough.
func (e *edit) own() []block {
	codec, ok := e.l.text.(jsonCodec)
	if !ok {
		return nil
	}
	form := block{text: codec.appendObject(nil, e.object), media: mediaJSON}
	if e.l.human == nil {
		return []block{form}
	}
	text, _ := e.s.render(e.l.human)
	return chosen(e.l.format, e.s, block{text: []byte(text), media: mediaMarkdown}, form)
}
