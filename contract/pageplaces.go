package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// Members returns the members of the contract's object, in their order.
func (c *Contract) Members() []Member {
	names := c.memberNames()
	list := make([]Member, len(names))
	for i, name := range names {
		list[i] = Member{Name: name}
		for _, doc := range c.members {
			if doc.Name == name {
				list[i] = doc
			}
		}
		list[i].Type = c.memberType(name)
	}
	return list
}

// memberType names the JSON type of a member of the object.
func (c *Contract) memberType(name string) string {
	if c.layout.shape != nil {
		for _, m := range c.layout.shape.members {
			if m.name == name {
				return m.typeOf()
			}
		}
	}
	switch name {
	case "v":
		return typeInteger
	case "truncated":
		return typeBoolean
	}
	p, err := compilePath(name, recordType)
	if err != nil {
		return ""
	}
	p.special = nil
	if name == memberMessage {
		return typeString
	}
	return p.typeOf()
}

func (m *shapeMember) typeOf() string {
	switch {
	case m.constant != nil:
		return code(string(m.constant))
	case m.list != nil:
		return typeArray
	case m.nested != nil:
		return typeObject
	case m.choices != nil:
		return strings.Join(typesOf(m.choices), " or ")
	default:
		return m.path.typeOf()
	}
}

// writesObject reports whether the object stands anywhere in a result.
func (c *Contract) writesObject() bool {
	_, isJSON := c.layout.text.(jsonCodec)
	return isJSON || c.layout.structured || c.layout.result != ""
}

// places tells where in an answer a failure stands.
func (p *page) places() {
	p.heading("Where a failure stands")
	p.layout(&p.c.layout)
	p.returned()
}

// layout tells where in an answer of that layout a failure stands.
func (p *page) layout(l *layout) {
	var texts []string
	switch text := l.text.(type) {
	case jsonCodec:
		texts = append(texts, "The first text of `content` is the object, as JSON.")
	case textCodec:
		texts = append(texts, text.describe())
	}
	if l.human != nil {
		texts = append(texts, fmt.Sprintf(
			"The argument `%s` of the call chooses the texts: `markdown` is %s, `json` the form above, `both` one after the other. "+
				"Missing, unknown, or not taken by the tool: `%s`.", l.format.argument, code(l.human.src), l.format.fallback))
	}
	if l.structured {
		texts = append(texts, "`structuredContent` is the object, unless the tool declares an outputSchema or the server sent its own.")
	}
	if l.result != "" {
		texts = append(texts, fmt.Sprintf("The member %s of the result is the object too.", code(l.result)))
	}
	if l.isError {
		texts = append(texts, "`isError` is true.")
	} else {
		texts = append(texts, "`isError` is left out.")
	}
	texts = append(texts, fmt.Sprintf(
		"`_meta[%q]` is the whole record: kind, effect, wait and everything else, whatever the object can hold.", recourse.MetaKey))
	p.list(texts...)
}

func (t textCodec) describe() string {
	text := fmt.Sprintf("The first text of `content` is a line, %s.", code(t.line.src))
	if t.hints.before != "" {
		text += fmt.Sprintf(" Hints follow: %q before the first, %q between them.", t.hints.before, t.hints.between)
	}
	if t.envelope.shape != nil {
		text += fmt.Sprintf(" Where there are details, %q and one line of JSON come last.", t.envelope.mark)
	}
	return text
}

// reading tells what is understood beyond what is written.
func (p *page) reading() {
	p.heading("Read, but never written")
	texts := []string{"A code that is not listed: by its retryable boolean and its status."}
	for _, en := range p.c.codes {
		if len(en.reads) > 0 {
			texts = append(texts, fmt.Sprintf("%s is read as %s.", codesText(en.reads), code(en.code)))
		}
	}
	for _, r := range p.c.ranges {
		text := fmt.Sprintf("A code from %d to %d that is not listed is read as %s", r.from, r.to, code(string(r.kind)))
		if r.name != "" {
			text += " (" + r.name + ")"
		}
		texts = append(texts, text+".")
	}
	texts = append(texts, p.otherForms()...)
	if p.c.layout.shape != nil && p.c.layout.shape.marked() {
		texts = append(texts, "The object in an answer that does not say isError: only of a server that is known to keep this contract.")
	}
	texts = append(texts, "What SDKs and other servers write, as every contract does.")
	p.list(texts...)
}

// otherForms lists the forms that are read of a server that is known to keep the
// contract.
func (p *page) otherForms() []string {
	var sentences, objects []string
	for _, r := range p.c.reads {
		if r.text != nil {
			sentences = append(sentences, code(r.text.src))
			continue
		}
		object := code(r.shape.outline())
		if !slices.Contains(objects, object) {
			objects = append(objects, object)
		}
	}
	var texts []string
	if len(sentences) > 0 {
		texts = append(texts, fmt.Sprintf("As the whole text of a failed call, of a server that is known to keep this contract: %s.",
			strings.Join(sentences, ", ")))
	}
	if len(objects) > 0 {
		texts = append(texts, fmt.Sprintf("As an object, of such a server, also in an answer that says that it succeeded: %s.",
			strings.Join(objects, ", ")))
	}
	return texts
}

// outline shows the members of an object.
func (sh *shape) outline() string {
	var names []string
	for _, m := range sh.members {
		name := m.name
		switch {
		case m.constant != nil:
			name += ": " + string(m.constant)
		case m.nested != nil && m.list == nil:
			name += ": " + m.nested.outline()
		}
		names = append(names, name)
	}
	if sh.rest != nil {
		names = append(names, "...")
	}
	return "{" + strings.Join(names, ", ") + "}"
}

// question shows how a question to the caller is written.
func (p *page) question() {
	if p.c.question == nil {
		return
	}
	p.heading("Questions")
	p.linef("A call that needs an answer of the caller is no failure: it does not say isError, and stands where a failure would.")
	call := p.exampleCall()
	call.FormatArgument, call.Arguments = true, rawMessage(`{"format":"both"}`)
	a := p.c.Ask(&recourse.NeedsInput{
		Message: "Which one is meant?", Reason: "ambiguous", Fields: []string{"id"},
		Suggestions: map[string][]string{"id": {"a", "b"}},
		Options:     []recourse.Option{{Label: "The first", Value: "a", Field: "id"}},
	}, call)
	p.fence("json", indented(json.Value(a.Result)))
}

// loss tells what the contract's own form does not carry.
func (p *page) loss() {
	p.heading("What the form does not carry")
	lost := p.c.Loss()
	if len(lost) == 0 {
		p.linef("Nothing: the record itself is written.")
		return
	}
	p.linef("Without the record in `_meta`, a client does not get:")
	texts := make([]string, len(lost))
	for i, l := range lost {
		texts[i] = code(l.Path)
		others := slices.DeleteFunc(p.c.resultKinds(), func(k recourse.Kind) bool { return slices.Contains(l.Kinds, k) })
		switch {
		case l.Kinds == nil:
		case len(others) < len(l.Kinds):
			texts[i] += " of all kinds but " + codesText(others)
		default:
			texts[i] += " of " + codesText(l.Kinds)
		}
	}
	p.list(texts...)
}

// String writes the conditions as a reader of the file knows them.
func (sel selector) String() string {
	parts := make([]string, len(sel))
	for i, c := range sel {
		parts[i] = c.on + ": " + strings.Join(c.values, ", ")
	}
	return strings.Join(parts, "; ")
}
