package contract

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/contract/internal/wild"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Ask writes a question to the caller of a tool: a result without isError, with the texts in the format that
// the call selects. A contract without a form for questions writes the failure that [recourse.From] makes of
// n. n is not changed.
func (c *Contract) Ask(n *recourse.NeedsInput, call *Call) Answer {
	if c.question == nil {
		return c.Write(recourse.From(n), call)
	}
	question := *n
	clean.Question(&question)
	s := &subject{c: c, e: &recourse.Error{}, call: call}
	object := c.question.append(nil, s, reflect.ValueOf(&question).Elem())

	l := &c.layout
	human := block{text: []byte(questionText(&question)), media: mediaMarkdown}
	blocks := []block{human}
	if codec, ok := l.text.(jsonCodec); ok {
		form := block{text: codec.appendObject(nil, object), media: mediaJSON}
		blocks = []block{form}
		if l.human != nil {
			blocks = chosen(l.format, s, human, form)
		}
	}
	dst := append(l.appendBlocks([]byte(`{"content":[`), blocks), ']')
	if l.structured && !call.OutputSchema {
		dst = append(append(dst, `,"structuredContent":`...), object...)
	}
	if call.ResultType {
		dst = append(dst, `,"resultType":"complete"`...)
	}
	return Answer{Surface: SurfaceResult, Status: http.StatusOK, Result: append(dst, '}')}
}

// asks is the question that an entry writes instead of some failures.
type asks struct {
	selectors []selector
	messages  []*language.Template
	reason    string
	fields    []string
}

// question returns the question that the call gets instead of the failure, or nil.
func (s *subject) question() *recourse.NeedsInput {
	a := s.entry.ask
	if a == nil || s.c.question == nil || s.call.Method != methodToolsCall || s.call.Status != 0 ||
		!a.selects(s) && !a.selects(s.asTold(a)) {
		return nil
	}
	for _, t := range a.messages {
		if text, ok := s.render(t); ok {
			return &recourse.NeedsInput{Message: text, Reason: a.reason, Fields: a.fields}
		}
	}
	return nil
}

func (a *asks) selects(s *subject) bool {
	return slices.ContainsFunc(a.selectors, func(sel selector) bool { return sel.selects(s) })
}

// asTold returns s with the kind that its sentence tells, where its own kind is one for many failures: a code for all refusals
// says less than "Pattern not found" does.
func (s *subject) asTold(a *asks) *subject {
	switch s.e.Kind {
	case recourse.KindClientError, recourse.KindInvalidValue, recourse.KindUnknown:
	default:
		return s
	}
	said, ok := wild.Find(nil, s.call.now(), s.e.Message, nil)
	if !ok {
		return s
	}
	kind := said.Error.Kind
	if kind == recourse.KindInvalidValue && s.isUnknown(a) {
		kind = recourse.KindNotFound
	}
	told := *s
	told.e = s.e.With(func(e *recourse.Error) { e.Kind = kind })
	return &told
}

// isUnknown reports whether the sentence says of what the call names that it is unknown.
func (s *subject) isUnknown(a *asks) bool {
	return contains(strings.ToLower(s.e.Message), "unknown") && slices.ContainsFunc(a.fields, func(name string) bool {
		return contains(s.e.Message, json.Plain(s.call.argument("/"+name)))
	})
}

// asks compiles the question of an entry.
func (k *compiler) asks(f *contractform.AskFile) *asks {
	a := &asks{messages: k.Templates(f.Message), reason: f.Reason, fields: f.Fields}
	for _, n := range language.Items(f.For) {
		a.selectors = append(a.selectors, k.selector(n))
	}
	if k.c.question == nil {
		k.Mistakef(f.Node, "add `question`, or remove this", "the contract has no form for questions")
	}
	return a
}

// questionText writes a question in Markdown: the sentence, then the choices.
func questionText(n *recourse.NeedsInput) string {
	var b strings.Builder
	b.WriteString(n.Message)
	for _, field := range slices.Sorted(maps.Keys(n.Suggestions)) {
		if values := n.Suggestions[field]; len(values) > 0 {
			fmt.Fprintf(&b, "\n\nSuggestions for `%s`: %s.", clean.Line(field), strings.Join(quotedEach(values), ", "))
		}
	}
	if len(n.Options) > 0 {
		b.WriteString("\n")
	}
	for _, o := range n.Options {
		fmt.Fprintf(&b, "\n- %s: ", clean.Line(o.Label))
		if o.Field != "" {
			fmt.Fprintf(&b, "`%s` = ", clean.Line(o.Field))
		}
		fmt.Fprintf(&b, "`%s`", clean.Line(o.Value))
		if o.Description != "" {
			fmt.Fprintf(&b, " (%s)", clean.Line(o.Description))
		}
	}
	return b.String()
}

func quotedEach(values []string) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = "`" + clean.Line(v) + "`"
	}
	return list
}

// readNeedsInput reads an object of kind needsInput:v1. Members of an unexpected type are
// ignored.
func readNeedsInput(raw json.Value) *recourse.NeedsInput {
	n := &recourse.NeedsInput{}
	for _, m := range json.MembersOf(raw) {
		switch m.Name {
		case "message":
			n.Message = clean.Message(json.Plain(m.Value))
		case "options":
			if json.UnmarshalLenient(m.Value, &n.Options) != nil {
				n.Options = nil
			}
		case "needsInput":
			var o struct {
				Fields      []string            `json:"fields"`
				Reason      string              `json:"reason"`
				Suggestions map[string][]string `json:"suggestions"`
			}
			if json.UnmarshalLenient(m.Value, &o) == nil {
				n.Fields, n.Reason, n.Suggestions = o.Fields, o.Reason, o.Suggestions
			}
		}
	}
	return n
}
