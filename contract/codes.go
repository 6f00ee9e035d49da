package contract

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/rpccode"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// codes compiles the entries: the file's own, then those of the contract that it
// extends and does not list anew.
func (k *compiler) codes() {
	c := k.c
	c.byCode = map[string]*entry{}
	lines := map[string]int{}
	for i := range k.file.Codes {
		f := &k.file.Codes[i]
		at := f.Node.Get("code")
		if line, twice := lines[f.Code]; twice {
			k.mistakef(at, "give each code one entry; `for` takes a list", "code %s is already listed in line %d", f.Code, line)
			continue
		}
		lines[f.Code] = at.Pos().Line
		en, mistaken := k.entry(f)
		k.own = append(k.own, ownEntry{en, f, mistaken})
		c.byCode[en.code] = en
	}
	c.codes = nil
	for _, own := range k.own {
		c.codes = append(c.codes, own.entry)
	}
	if k.parent != nil {
		for _, en := range k.parent.codes {
			if _, anew := c.byCode[en.code]; !anew {
				c.codes = append(c.codes, en)
				c.byCode[en.code] = en
			}
		}
	}
	c.open = nil
	for _, en := range c.codes {
		if en.open != nil && c.open == nil {
			c.open = en
		}
		for _, other := range en.reads {
			if _, listed := c.byCode[other]; !listed {
				c.byCode[other] = en
			}
		}
	}
	k.references()
	k.lint()
}

// An ownEntry is an entry with the place where it is written.
type ownEntry struct {
	*entry

	file     *contractform.CodeFile
	mistaken bool // what it selects is not known
}

// references resolves the codes that the file names outside their entries.
func (k *compiler) references() {
	var known []string
	for _, en := range k.c.codes {
		if en.code != "" {
			known = append(known, en.code)
		}
	}
	switch {
	case k.file.Default != nil:
		k.c.fallback = k.c.byCode[k.oneOf(k.file.Default, known...)]
	case k.parent != nil:
		k.c.fallback = k.c.byCode[k.parent.fallback.code]
	case k.file.Extends == nil:
		k.mistakef(k.file.Node, "name the code for everything that no entry selects", "there is no `default`")
	}
	if k.c.fallback != nil && k.c.fallback.open != nil {
		k.mistakef(k.file.Default, "name a code that every record can have", "`default` has to be a word of this contract")
	}
	for _, own := range k.own {
		if own.file.Otherwise != nil {
			own.otherwise = k.oneOf(own.file.Otherwise, known...)
		}
		if own.otherwise != "" && own.http == nil {
			k.mistakef(own.file.Otherwise, "remove it, or add `http`", "`otherwise` is for a code with an `http` form")
		}
	}
}

func (k *compiler) entry(f *contractform.CodeFile) (en *entry, mistaken bool) {
	en = &entry{code: f.Code, name: f.Name, group: f.Group, when: f.When, reads: f.Reads, wait: f.Wait}
	if strings.ContainsAny(f.Code, "{}") {
		en.open = k.template(f.Node.Get("code"))
	}
	en.kind = recourse.Kind(k.oneOf(f.Kind, words(recourse.Kinds())...))
	mistaken = k.selectFor(en, f.For)
	if f.Wait < 0 {
		k.mistakef(f.Node.Get("wait"), "write a duration such as 30s", "a wait is not negative")
	}
	en.retry = k.retryable(f.Retryable)
	en.set = k.constants(f.Set)
	if f.Message != nil {
		en.message = k.templates(f.Message)
	}
	if f.Hint != nil {
		en.hints = k.alternatives(f.Hint)
	}
	if f.HTTP != nil {
		en.http = k.http(f.HTTP)
	}
	if f.RPC != nil {
		en.rpc = &rpcForm{code: f.RPC.Code, messages: k.templates(f.RPC.Message)}
		for _, t := range en.rpc.messages {
			k.readable(f.RPC.Message, t)
		}
		if f.RPC.Data != nil {
			en.rpc.data = k.body(f.RPC.Data)
		}
	}
	return en, mistaken
}

// selectFor compiles what an entry selects, and reports whether that is not known
// because of a mistake.
func (k *compiler) selectFor(en *entry, file *strictyaml.Node) (mistaken bool) {
	if file == nil {
		en.selectors = []selector{{{on: onKind, values: []string{string(en.kind)}}}}
		return en.kind == ""
	}
	for _, n := range items(file) {
		before := k.mistakes
		sel := k.selector(n)
		if k.mistakes > before {
			mistaken = true
			continue
		}
		en.selectors = append(en.selectors, sel)
	}
	return mistaken
}

// constants reads values by path.
func (k *compiler) constants(n *strictyaml.Node) []constant {
	var list []constant
	for name, value := range n.All() {
		p, err := compilePath(name, contractform.RecordType)
		if err != nil {
			k.reportf(n.Key(name), pathHint(name), "%s", err)
			continue
		}
		if words := p.words(); words != nil {
			k.oneOf(value, words...)
		}
		list = append(list, constant{p, k.constant(value)})
	}
	return list
}

