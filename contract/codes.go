package contract

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// codes compiles the entries: the file's own, then those of the contract that it
// extends and does not list anew.
func (k *compiler) codes() {
	c := k.c
	c.byCode = map[string]*entry{}
	lines := map[string]int{}
	own := make([]*entry, 0, len(k.file.Codes))
	for _, f := range k.file.Codes {
		at := f.Node.Get("code")
		if line, twice := lines[f.Code]; twice {
			k.mistake(at, "give each code one entry; `for` takes a list", "code %s is already listed in line %d", f.Code, line)
			continue
		}
		lines[f.Code] = at.Pos().Line
		en := k.entry(f)
		own = append(own, en)
		c.byCode[en.code] = en
	}
	c.codes = own
	if k.parent != nil {
		for _, en := range k.parent.codes {
			if _, anew := c.byCode[en.code]; !anew {
				c.codes = append(c.codes, en)
				c.byCode[en.code] = en
			}
		}
	}
	for _, en := range c.codes {
		for _, other := range en.reads {
			if _, listed := c.byCode[other]; !listed {
				c.byCode[other] = en
			}
		}
	}
	k.references(own)
	k.lint(own)
}

// references resolves the codes that the file names outside their entries.
func (k *compiler) references(own []*entry) {
	var known []string
	for _, en := range k.c.codes {
		known = append(known, en.code)
	}
	switch {
	case k.file.Default != nil:
		k.c.fallback = k.c.byCode[k.oneOf(k.file.Default, known...)]
	case k.parent != nil:
		k.c.fallback = k.c.byCode[k.parent.fallback.code]
	default:
		k.mistake(k.file.Node, "name the code for everything that no entry selects", "there is no `default`")
	}
	for i, f := range k.file.Codes {
		if f.Otherwise == nil || i >= len(own) {
			continue
		}
		if en := k.c.byCode[f.Code]; en != nil {
			en.otherwise = k.oneOf(f.Otherwise, known...)
		}
	}
}

func (k *compiler) entry(f codeFile) *entry {
	en := &entry{code: f.Code, group: f.Group, when: f.When, reads: f.Reads, wait: f.Wait}
	en.kind = recourse.Kind(k.oneOf(f.Kind, words(recourse.Kinds())...))
	switch {
	case f.For == nil:
		en.selectors = []selector{{{on: "kind", values: []string{string(en.kind)}}}}
	default:
		for _, n := range items(f.For) {
			en.selectors = append(en.selectors, k.selector(n))
		}
	}
	en.retry = k.retryable(f.Retryable)
	if f.Set != nil {
		for name, value := range f.Set.All() {
			p, err := compilePath(name, recordType)
			if err != nil {
				k.doc.Reportf(f.Set.Key(name), "", "%s", err)
				continue
			}
			en.set = append(en.set, constant{p, k.constant(value)})
		}
	}
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
		en.rpc = &rpcForm{code: f.RPC.Code, message: k.template(f.RPC.Message)}
		if f.RPC.Data != nil {
			en.rpc.data = k.body(f.RPC.Data)
		}
	}
	return en
}

func (k *compiler) retryable(n *strictyaml.Node) retryable {
	if n == nil {
		return retryable{mode: byRecord}
	}
	if status := n.Get("status"); status != nil {
		r := retryable{mode: byStatus}
		for _, item := range items(status) {
			r.status = append(r.status, k.conditionValue("status", item))
		}
		return r
	}
	if n.Text() == "error" {
		return retryable{mode: byRecord}
	}
	var yes bool
	if n.Kind() == strictyaml.KindMapping || n.Kind() == strictyaml.KindSequence || n.Decode(&yes) != nil {
		k.mistake(n, "one of true, false, {status: 5xx}, error", "this is no way to decide whether to retry")
		return retryable{}
	}
	if yes {
		return retryable{mode: always}
	}
	return retryable{mode: never}
}

func (k *compiler) http(f *httpFile) *httpForm {
	form := &httpForm{status: f.Status, media: f.Type}
	if f.Status < http.StatusBadRequest || f.Status > 599 {
		k.mistake(f.Node.Get("status"), "a failure is answered with 400 to 599", "status %d is none of a failure", f.Status)
	}
	if (f.Body == nil) != (f.Type == "") {
		k.mistake(f.Node, "leave out both for an empty body", "`type` and `body` go together")
	}
	for _, h := range f.Headers {
		form.headers = append(form.headers, header{http.CanonicalHeaderKey(h.Key), k.template(h.Value)})
	}
	if f.Body != nil {
		form.body = k.body(f.Body)
	}
	return form
}

