package contract

import (
	"maps"
	"slices"

	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/contractform"
)

// Documents and generators inspect a contract through package contractform.
var _ = contractform.Provide(func(contract any) *contractform.Form {
	c, _ := contract.(*Contract)
	return c.form()
}, func(family any) *contractform.FamilyFile {
	f, _ := family.(*Family)
	return f.family.File
}, vocabulary)

// form returns the contract as data.
func (c *Contract) form() *contractform.Form {
	f := &contractform.Form{
		Words: map[string]*contractform.Code{}, Layout: c.layout.form(), Members: c.documented(),
		Question: c.question.form(), Upstream: c.upstream.form(), Hints: hintForms(c.hints), HintTools: c.hintTools,
		Ranges: c.ranges, Verify: map[string]contractform.VerifyCall{}, Literals: c.literals, ShowsValues: c.showsValues,
		Silence: c.silence, ResultKinds: c.resultKinds(),
	}
	byEntry := map[*codeEntry]*contractform.Code{}
	for _, en := range c.codes {
		byEntry[en] = en.form()
		f.Codes = append(f.Codes, byEntry[en])
	}
	f.Fallback = byEntry[c.fallback]
	for word, en := range c.byCode {
		f.Words[word] = byEntry[en]
	}
	for _, own := range c.ownResults {
		f.ToolResults = append(f.ToolResults, contractform.ToolResult{Tools: own.tools, Layout: own.layout.form()})
	}
	for _, r := range c.reads {
		f.Reads = append(f.Reads, contractform.Read{Text: sourceOf(r.text), Shape: r.shape.form(), Set: constantForms(r.set)})
	}
	f.ResourcesByArgument, f.ResourcesByTool = c.resources.written, c.resources.byTool
	f.Batch, f.Once, f.Expects = c.batch, c.once, c.expects
	f.ReadOnly, f.Readers = c.readOnly, slices.Sorted(maps.Keys(c.readers))
	for tool, rule := range c.verify {
		rule.Args = slices.Clone(rule.Args)
		for i := range rule.Args {
			rule.Args[i].Spelled = c.literal(rule.Args[i].Value)
		}
		f.Verify[tool] = rule
	}
	return f
}

// documented returns the members of the contract's object, in order.
func (c *Contract) documented() []contractform.ObjectMember {
	names := c.memberNames()
	list := make([]contractform.ObjectMember, len(names))
	for i, name := range names {
		list[i] = contractform.ObjectMember{Name: name}
		for _, doc := range c.members {
			if doc.Name == name {
				list[i] = doc
			}
		}
		list[i].Type = c.memberType(name)
	}
	return list
}

// memberType returns the JSON type of a member of the object.
func (c *Contract) memberType(name string) string {
	if c.layout.shape != nil {
		for _, m := range c.layout.shape.members {
			if m.name == name {
				f := m.form()
				return f.Type()
			}
		}
	}
	switch name {
	case "v":
		return contractform.TypeInteger
	case "truncated":
		return contractform.TypeBoolean
	case "message":
		return contractform.TypeString
	}
	p, err := language.CompilePath(name, contractform.RecordType)
	if err != nil || p.Leaf == nil {
		return ""
	}
	return contractform.TypeOf(p.Leaf)
}

func (en *codeEntry) form() *contractform.Code {
	f := &contractform.Code{
		Code: en.code, Open: en.open != nil, Name: en.name, Kind: en.kind, Group: en.group, When: en.when, Reads: en.reads,
		Set: constantForms(en.set), Retry: en.retry,
		Wait: en.wait, Messages: sources(en.message), Hints: hintForms(en.hints), Otherwise: en.otherwise,
	}
	for _, sel := range en.selectors {
		f.Selectors = append(f.Selectors, sel.form())
	}
	if en.ask != nil {
		f.Ask = &contractform.Ask{Messages: sources(en.ask.messages), Reason: en.ask.reason, Fields: en.ask.fields}
		for _, sel := range en.ask.selectors {
			f.Ask.Selectors = append(f.Ask.Selectors, sel.form())
		}
	}
	if en.http != nil {
		f.HTTP = &contractform.HTTP{Status: en.http.status, Media: en.http.media, Body: en.http.body.form()}
		for _, h := range en.http.headers {
			f.HTTP.Headers = append(f.HTTP.Headers, contractform.Header{Name: h.name, Value: sourceOf(h.value)})
		}
	}
	if en.rpc != nil {
		f.RPC = &contractform.RPC{Code: en.rpc.code, Messages: sources(en.rpc.messages), Data: en.rpc.data.form()}
	}
	return f
}

