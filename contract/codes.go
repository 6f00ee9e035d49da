package contract

import (
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A codeEntry is one code of the contract.
type codeEntry struct {
	code      string
	name      string             // the name of a numeric code
	open      *language.Template // the template for codes passed on from elsewhere
	kind      recourse.Kind
	group     string
	when      string                 // a sentence that says when the code is chosen
	selectors []selector             // empty: by name only
	reads     []string               // other codes that are read as this one
	set       []language.Constant    // what the code tells a reader beyond its kind
	retry     contractform.Retryable // how the boolean on the wire is decided
	wait      time.Duration
	message   []*language.Template // the first whose placeholders can be filled in
	hints     []alternative
	ask       *asks
	http      *httpForm
	rpc       *rpcForm
	otherwise string // replaces the code where no HTTP answer is possible
}

// inResult reports whether the code can appear in a tool result.
func (en *codeEntry) inResult() bool { return en.open == nil && en.otherwise == "" && en.rpc == nil }

// codes compiles the entries: the file's own, then those of the extended contract that the file does not
// redefine.
func (k *compiler) codes() {
	c := k.c
	c.byCode = map[string]*codeEntry{}
	lines := map[string]int{}
	for i := range k.file.Codes {
		f := &k.file.Codes[i]
		at := f.Node.Get("code")
		if line, twice := lines[f.Code]; twice {
			k.Mistakef(at, "give each code one entry; `for` takes a list", "code %s is already listed in line %d", f.Code, line)
			continue
		}
		lines[f.Code] = at.Pos().Line
		en, mistaken := k.entry(f)
		k.own = append(k.own, ownEntry{en, f, mistaken})
		c.byCode[en.code] = en
	}
	c.codes = nil
	for _, own := range k.own {
		c.codes = append(c.codes, own.codeEntry)
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

// An ownEntry is an entry with its position in the file.
type ownEntry struct {
	*codeEntry

	file     *contractform.CodeFile
	mistaken bool // its selector has mistakes
}

// references resolves codes that the file mentions outside their entries.
func (k *compiler) references() {
	var known []string
	for _, en := range k.c.codes {
		if en.code != "" {
			known = append(known, en.code)
		}
	}
	switch {
	case k.file.Default != nil:
		k.c.fallback = k.c.byCode[k.OneOf(k.file.Default, known...)]
	case k.parent != nil:
		k.c.fallback = k.c.byCode[k.parent.fallback.code]
	case k.file.Extends == nil:
		k.Mistakef(k.file.Node, "name the code for everything that no entry selects", "there is no `default`")
	}
	if k.c.fallback != nil && k.c.fallback.open != nil {
		k.Mistakef(k.file.Default, "name a code that every record can have", "`default` has to be a word of this contract")
	}
	for _, own := range k.own {
		if own.file.Otherwise != nil {
			own.otherwise = k.OneOf(own.file.Otherwise, known...)
		}
		if own.otherwise != "" && own.http == nil {
			k.Mistakef(own.file.Otherwise, "remove it, or add `http`", "`otherwise` is for a code with an `http` form")
		}
	}
}

func (k *compiler) entry(f *contractform.CodeFile) (en *codeEntry, mistaken bool) {
	en = &codeEntry{code: f.Code, name: f.Name, group: f.Group, when: f.When, reads: f.Reads, wait: f.Wait}
	if strings.ContainsAny(f.Code, "{}") {
		en.open = k.Template(f.Node.Get("code"))
	}
	en.kind = recourse.Kind(k.OneOf(f.Kind, contractform.Kinds...))
	mistaken = k.selectFor(en, f.For)
	if f.Wait < 0 {
		k.Mistakef(f.Node.Get("wait"), "write a duration such as 30s", "a wait is not negative")
	}
	en.retry = k.retryable(f.Retryable)
	en.set = k.Constants(f.Set, contractform.RecordType)
	if f.Message != nil {
		en.message = k.Templates(f.Message)
	}
	if f.Hint != nil {
		en.hints = k.alternatives(f.Hint)
	}
	if f.Ask != nil {
		en.ask = k.asks(f.Ask)
	}
	if f.HTTP != nil {
		en.http = k.http(f.HTTP)
	}
	if f.RPC != nil {
		en.rpc = &rpcForm{code: f.RPC.Code, messages: k.Templates(f.RPC.Message)}
		for _, t := range en.rpc.messages {
			k.Readable(f.RPC.Message, t)
		}
		if f.RPC.Data != nil {
			en.rpc.data = k.body(f.RPC.Data)
		}
	}
	return en, mistaken
}

// selectFor compiles an entry's selectors, and reports whether a mistake leaves them unknown.
func (k *compiler) selectFor(en *codeEntry, file *strictyaml.Node) (mistaken bool) {
	if file == nil {
		en.selectors = []selector{{conditionOn(onKind, string(en.kind))}}
		return en.kind == ""
	}
	for _, n := range language.Items(file) {
		before := k.Mistakes
		sel := k.selector(n)
		if k.Mistakes > before {
			mistaken = true
			continue
		}
		en.selectors = append(en.selectors, sel)
	}
	return mistaken
}

// strayBool is a word that people write for true or false.
func strayBool(n *strictyaml.Node) string {
	switch strings.ToLower(n.Text()) {
	case "yes", "no", "on", "off", "y", "n":
		return ", and `" + n.Text() + "` is a text in YAML"
	default:
		return ""
	}
}

func (k *compiler) retryable(n *strictyaml.Node) contractform.Retryable {
	if n == nil {
		return contractform.Retryable{Mode: contractform.ByRecord}
	}
	if status := n.Get("status"); status != nil {
		r := contractform.Retryable{Mode: contractform.ByStatus}
		for _, item := range language.Items(status) {
			r.Status = append(r.Status, k.conditionValue(onStatus, nil, item))
		}
		return r
	}
	switch n.Text() {
	case "error":
		return contractform.Retryable{Mode: contractform.ByRecord}
	case "stated":
		return contractform.Retryable{Mode: contractform.Stated}
	}
	switch n.Kind() {
	case strictyaml.KindBool:
		var yes bool
		if n.Decode(&yes) == nil && yes {
			return contractform.Retryable{Mode: contractform.Always}
		}
		return contractform.Retryable{Mode: contractform.Never}
	default:
	}
	k.Mistakef(n, "write `true`, `false`, `{status: 5xx}`, `error` or `stated`",
		"`retryable` must say when to repeat the call%s", strayBool(n))
	return contractform.Retryable{}
}

// kindOfRange returns the kind of the range that contains the code.
func (c *Contract) kindOfRange(code string) (recourse.Kind, bool) {
	if r := c.rangeOf(code); r != nil {
		return r.Kind, true
	}
	return "", false
}

// rangeOf returns the range that contains the code, or nil.
func (c *Contract) rangeOf(code string) *contractform.Range {
	n, err := strconv.Atoi(code)
	if err != nil {
		return nil
	}
	for i := range c.ranges {
		if r := &c.ranges[i]; r.From <= n && n <= r.To {
			return r
		}
	}
	return nil
}

// ownNumber reports whether c gives its own meaning to a number that JSON-RPC uses as an error code.
func (c *Contract) ownNumber(code string) bool {
	if en := c.byCode[code]; en != nil {
		return en.rpc == nil
	}
	_, ok := c.kindOfRange(code)
	return ok
}
