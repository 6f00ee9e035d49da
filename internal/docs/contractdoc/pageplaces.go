package contractdoc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// places says where in an answer a failure appears.
func (p *pageWriter) places() {
	p.heading("Where a failure appears")
	p.layout(&p.form.Layout)
	p.toolResults()
}

// layout says where in an answer of that layout a failure appears.
func (p *pageWriter) layout(l *contractform.Layout) {
	var texts []string
	if l.Line == nil {
		texts = append(texts, "The first text of `content` is the object, as JSON.")
	} else {
		texts = append(texts, describeLine(l.Line))
	}
	if l.Human != "" {
		texts = append(texts, fmt.Sprintf(
			"The argument `%s` of the call selects the texts: `markdown` is %s, `json` the form above, `both` one after the other. "+
				"The default, also for unknown values and tools without the argument, is `%s`.",
			l.Format.Argument, code(l.Human), l.Format.Fallback))
		if len(l.Format.Tools) > 0 {
			texts[len(texts)-1] += fmt.Sprintf(" %s have it, whatever their inputSchema says.", codesText(l.Format.Tools))
		}
	}
	if l.Structured {
		texts = append(texts, "`structuredContent` is the object, unless the tool declares an outputSchema.")
	}
	if l.Result != "" {
		texts = append(texts, fmt.Sprintf("The member %s of the result is the object, too.", code(l.Result)))
	}
	if l.Advises {
		texts = append(texts, "What may have taken effect, and what a person has to set right first, is said after the message, "+
			"in sentences of their own.")
	}
	if l.IsError {
		texts = append(texts, "`isError` is true.")
	} else {
		texts = append(texts, "`isError` is absent.")
	}
	texts = append(texts, fmt.Sprintf(
		"`_meta[%q]` is the whole record: kind, effect, wait and everything else, whatever the object can hold.", recourse.MetaKey))
	p.list(texts...)
}

func describeLine(l *contractform.Line) string {
	text := fmt.Sprintf("The first text of `content` is a line, %s.", code(l.Src))
	if l.BeforeHints != "" {
		text += fmt.Sprintf(" Hints follow: %q before the first, %q between them.", l.BeforeHints, l.BetweenHints)
	}
	if l.EnvelopeShape != nil {
		text += fmt.Sprintf(" If there are details, %q and one line of JSON come last.", l.EnvelopeMark)
	}
	return text
}

// reading documents what is read in addition to what is written.
func (p *pageWriter) reading() {
	p.heading("Read, but never written")
	texts := []string{"An unlisted code: by its retryable boolean and its status."}
	for _, en := range p.form.Codes {
		if len(en.Reads) > 0 {
			texts = append(texts, fmt.Sprintf("%s is read as %s.", codesText(en.Reads), code(en.Code)))
		}
	}
	for _, r := range p.form.Ranges {
		text := fmt.Sprintf("An unlisted code from %d to %d is read as %s", r.From, r.To, code(string(r.Kind)))
		if r.Name != "" {
			text += " (" + r.Name + ")"
		}
		texts = append(texts, text+".")
	}
	texts = append(texts, p.otherForms()...)
	if p.form.Layout.Shape != nil && p.form.Layout.Shape.Marked() {
		texts = append(texts, "The object in an answer without isError: only from a server that is known to follow this contract.")
	}
	texts = append(texts, "The texts of SDKs and other servers, as in every contract.")
	p.list(texts...)
}

// otherForms lists the forms that are read from a server that is known to follow the contract.
func (p *pageWriter) otherForms() []string {
	var sentences, objects []string
	for _, r := range p.form.Reads {
		if r.Text != "" {
			sentences = append(sentences, code(r.Text))
			continue
		}
		object := code(outline(r.Shape))
		if !slices.Contains(objects, object) {
			objects = append(objects, object)
		}
	}
	var texts []string
	if len(sentences) > 0 {
		texts = append(texts, fmt.Sprintf("As the whole text of a failed call, from a server that is known to follow this contract: %s.",
			strings.Join(sentences, ", ")))
	}
	if len(objects) > 0 {
		texts = append(texts, fmt.Sprintf("As an object, from such a server, even in an answer that reports success: %s.",
			strings.Join(objects, ", ")))
	}
	return texts
}

// outline shows the members of an object.
func outline(sh *contractform.Shape) string {
	var names []string
	for _, m := range sh.Members {
		name := m.Name
		switch {
		case m.Constant != nil:
			name += ": " + string(m.Constant)
		case m.Nested != nil && m.List == nil:
			name += ": " + outline(m.Nested)
		}
		names = append(names, name)
	}
	if sh.Rest != "" {
		names = append(names, "...")
	}
	return "{" + strings.Join(names, ", ") + "}"
}

// question shows how a question to the caller is written.
func (p *pageWriter) question() {
	if p.form.Question == nil {
		return
	}
	p.heading("Questions")
	p.linef("A call that needs an answer from the caller is not a failure: it has no isError, and appears where a failure would.")
	call := p.exampleCall()
	call.FormatArgument, call.Arguments = true, []byte(`{"format":"both"}`)
	a := p.c.Ask(&recourse.NeedsInput{
		Message: "Which one is meant?", Reason: "ambiguous", Fields: []string{"id"},
		Suggestions: map[string][]string{"id": {"a", "b"}},
		Options:     []recourse.Option{{Label: "The first", Value: "a", Field: "id"}},
	}, call)
	p.fence("json", indented(json.Value(a.Result)))
	for _, en := range p.form.Codes {
		if en.Ask == nil {
			continue
		}
		var selectors []string
		for _, sel := range en.Ask.Selectors {
			selectors = append(selectors, code(sel.String()))
		}
		p.linef("Instead of %s, these calls get such a question: %s.", code(en.Code), strings.Join(selectors, ", "))
	}
}

// loss documents what the contract's own form does not carry.
func (p *pageWriter) loss() {
	p.heading("What the form does not carry")
	lost := Loss(p.c)
	if len(lost) == 0 {
		p.linef("Nothing: the record itself is written.")
		return
	}
	p.linef("Without the record in `_meta`, a client does not get:")
	texts := make([]string, len(lost))
	for i, l := range lost {
		texts[i] = code(l.Path)
		others := slices.DeleteFunc(slices.Clone(p.form.ResultKinds), func(k recourse.Kind) bool { return slices.Contains(l.Kinds, k) })
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

// toolResults documents the tools that return their failures.
func (p *pageWriter) toolResults() {
	for _, r := range p.form.ToolResults {
		p.linef("### Of %s", codesText(r.Tools))
		p.linef("Such a tool returns what went wrong as its own result:")
		call := p.exampleCall()
		call.Tool = r.Tools[0]
		a := p.c.Write(Example(p.c, p.form.Fallback), call)
		var result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		}
		if json.Unmarshal(a.Result, &result) == nil && len(result.Content) > 0 {
			p.fence("json", indented(json.Value(result.Content[0].Text)))
		}
		p.layout(&r.Layout)
	}
}
