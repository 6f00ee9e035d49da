package contract

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/nearest"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// A compiler makes a Contract of a file and collects the mistakes in it.
type compiler struct {
	doc    *strictyaml.Document
	file   *contractform.File
	c      *Contract
	parent *Contract

	own       []ownEntry
	hintTexts []hintText
	mistakes  int
}

// formVersion is the version of the file form that is read.
const formVersion = 1

func (k *compiler) compile() {
	f, c := k.file, k.c
	if f.Form != formVersion && f.Form != 0 {
		k.mistakef(f.Node.Get("form"), "write form: 1", "form %d is not known", f.Form)
	}
	if !isName(f.Name) && f.Name != "" {
		k.mistakef(f.Node.Get("name"), "use lower-case letters, digits, - and _", "%q is no name for a contract", f.Name)
	}
	c.Name = f.Name
	c.hintTools = append(c.hintTools, f.HintTools...)
	c.Title = f.Title // not the parent's: its page is another
	set(&c.Doc, strings.TrimSpace(f.Doc))
	if f.ReadOnly != nil {
		k.readOnly(f.ReadOnly)
	}
	if f.UnknownTool != nil {
		c.UnknownTool = k.oneOf(f.UnknownTool, unknownToolRPC, unknownToolResult)
	}
	if f.Literals != nil {
		c.literals = k.oneOf(f.Literals, literalsJSON, literalsPython)
	}
	if f.Mask != nil {
		c.Mask = k.masks(f.Mask)
	}
	if f.Session != nil {
		c.Session = k.session(f.Session)
	}
	if f.Retry != nil {
		c.Retry = RetryRule{
			Retries: f.Retry.Retries, Start: f.Retry.Start, Factor: f.Retry.Factor,
			JitterMax: f.Retry.Jitter.Max, JitterFrom: f.Retry.Jitter.From,
		}
		if c.Retry.Retries < 0 || c.Retry.Start <= 0 || c.Retry.Factor < 1 || c.Retry.JitterMax < 0 {
			k.mistakef(f.Retry.Node, "", "a retry rule needs retries >= 0, start > 0, factor >= 1 and jitter >= 0")
		}
	}
	shape := c.layout.shape
	if f.Shape != nil {
		shape = k.shapeOrRecord(f.Shape)
	}
	if f.Write != nil {
		c.layout = k.layout(f.Write)
	} else if f.Extends == nil {
		k.mistakef(f.Node, "for example write: {text: json, structured: true}", "a contract without `extends` needs `write`")
	}
	c.layout.shape = shape
	if f.Returns != nil {
		c.ownResults = k.ownResults(f.Returns)
	}
	if f.Poll != nil {
		c.Poll = PollRule(*f.Poll)
	}
	if f.Upstream != nil {
		c.upstream = k.shape(f.Upstream.Body, contractform.RecordType)
	}
	k.otherForms()
	k.members()
	k.verifies()
	if f.Hints != nil {
		c.hints = k.alternatives(f.Hints)
	}
	k.codes()
	c.bindTools()
	if c.layout.shape == nil && c.layout.text != nil && c.writesObject() {
		c.showsValues = true // the record as a whole
	}
}

// readOnly reads which tools only read: every one, or those that are named.
func (k *compiler) readOnly(n *strictyaml.Node) {
	if n.Kind() == strictyaml.KindBool {
		_ = n.Decode(&k.c.readOnly) // it is a boolean
		return
	}
	var names []string
	if n.Kind() != strictyaml.KindSequence || n.Decode(&names) != nil {
		k.mistakef(n, "write true, or a list such as [get-orders]", "expected true, false or a list of tools")
		return
	}
	for i, name := range names {
		if _, writes := k.file.Verify.Get(name); writes {
			k.mistakef(n.Item(i), "remove it from one of them",
				"%s only reads, and has an entry in `verify`, which is for tools that write", name)
		}
	}
	for _, name := range names {
		k.c.readers[name] = true
	}
}

