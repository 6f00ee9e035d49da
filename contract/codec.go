package contract

import (
	"bytes"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// A codec is the syntax of a failure in a text. It knows no codes or kinds.
type codec interface {
	// append writes the text of s.
	append(dst []byte, s *subject) []byte
	// read parses a text that append may have written in the layout l. It reports whether the text has this
	// syntax and names a code that c lists or may list.
	read(c *Contract, l *layout, a *evidence, d *draft) bool
}

var (
	_ codec = jsonCodec{}
	_ codec = textCodec{}
)

// jsonCodec writes the contract's object.
type jsonCodec struct{ indent string }

func (j jsonCodec) append(dst []byte, s *subject) []byte {
	if j.indent == "" {
		return s.appendShape(slices.Grow(dst, len(s.record()))) // the text is hardly longer
	}
	return j.appendObject(dst, s.appendShape(nil))
}

func (j jsonCodec) appendObject(dst []byte, raw json.Value) []byte {
	if j.indent != "" {
		if pretty, err := json.AppendIndent(dst, raw, j.indent); err == nil {
			return pretty
		}
	}
	return append(dst, raw...)
}

func (j jsonCodec) read(c *Contract, l *layout, a *evidence, d *draft) bool {
	object := a.textAsObject()
	return object != nil && l.readObject(c, object, d)
}

// textCodec writes a line from a template such as `[{code}] {message}`, then the hints,
// then an envelope: structure as one line of JSON.
type textCodec struct {
	line     *language.Template
	hints    hintList
	envelope envelope
}

// A hintList says how hints follow the line. The zero value writes none.
type hintList struct{ before, between string }

// An envelope is JSON after a mark, written if the record has details. The zero value writes none.
type envelope struct {
	mark  string // such as " [envelope] "
	shape *shape
}

func (t textCodec) append(dst []byte, s *subject) []byte {
	line, ok := s.render(t.line)
	if !ok {
		line = s.message()
	}
	dst = t.appendHints(append(dst, t.escapeMarks(t.fold(line))...), s.e.Hints)
	if t.envelope.shape != nil && len(s.e.Details) > 0 {
		dst = append(slices.Grow(dst, len(s.record())), t.envelope.mark...) // the text is hardly longer
		start := len(dst)
		dst = t.envelope.shape.append(dst, s, s.base())
		dst = escapeMark(dst, start, strings.TrimSpace(t.envelope.mark))
	}
	return dst
}

// appendHints writes the hints behind the line.
func (t textCodec) appendHints(dst []byte, hints []string) []byte {
	if t.hints.before == "" {
		return dst
	}
	for i, hint := range hints {
		if i == 0 {
			dst = append(dst, t.hints.before...)
		} else {
			dst = append(dst, t.hints.between...)
		}
		if mark := strings.TrimSpace(t.hints.between); mark != "" {
			hint = strings.ReplaceAll(hint, mark, ",")
		}
		dst = append(dst, t.escapeMarks(clean.Line(strings.TrimSpace(hint)))...)
	}
	return dst
}

// continued starts every line of a sentence after the first, if hints are on lines of their own. It keeps the
// lines apart, and none of them can be mistaken for a hint.
const continued = "\n  "

// onLines reports whether hints stand on lines of their own.
func (t textCodec) onLines() bool { return t.hints.before == "\n" }

// fold writes a sentence so that it cannot be mistaken for the hints that follow it.
func (t textCodec) fold(sentence string) string {
	switch {
	case t.hints.before == "" || !strings.ContainsAny(sentence, "\r\n"):
		return sentence
	case !t.onLines():
		return clean.Line(sentence)
	}
	sentence = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimSpace(sentence))
	return strings.ReplaceAll(sentence, "\n", continued)
}

// cut returns the line, unfolded, and the rest.
func (t textCodec) cut(text string) (line, rest string) {
	switch {
	case t.hints.before == "":
		return text, ""
	case !t.onLines():
		line, rest, _ = strings.Cut(text, t.hints.before)
		return line, rest
	}
	end := 0
	for {
		next := strings.Index(text[end:], t.hints.before)
		if next < 0 {
			line = text
			break
		}
		if end += next; !strings.HasPrefix(text[end:], continued) {
			line, rest = text[:end], text[end+len(t.hints.before):]
			break
		}
		end += len(continued)
	}
	return strings.ReplaceAll(line, continued, "\n"), rest
}