func (k *compiler) retryable(n *strictyaml.Node) retryable {
	if n == nil {
		return retryable{mode: byRecord}
	}
	if status := n.Get("status"); status != nil {
		r := retryable{mode: byStatus}
		for _, item := range items(status) {
			r.status = append(r.status, k.conditionValue(onStatus, item))
		}
		return r
	}
	switch n.Text() {
	case "error":
		return retryable{mode: byRecord}
	case "stated":
		return retryable{mode: stated}
	}
	var yes bool
	switch n.Kind() {
	case strictyaml.KindMapping, strictyaml.KindSequence:
	default:
		if text := n.Text(); text == "true" || text == "false" || text == "yes" || text == "no" {
			_ = n.Decode(&yes) // one of the words that Decode knows
			if yes {
				return retryable{mode: always}
			}
			return retryable{mode: never}
		}
	}
	k.mistakef(n, "one of true, false, {status: 5xx}, error, stated", "this is no way to decide whether to retry")
	return retryable{}
}

func (k *compiler) http(f *contractform.HTTPFile) *httpForm {
	form := &httpForm{status: f.Status, media: f.Type}
	if f.Status < http.StatusBadRequest || f.Status > 599 {
		k.mistakef(f.Node.Get("status"), "a failure is answered with 400 to 599", "status %d is none of a failure", f.Status)
	}
	if (f.Body == nil) != (f.Type == "") {
		k.mistakef(f.Node, "leave out both for an empty body", "`type` and `body` go together")
	}
	for _, h := range f.Headers {
		t := k.template(h.Value)
		k.readable(h.Value, t)
		form.headers = append(form.headers, header{h.Key, t})
	}
	if f.Body != nil {
		form.body = k.body(f.Body)
	}
	return form
}

// lint reports what a file says that cannot be meant.
func (k *compiler) lint() {
	for i, own := range k.own {
		at := own.file.Node.Get("code")
		if own.entry != k.c.fallback && !own.mistaken && len(own.selectors) > 0 && k.unreachable(i) {
			k.mistakef(at, "move it up, narrow an earlier `for`, or write for: [] when only authors choose it",
				"no record reaches %s: earlier entries select all of its own", own.code)
		}
		if n, err := strconv.Atoi(own.code); err == nil && rpccode.Reserved(n) && own.rpc == nil {
			k.mistakef(at, "codes of your own lie outside -32768..-32000",
				"%s is reserved by JSON-RPC and the entry has no `rpc`", own.code)
		}
		if k.hasHintPlace() && len(own.hints) == 0 && own.http == nil && own.rpc == nil {
			k.mistakef(at, "say what the caller can do", "%s has no `hint`, and the layout has a place for one", own.code)
		}
		if line, ok := k.c.layout.text.(textCodec); ok && own.open == nil && line.namesCode() && !isCodeWord(own.code) {
			k.mistakef(at, "use letters, digits, _, - and . only",
				"a code that stands in a text has to be one word, and `%s` is none", own.code)
		}
		for j, t := range own.message {
			k.lintMessage(items(own.file.Message)[j], t)
		}
	}
	k.lintHintTools()
}

// lintMessage refuses forms of a message that cannot be read back.
func (k *compiler) lintMessage(n *strictyaml.Node, t *template) {
	if !k.readable(n, t) || !t.frames() {
		return
	}
	for i, p := range t.parts {
		wait := p.path != nil && p.path.src == pathSeconds && i > 0 && !p.optional
		if p.path != nil && !p.path.isSentence() && !wait {
			k.mistakef(n, "use {message} with a text before or behind it",
				"a form of {message} is a prefix or a suffix, in which nothing is named but {after.seconds}")
			return
		}
	}
}

// readable refuses a template that cannot be taken apart again.
func (k *compiler) readable(n *strictyaml.Node, t *template) bool {
	for i := 1; i < len(t.parts); i++ {
		if t.parts[i].path != nil && t.parts[i-1].path != nil {
			k.mistakef(n, "put a text between them", "two placeholders side by side cannot be told apart when it is read")
			return false
		}
	}
	return true
}

func (k *compiler) hasHintPlace() bool {
	if line, ok := k.c.layout.text.(textCodec); ok && line.hints.before != "" {
		return true
	}
	return k.c.layout.shape != nil && k.c.layout.shape.places("hints")
}

// places reports whether sh has a member for a path below src.
func (sh *shape) places(src string) bool {
	return slices.ContainsFunc(sh.members, func(m shapeMember) bool {
		if m.nested != nil && m.list == nil && m.nested.places(src) {
			return true
		}
		return slices.ContainsFunc(m.paths(), func(p *path) bool { return p.src == src || strings.HasPrefix(p.src, src+".") })
	})
}

// unreachable reports whether earlier entries select every record that entry i
// selects, as far as that follows from the conditions.
func (k *compiler) unreachable(i int) bool {
	for _, sel := range k.own[i].selectors {
		for _, kind := range sel.kinds() {
			if !slices.ContainsFunc(k.own[:i], func(earlier ownEntry) bool { return earlier.covers(sel, kind) }) {
				return false
			}
		}
	}
	return true
}

// covers reports whether en selects all records of that kind that sel selects.
func (en *entry) covers(sel selector, kind recourse.Kind) bool {
	return en.open == nil && slices.ContainsFunc(en.selectors, func(wider selector) bool {
		return slices.Contains(wider.kinds(), kind) && sel.implies(wider)
	})
}

// inResult reports whether the code can stand in a tool result.
func (en *entry) inResult() bool { return en.open == nil && en.otherwise == "" && en.rpc == nil }