// verifies reads the calls that settle whether others took effect: they only read.
func (k *compiler) verifies() {
	for _, v := range k.file.Verify {
		k.c.verify[v.Key] = k.verify(v.Value)
	}
	for _, v := range k.file.Verify {
		if _, writes := k.c.verify[v.Value.Call]; writes {
			k.mistakef(v.Value.Node.Get("call"), "name a tool that only reads",
				"%s has an entry in `verify` itself, which is for tools that write", v.Value.Call)
		}
		k.c.readers[v.Value.Call] = true
	}
}

// saw notes what a path that the contract names leads to.
func (k *compiler) saw(p *path) {
	if p.src == memberGot || strings.HasSuffix(p.src, "."+memberGot) {
		k.c.showsValues = true
	}
}

func set(to *string, value string) {
	if value != "" {
		*to = value
	}
}

func isName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") == "" && s[0] != '-' && s[0] != '_'
}

func (k *compiler) mistakef(at *strictyaml.Node, hint, format string, args ...any) {
	k.reportf(at.Pos(), hint, format, args...)
}

func (k *compiler) reportf(at strictyaml.Pos, hint, format string, args ...any) {
	k.mistakes++
	k.doc.Reportf(at, hint, format, args...)
}

// oneOf reads a text that has to be one of those.
func (k *compiler) oneOf(n *strictyaml.Node, values ...string) string {
	var text string
	if n.Decode(&text) != nil {
		return ""
	}
	if !slices.Contains(values, text) {
		k.mistakef(n, nearestHint(text, values), "`%s` is not known here", text)
		return ""
	}
	return text
}

func nearestHint(text string, values []string) string {
	if near, ok := nearest.Of(text, values); ok {
		return "did you mean `" + near + "`?"
	}
	const most = 8
	if more := len(values) - most; more > 2 {
		return fmt.Sprintf("one of %s and %d others", strings.Join(values[:most], ", "), more)
	}
	return "one of " + strings.Join(values, ", ")
}

// pathHint helps with a path that leads nowhere.
func pathHint(src string) string {
	known := slices.Clone(contractform.RecordOrder())
	for name := range specials {
		known = append(known, strings.TrimSuffix(name, "."))
	}
	slices.Sort(known)
	for _, list := range []reflect.Type{reflect.TypeFor[recourse.Violation](), reflect.TypeFor[recourse.MissingData]()} {
		known = append(known, contractform.MembersOf(list)...)
	}
	if near, ok := nearest.Of(src, known); ok {
		return "did you mean `" + near + "`?"
	}
	return "paths are those of the record's JSON form, such as violations.0.param"
}

func (k *compiler) template(n *strictyaml.Node) *template {
	return k.templateOn(n, contractform.RecordType)
}

func (k *compiler) templateOn(n *strictyaml.Node, on reflect.Type) *template {
	var text string
	if n.Decode(&text) != nil {
		return &template{}
	}
	t, err := compileTemplate(text, on)
	switch {
	case errors.Is(err, errBraces):
		k.mistakef(n, "write {path}, and a brace that stands for itself twice", "%s", err)
		return &template{}
	case err != nil:
		name, _, _ := strings.Cut(err.Error(), " ")
		k.mistakef(n, pathHint(name), "%s", err)
		return &template{}
	}
	for _, p := range t.parts {
		if p.path != nil {
			k.saw(p.path)
		}
	}
	return t
}

// templates reads one template or a list of them.
func (k *compiler) templates(n *strictyaml.Node) []*template {
	var list []*template
	for _, item := range items(n) {
		list = append(list, k.template(item))
	}
	return list
}

// items returns the items of a sequence, or the value itself.
func items(n *strictyaml.Node) []*strictyaml.Node {
	if n.Kind() != strictyaml.KindSequence {
		return []*strictyaml.Node{n}
	}
	list := make([]*strictyaml.Node, n.Len())
	for i := range list {
		list[i] = n.Item(i)
	}
	return list
}

