package contract

import (
	"reflect"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// textCodec writes a line from a template such as `[{code}] {message}`, then the
// hints, then structure as one line of JSON.
type textCodec struct {
	line     *template
	hints    hintList
	envelope envelope
}

// A hintList says how hints follow the line. The zero value writes none.
type hintList struct{ before, between string }

// An envelope is the structure behind a mark. It is written when the record has
// details. The zero value writes none.
type envelope struct {
	mark  string // such as " [envelope] "
	shape *shape
}

func (t textCodec) append(dst []byte, s *subject) []byte {
	line, ok := t.line.render(s)
	if !ok {
		line = s.message()
	}
	if t.hints.before != "" {
		line = oneLine(line)
	}
	dst = append(dst, line...)
	for i, hint := range s.e.Hints {
		switch {
		case t.hints.before == "":
			continue
		case i == 0:
			dst = append(dst, t.hints.before...)
		default:
			dst = append(dst, t.hints.between...)
		}
		if mark := strings.TrimSpace(t.hints.between); mark != "" {
			hint = strings.ReplaceAll(hint, mark, ",")
		}
		dst = append(dst, oneLine(hint)...)
	}
	if t.envelope.shape != nil && len(s.e.Details) > 0 {
		raw := t.envelope.shape.append(nil, s, s.base())
		mark := strings.TrimSpace(t.envelope.mark)
		dst = append(append(dst, t.envelope.mark...), escapeMark(raw, mark)...)
	}
	return dst
}

// escapeMark spells the first character of mark inside JSON texts as an escape,
// so that the mark in front of the JSON is always the last one.
func escapeMark(raw []byte, mark string) []byte {
	if mark == "" || mark[0] != '[' {
		return raw
	}
	return []byte(strings.ReplaceAll(string(raw), mark, `\u005b`+mark[1:]))
}

func (t textCodec) read(c *Contract, text string, e *recourse.Error, said func(*recourse.Error, bool)) bool {
	base := reflect.ValueOf(e).Elem()
	if t.envelope.shape != nil {
		if at := strings.LastIndex(text, t.envelope.mark); at >= 0 {
			var object map[string]json.Value
			if json.UnmarshalLenient([]byte(text[at+len(t.envelope.mark):]), &object) == nil {
				t.envelope.shape.read(object, base, said)
				text = text[:at]
			}
		}
	}
	line, rest := text, ""
	if t.hints.before != "" {
		line, rest, _ = strings.Cut(text, t.hints.before)
	}
	if !t.line.match(line, func(p *path, text string) { p.setText(base, text) }) {
		return false
	}
	if !t.line.names("code") && !t.line.names("code.number") {
		return c.identify(line, e)
	}
	if _, listed := c.byCode[e.Code]; !listed {
		return false
	}
	if len(e.Hints) == 0 && rest != "" {
		e.Hints = split(rest, t.hints.between)
	}
	return true
}

// split takes a list of hints apart; empty ones are dropped.
func split(list, between string) []string {
	return slices.DeleteFunc(strings.Split(list, between), func(h string) bool { return strings.TrimSpace(h) == "" })
}

// identify finds the code whose constant sentence stands in text, the longest
// first: such a sentence is the code's identity, and runtimes write things before
// and behind it.
func (c *Contract) identify(text string, e *recourse.Error) bool {
	var best *entry
	longest := 0
	for _, en := range c.codes {
		for _, t := range en.message {
			if n := len(t.src); n > longest && !t.names("message") && contains(text, t, e) {
				best, longest = en, n
			}
		}
	}
	if best == nil {
		return false
	}
	e.Code = best.code
	return true
}

// contains reports whether t's text stands anywhere in text, and stores in e what
// its placeholders hold.
func contains(text string, t *template, e *recourse.Error) bool {
	first, last := t.parts[0], t.parts[len(t.parts)-1]
	from := strings.Index(text, first.literal)
	if first.path != nil || from < 0 {
		return false
	}
	to := strings.LastIndex(text, last.literal)
	if last.path != nil || to < from {
		return false
	}
	base := reflect.ValueOf(e).Elem()
	return t.match(text[from:to+len(last.literal)], func(p *path, text string) { p.setText(base, text) })
}