// escapeMarks escapes the marks that occur in a sentence.
func (t textCodec) escapeMarks(sentence string) string {
	for _, mark := range []string{t.hints.before, t.envelope.mark} {
		if strings.TrimSpace(mark) == "" || !strings.Contains(sentence, mark) {
			continue
		}
		other := strings.ToLower(mark)
		if other == mark {
			other = strings.ToUpper(mark)
		}
		sentence = strings.ReplaceAll(sentence, mark, other)
	}
	return sentence
}

// escapeMark escapes the bracket of mark in the JSON that begins at start, so that the mark before that JSON
// is always the last one.
func escapeMark(dst []byte, start int, mark string) []byte {
	if !bytes.Contains(dst[start:], []byte(mark)) {
		return dst
	}
	return append(dst[:start], strings.ReplaceAll(string(dst[start:]), mark, `\u005b`+mark[1:])...)
}

func (t textCodec) read(c *Contract, _ *layout, a *evidence, d *draft) bool {
	base, text := d.base(), a.text
	enveloped := false
	if rest, object := t.open(text, d); object != nil {
		t.envelope.shape.read(json.NodeOf(object), base, d)
		text, enveloped = rest, true
	}
	line, rest := t.cut(text)
	code := d.e.Code
	if !t.line.Match(t.spaced(line), func(p *language.Path, text string) { p.SetText(base, text) }) {
		return false
	}
	if len(d.e.Hints) == 0 && rest != "" {
		d.e.Hints = split(rest, t.hints.between)
	}
	if !t.namesCode() {
		return c.identify(line, d)
	}
	_, listed := c.byCode[d.e.Code]
	return listed || c.open != nil && clean.IsWord(d.e.Code) && (d.open || enveloped && code == d.e.Code)
}

// spaced returns the line with the template's space after the code, if a line break or nothing is there
// instead.
func (t textCodec) spaced(line string) string {
	for i, part := range t.line.Parts {
		if i == 0 || part.Path != nil || t.line.Parts[i-1].Path == nil || !t.line.Parts[i-1].Path.IsCode() {
			continue
		}
		mark := strings.TrimRight(part.Literal, " ")
		if before, after, ok := strings.Cut(line, mark); ok && mark != "" && mark != part.Literal {
			if rest := strings.TrimLeft(after, " \t\r\n"); rest == "" || rest != after {
				return before + part.Literal + rest
			}
		}
	}
	return line
}

// namesCode reports whether the line contains the code.
func (t textCodec) namesCode() bool { return t.line.Names("code") || t.line.Names("code.number") }

// split splits a list of hints and drops empty ones.
func split(list, between string) []string {
	return slices.DeleteFunc(strings.SplitN(list, between, maxItems), func(h string) bool { return strings.TrimSpace(h) == "" })
}

// identify finds the code whose own sentence is in text, the longest first. Such a sentence identifies its
// code even if a runtime put text around it. The sentence of an HTTP answer must be the whole text: outside
// that answer, a single word is not enough. The same goes for a template around {message}, unless the server
// is known to follow the contract.
func (c *Contract) identify(text string, d *draft) bool {
	var best *codeEntry
	sentence := ""
	longest := 0
	for _, en := range c.codes {
		for _, t := range en.message {
			if t.Fixed() <= longest {
				continue
			}
			if t.Frames() {
				if d.open && t.Match(text, func(*language.Path, string) {}) {
					best, sentence, longest = en, text, t.Fixed()
				}
				continue
			}
			found, ok := t.Find(text)
			if ok && (en.http == nil || found == text && strings.Contains(found, " ")) {
				best, sentence, longest = en, found, t.Fixed()
			}
		}
	}
	if best == nil {
		return false
	}
	d.e.Code, d.e.Message = best.code, sentence
	return true
}

// line reads a text layout.
func (k *compiler) line(w *contractform.WriteFile) textCodec {
	line := textCodec{line: k.Template(w.Text)}
	k.Readable(w.Text, line.line)
	if w.Hints != nil {
		line.hints = hintList{before: w.Hints.Before, between: w.Hints.Between}
		if w.Hints.Before == "" || w.Hints.Between == "" {
			k.Mistakef(w.Node.Get("hints"), `for example {before: " Suggestions: ", between: "; "}`,
				"hints need a text before and between them")
		}
	}
	if w.Envelope != nil {
		line.envelope = envelope{mark: w.Envelope.Mark, shape: k.shape(w.Envelope.Shape, contractform.RecordType)}
		if mark := strings.TrimSpace(w.Envelope.Mark); len(mark) < 3 || mark[0] != '[' || !clean.IsWord(strings.Trim(mark, "[]")) {
			k.Mistakef(w.Node.Get("envelope").Get("mark"), `for example " [envelope] "`, "the mark has to be a word in brackets")
			line.envelope = envelope{}
		}
	}
	return line
}