// lint reports what a file says that cannot be meant.
func (k *compiler) lint(own []*entry) {
	for i, en := range own {
		f := k.file.Codes[slices.IndexFunc(k.file.Codes, func(f codeFile) bool { return f.Code == en.code })]
		if k.unreachable(own, i) && en != k.c.fallback && len(en.selectors) > 0 {
			k.mistake(f.Node.Get("code"), "move it up, narrow an earlier `for`, or write for: [] when only authors choose it",
				"no record reaches %s: earlier entries select all of its own", en.code)
		}
		if n, err := strconv.Atoi(en.code); err == nil && n >= -32768 && n <= -32000 && en.rpc == nil {
			k.mistake(f.Node.Get("code"), "codes of your own lie outside -32768..-32000", "%s is reserved by JSON-RPC and the entry has no `rpc`", en.code)
		}
		if k.hasHintPlace() && len(en.hints) == 0 && en.http == nil && en.rpc == nil {
			k.mistake(f.Node.Get("code"), "say what the caller can do", "%s has no `hint`, and the layout has a place for one", en.code)
		}
		for j, t := range en.message {
			k.lintMessage(f.Message, j, t)
		}
	}
}

// lintMessage refuses forms of a message that cannot be read back.
func (k *compiler) lintMessage(n *strictyaml.Node, i int, t *template) {
	for j := 1; j < len(t.parts); j++ {
		if t.parts[j].path != nil && t.parts[j-1].path != nil {
			k.mistake(items(n)[i], "put a text between them", "two placeholders side by side cannot be told apart when it is read")
			return
		}
	}
	if !t.names("message") {
		return
	}
	for _, p := range t.parts {
		if p.path != nil && p.path.src != "message" {
			k.mistake(items(n)[i], "use {message} with a text before or behind it", "a form of {message} is a prefix or a suffix, and nothing else")
			return
		}
	}
}

func (k *compiler) hasHintPlace() bool {
	if line, ok := k.c.layout.text.(textCodec); ok && line.hints.before != "" {
		return true
	}
	return k.c.shape != nil && k.c.shape.places("hints")
}

// places reports whether sh has a member for a path below src.
func (sh *shape) places(src string) bool {
	return slices.ContainsFunc(sh.members, func(m shapeMember) bool {
		if m.nested != nil && m.list == nil && m.nested.places(src) {
			return true
		}
		return m.path != nil && (m.path.src == src || len(m.path.src) > len(src) && m.path.src[:len(src)+1] == src+".")
	})
}

// unreachable reports whether earlier entries select every record that entry i
// selects, as far as that follows from the conditions.
func (k *compiler) unreachable(own []*entry, i int) bool {
	for _, sel := range own[i].selectors {
		for _, kind := range sel.kinds() {
			covered := false
			for _, earlier := range own[:i] {
				covered = covered || slices.ContainsFunc(earlier.selectors, func(wider selector) bool {
					return slices.Contains(wider.kinds(), kind) && sel.implies(wider)
				})
			}
			if !covered {
				return false
			}
		}
	}
	return true
}

// verifyFor fills in the verify call of a tool from the failed call's arguments,
// or returns nil where there is none.
func (c *Contract) verifyFor(call *Call) *recourse.Verify {
	rule, ok := c.verify[call.Tool]
	if !ok {
		return nil
	}
	v := recourse.Verify{Tool: rule.call, LookAt: rule.lookAt}
	for _, a := range rule.args {
		value := a.value
		if a.pointer != "" {
			if value = lookup(call.Arguments, a.pointer); value == nil {
				continue
			}
		}
		v.Args = append(v.Args, recourse.Arg{Name: a.name, Value: rawMessage(value)})
	}
	return &v
}

// lookup returns the value at a JSON Pointer, or nil.
func lookup(raw json.Value, pointer string) json.Value {
	value := raw
	for token := range json.Pointer(pointer).Tokens() {
		switch {
		case len(value) == 0:
			return nil
		case value[0] == '{':
			var object map[string]json.Value
			if json.UnmarshalLenient(value, &object) != nil {
				return nil
			}
			value = object[token]
		case value[0] == '[':
			var list []json.Value
			i, err := strconv.Atoi(token)
			if err != nil || json.UnmarshalLenient(value, &list) != nil || i < 0 || i >= len(list) {
				return nil
			}
			value = list[i]
		default:
			return nil
		}
	}
	return value
}

// typeOf names the JSON type of the member that p leads to.
func (p *path) typeOf(on reflect.Type) string {
	if p.special != nil {
		switch {
		case p.isRetryable():
			return "boolean"
		case p.text:
			return "string"
		default:
			return "number"
		}
	}
	t := on
	for _, st := range p.steps {
		switch {
		case st.field >= 0:
			t = t.Field(st.field).Type
		default:
			t = t.Elem()
		}
		t = indirect(t)
	}
	switch {
	case t == rawType:
		return "any"
	case t.Kind() == reflect.String || t == timeType:
		return "string"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		return "string[]"
	case t.Kind() == reflect.Slice:
		return "array"
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return "number"
	default:
		return "object"
	}
}