// selector reads a mapping of conditions.
func (k *compiler) selector(n *strictyaml.Node) selector {
	sel := selector{}
	if n.Kind() != strictyaml.KindMapping {
		k.mistakef(n, "for example {kind: not_found, resource: field}", "expected conditions")
		return sel
	}
	for name, value := range n.All() {
		if !slices.Contains(conditions, name) {
			k.reportf(n.Key(name), nearestHint(name, conditions), "unknown condition `%s`", name)
			continue
		}
		c := condition{on: name}
		for _, item := range items(value) {
			c.values = append(c.values, k.conditionValue(name, item))
		}
		if name == onHas {
			for i, item := range items(value) {
				p, err := compilePath(c.values[i], contractform.RecordType)
				if err != nil {
					k.mistakef(item, pathHint(c.values[i]), "%s", err)
					continue
				}
				c.paths = append(c.paths, p)
			}
		}
		sel = append(sel, c)
	}
	return sel
}

func (k *compiler) conditionValue(name string, n *strictyaml.Node) string {
	text := n.Text()
	known := map[string][]string{
		onKind:   words(recourse.Kinds()),
		onClass:  words(recourse.Classes()),
		onOrigin: contractform.Origins,
		onAt:     places,
		onEffect: contractform.Effects,
		onRetry:  contractform.Retries,
	}[name]
	if known != nil && !slices.Contains(known, text) {
		k.mistakef(n, nearestHint(text, known), "`%s` is no %s", text, name)
	}
	if name == onStatus && text != statusNone && !isStatus(text) {
		k.mistakef(n, "write a number such as 404, or 5xx, or none", "`%s` is no HTTP status", text)
	}
	return text
}

func words[T ~string](list []T) []string {
	texts := make([]string, len(list))
	for i, w := range list {
		texts[i] = string(w)
	}
	return texts
}

func isStatus(text string) bool {
	if len(text) != 3 || text[0] < '1' || text[0] > '5' {
		return false
	}
	return text[1:] == "xx" || strings.Trim(text[1:], "0123456789") == ""
}

// shapeOrRecord reads a shape, or the word record for the record's own form.
func (k *compiler) shapeOrRecord(n *strictyaml.Node) *shape {
	if n.Kind() == strictyaml.KindString {
		k.oneOf(n, "record")
		return nil
	}
	return k.shape(n, contractform.RecordType)
}

func (k *compiler) shape(n *strictyaml.Node, on reflect.Type) *shape {
	sh := &shape{}
	if n.Kind() != strictyaml.KindMapping {
		k.mistakef(n, "for example {code: code, message: message}", "expected a mapping of members to paths")
		return sh
	}
	for name, value := range n.All() {
		if name == restMember {
			if sh.rest = k.path(value, on); sh.rest != nil && (sh.rest.leaf == nil || sh.rest.leaf.Kind() != reflect.Map) {
				k.mistakef(value, "only details has members of its own", "%s has no members to place here", sh.rest.src)
				sh.rest = nil
			}
			continue
		}
		m := shapeMember{name: name}
		switch {
		case value.Kind() == strictyaml.KindSequence:
			m.choices = k.choices(value, on)
		case value.Kind() != strictyaml.KindMapping:
			k.source(&m, value, on)
		case value.Get("each") != nil && value.Get("item") != nil:
			m.list = k.path(value.Get("each"), on)
			if m.list == nil {
				continue
			}
			item := k.listItem(m.list, on, value.Get("each"))
			if item == nil {
				continue
			}
			m.nested = k.shape(value.Get("item"), item)
		default:
			m.nested = k.shape(value, on)
		}
		if m.path != nil || m.constant != nil || m.nested != nil || len(m.choices) > 0 {
			sh.members = append(sh.members, m)
		}
	}
	return sh
}

// restMember is the name under which the members of a map stand beside the others.
const restMember = "..."