// sourceOf returns t as written in the file; "" for nil.
func sourceOf(t *language.Template) string {
	if t == nil {
		return ""
	}
	return t.Src
}

func sources(list []*language.Template) []string {
	var texts []string
	for _, t := range list {
		texts = append(texts, t.Src)
	}
	return texts
}

func hintForms(list []alternative) []contractform.Hint {
	var hints []contractform.Hint
	for _, a := range list {
		hints = append(hints, contractform.Hint{When: a.when.form(), Text: a.text.Src, Tools: a.tools})
	}
	return hints
}

func constantForms(list []language.Constant) []contractform.Constant {
	var constants []contractform.Constant
	for _, k := range list {
		constants = append(constants, contractform.Constant{Path: k.Path.Src, Value: k.Value})
	}
	return constants
}

func (sel selector) form() contractform.Selector {
	var f contractform.Selector
	for _, c := range sel {
		f = append(f, contractform.Condition{On: c.on, Values: c.values})
	}
	return f
}

func (l *layout) form() contractform.Layout {
	f := contractform.Layout{
		Shape: l.shape.form(), Record: l.record, Human: sourceOf(l.human),
		Format: l.format, Structured: l.structured, Result: l.result, IsError: l.isError, MimeTypes: l.mimeTypes, Advises: l.advises,
	}
	switch text := l.text.(type) {
	case jsonCodec:
		f.Indent = len(text.indent)
	case textCodec:
		f.Line = &contractform.Line{
			Src: text.line.Src, BeforeHints: text.hints.before, BetweenHints: text.hints.between,
			EnvelopeMark: text.envelope.mark, EnvelopeShape: text.envelope.shape.form(),
		}
		for _, p := range text.line.Parts {
			f.Line.Parts = append(f.Line.Parts, contractform.Part{Literal: p.Literal, Path: pathForm(p.Path)})
		}
	}
	return f
}

func (sh *shape) form() *contractform.Shape {
	if sh == nil {
		return nil
	}
	f := &contractform.Shape{}
	for i := range sh.members {
		f.Members = append(f.Members, sh.members[i].form())
	}
	if sh.rest != nil {
		f.Rest = sh.rest.Src
	}
	return f
}

func (m *shapeMember) form() contractform.ShapeMember {
	f := contractform.ShapeMember{
		Name: m.name, Constant: m.constant, Path: pathForm(m.path), Nested: m.nested.form(), List: pathForm(m.list),
	}
	for _, c := range m.choices {
		f.Choices = append(f.Choices, contractform.Choice{When: c.when.form(), Constant: c.constant, Path: pathForm(c.path)})
	}
	return f
}

func pathForm(p *language.Path) *contractform.Path {
	if p == nil {
		return nil
	}
	f := &contractform.Path{Src: p.Src, Leaf: p.Leaf}
	if p.Computed != nil {
		f.Computed = p.Computed.Type
	}
	return f
}

func (b *body) form() *contractform.Body {
	if b == nil {
		return nil
	}
	f := &contractform.Body{Constant: b.constant, Text: sourceOf(b.text), Shape: b.shape}
	for _, m := range b.object {
		f.Object = append(f.Object, contractform.BodyMember{Name: m.name, Value: m.value.form()})
	}
	for _, item := range b.list {
		f.List = append(f.List, item.form())
	}
	return f
}

// vocabulary returns the words of the language.
func vocabulary() contractform.Vocabulary {
	var v contractform.Vocabulary
	for _, c := range conditions {
		words := c.words
		if c.name == onKind || c.name == onClass { // which have tables of their own
			words = nil
		}
		v.Conditions = append(v.Conditions, contractform.Condition{On: c.name, Values: words})
	}
	v.Computed = language.ComputedPaths()
	return v
}

// memberNames returns the members of the contract's object, in order.
func (c *Contract) memberNames() []string {
	if c.layout.shape == nil {
		return slices.Concat([]string{"v"}, contractform.RecordOrder(), []string{"truncated"})
	}
	names := make([]string, len(c.layout.shape.members))
	for i, m := range c.layout.shape.members {
		names[i] = m.name
	}
	return names
}