// source reads a path, or a constant after an equals sign.
func (k *compiler) source(m *shapeMember, n *strictyaml.Node, on reflect.Type) {
	var text string
	if n.Decode(&text) != nil {
		return
	}
	constant, ok := strings.CutPrefix(text, "=")
	if !ok {
		m.path = k.path(n, on)
		return
	}
	if m.constant = json.Value(constant); !json.Valid(m.constant) {
		m.constant = json.AppendQuote(nil, constant)
	}
}

func (k *compiler) path(n *strictyaml.Node, on reflect.Type) *path {
	var text string
	if n.Decode(&text) != nil {
		return nil
	}
	p, err := compilePath(text, on)
	if err != nil {
		k.mistakef(n, pathHint(text), "%s", err)
		return nil
	}
	k.saw(p)
	return p
}

// listItem returns the type of the items of the list that p leads to.
func (k *compiler) listItem(p *path, on reflect.Type, n *strictyaml.Node) reflect.Type {
	t := on
	for _, st := range p.steps {
		if st.field < 0 || p.special != nil {
			t = nil
			break
		}
		t = contractform.Indirect(t.Field(st.field).Type)
	}
	if t == nil || t == contractform.ArgsType || t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Struct {
		k.mistakef(n, "lists of objects are violations, quotas, succeeded, failed and missing", "%s is no list of objects", p.src)
		return nil
	}
	return t.Elem()
}

func (k *compiler) layout(w *contractform.WriteFile) layout {
	l := layout{structured: w.Structured, result: w.Result, isError: w.IsError, mimeTypes: w.MimeTypes}
	if w.Indent < 0 || w.Indent > 8 {
		k.mistakef(w.Node.Get("indent"), "use 0 to 8", "indent %d is not sensible", w.Indent)
		w.Indent = 0
	}
	if w.Text.Text() == "json" {
		l.text = jsonCodec{indent: strings.Repeat(" ", w.Indent)}
	} else {
		l.text = k.line(w)
	}
	if w.Human != nil {
		l.human = k.template(w.Human)
		k.readable(w.Human, l.human)
	}
	if w.Format != nil {
		l.format = formatGate{argument: w.Format.Argument, fallback: w.Format.Default}
		if w.Human == nil {
			k.mistakef(w.Format.Node, `add human: "{message}"`,
				"a format argument chooses between `text` and `human`, and there is no `human`")
		}
		if !slices.Contains([]string{formatMarkdown, formatJSON, formatBoth}, w.Format.Default) {
			k.mistakef(w.Format.Node.Get("default"), "one of markdown, json, both", "`%s` is no format", w.Format.Default)
		}
	}
	return l
}

// line reads a text layout.
func (k *compiler) line(w *contractform.WriteFile) textCodec {
	line := textCodec{line: k.template(w.Text)}
	k.readable(w.Text, line.line)
	if w.Hints != nil {
		line.hints = hintList{before: w.Hints.Before, between: w.Hints.Between}
		if w.Hints.Before == "" || w.Hints.Between == "" {
			k.mistakef(w.Node.Get("hints"), `for example {before: " Suggestions: ", between: "; "}`,
				"hints need a text before and between them")
		}
	}
	if w.Envelope != nil {
		line.envelope = envelope{mark: w.Envelope.Mark, shape: k.shape(w.Envelope.Shape, contractform.RecordType)}
		if mark := strings.TrimSpace(w.Envelope.Mark); len(mark) < 3 || mark[0] != '[' || !isCodeWord(strings.Trim(mark, "[]")) {
			k.mistakef(w.Node.Get("envelope").Get("mark"), `for example " [envelope] "`, "the mark has to be a word in brackets")
			line.envelope = envelope{}
		}
	}
	return line
}

// constant turns a YAML value into JSON.
func (k *compiler) constant(n *strictyaml.Node) json.Value {
	var v any
	if n.Decode(&v) != nil {
		return json.Value("null")
	}
	raw, err := json.Marshal(v)
	if err != nil {
		k.mistakef(n, "", "%s", fmt.Errorf("has no JSON form: %w", err))
		return json.Value("null")
	}
	return raw
}
