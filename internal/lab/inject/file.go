package inject

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/yaml/nearest"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Options control how a plan is read.
type Options struct {
	// Traffic is what the plan is for. It is a mistake to name a fault that is impossible there.
	Traffic Traffic
	// Contract finds a contract by its name. Default: among the built-in ones.
	Contract func(name string) (*contract.Contract, error)
}

// Load reads a fault file. The error is [strictyaml.Errors] with every mistake in it, or the error from
// reading it.
func Load(file string, opts Options) (*Plan, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the faults: %w", err)
	}
	return Parse(file, src, opts)
}

// Parse reads a plan as [Load] does; name is the name of its file, for errors. JSON is also YAML.
func Parse(name string, src []byte, opts Options) (*Plan, error) {
	doc, err := strictyaml.Parse(name, src)
	if err != nil {
		return nil, err
	}
	plan := new(Plan)
	doc.Decode(plan)
	v := validator{doc: doc, opts: opts}
	rules := doc.Root().Get("rules")
	if rules.Kind() == strictyaml.KindSequence && rules.Len() == 0 {
		doc.Reportf(rules.Pos(), "add one: `- {match: {tool: get_field}, times: 2, fault: hang}`", "there are no rules")
	}
	for i, rule := range plan.Rules {
		switch n := rules.Item(i); n.Kind() {
		case strictyaml.KindNull:
			doc.Reportf(n.Pos(), "remove it, or write `{fault: hang}`", "the rule is empty")
		case strictyaml.KindMapping:
			v.rule(rule, n)
		default: // already reported as not a rule
		}
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return plan, nil
}

// Of returns the plan with a single rule, made without a file. The error is the first mistake in it.
func Of(seed int64, rule Rule, opts Options) (*Plan, error) {
	v := validator{opts: opts}
	v.rule(&rule, nil)
	if v.first != nil {
		return nil, v.first
	}
	return &Plan{Seed: seed, Rules: []*Rule{&rule}}, nil
}

// A validator reports what the types cannot express.
type validator struct {
	doc   *strictyaml.Document // nil for a rule that stands in none
	opts  Options
	first error
}

// reportf reports a mistake at a place of the document.
func (v *validator) reportf(at strictyaml.Pos, hint, format string, args ...any) {
	if v.doc != nil {
		v.doc.Reportf(at, hint, format, args...)
		return
	}
	if v.first == nil {
		text := fmt.Sprintf(format, args...)
		if hint != "" {
			text += ": " + hint
		}
		v.first = errors.New(text)
	}
}

func (v *validator) rule(r *Rule, n *strictyaml.Node) {
	if r.Times < 0 {
		v.reportf(n.Get("times").Pos(), "leave it out to have every call fail", "`times` must be at least 1")
	}
	if !(r.Rate > 0 && r.Rate <= 1) { // which is also no number
		v.reportf(n.Get("rate").Pos(), "0.1 is one call in ten", "`rate` must be above 0 and at most 1")
	}
	if r.AtMost < 0 {
		v.reportf(n.Get("at_most").Pos(), "leave it out for no limit", "`at_most` must be at least 1")
	}
	v.match(&r.Match, n.Get("match"))
	d, ok := v.fault(&r.Fault, n.Get("fault"))
	switch {
	case !ok:
	case r.Effect == "":
		r.Effect = d.Effects[0]
	case !slices.Contains(d.Effects, r.Effect):
		v.reportf(n.Get("effect").Pos(), "remove it", "`%s` always comes %s the effect", d.Name, d.Effects[0])
	}
}

func (v *validator) match(m *Match, n *strictyaml.Node) {
	for _, p := range []struct{ key, pattern string }{{"tool", m.Tool}, {"method", m.Method}, {"path", m.Path}, {"caller", m.Caller}} {
		if _, err := path.Match(p.pattern, ""); err != nil {
			v.reportf(n.Get(p.key).Pos(), "`*` stands for any characters, `?` for one, `[ab]` for one of those", "not a pattern")
		}
	}
	if v.opts.Traffic == API && m.Tool != "" {
		v.reportf(n.Key("tool"), "use `method` and `path`", "an HTTP API has no tools")
	}
	if v.opts.Traffic != API && v.opts.Traffic != 0 && m.Path != "" {
		v.reportf(n.Key("path"), "use `tool` or `method`", "`path` is for an HTTP API")
	}
	for pointer := range m.Arguments {
		if !strings.HasPrefix(pointer, "/") {
			hint := "write it as `/" + strings.ReplaceAll(pointer, ".", "/") + "`"
			v.reportf(n.Get("arguments").Key(pointer), hint, "not a JSON Pointer")
		}
	}
	for i, number := range m.Attempt {
		if number < 1 {
			at := n.Get("attempt")
			if at.Kind() == strictyaml.KindSequence {
				at = at.Item(i)
			}
			v.reportf(at.Pos(), "the first attempt is 1", "an attempt must be at least 1")
		}
	}
}

// owners says which fault an option belongs to, unless its name shows that.
var owners = map[string]string{
	"headers": status, "body": status, "html": status, "code": inContract, "wait": inContract, "message": inContract,
}

func (v *validator) fault(f *Fault, n *strictyaml.Node) (FaultKind, bool) {
	d, ok := kindOf(f.Name)
	if n == nil && v.doc != nil { // its absence is reported
		return FaultKind{}, false
	}
	if !ok {
		v.unknown(f, n)
		return FaultKind{}, false
	}
	if v.opts.Traffic != 0 && d.Where&v.opts.Traffic == 0 {
		v.reportf(n.Pos(), "`recourse inject ls` lists what is available where", "`%s` is not available with %s", d.Name, v.opts.Traffic)
	}
	for _, key := range f.keys(n) {
		owner := cmp.Or(owners[key], key)
		if _, known := kindOf(owner); known && owner != f.Name {
			v.reportf(n.Key(key), "remove it, or make a second rule", "`%s` does not go with `%s`", key, f.Name)
		}
	}
	if f.Name == status && f.Status == 0 && n.Get(status) == nil || f.Name == inContract && f.Contract == "" {
		v.reportf(n.Pos(), "write `{status: 503}` or `{contract: NAME, code: CODE}`", "`%s` needs more than its name", f.Name)
		return d, true
	}
	switch f.Name {
	case status:
		v.status(f, n)
	case inContract:
		v.contract(f, n)
	case drip:
		if f.Gap <= 0 {
			v.reportf(n.Get(drip).Pos(), "write a duration such as 100ms", "the pause must be positive")
		}
	case cut:
		if n.Get(cut) != nil && f.Keep < 0 {
			v.reportf(n.Get(cut).Pos(), "0 leaves no items", "the number of items must not be negative")
		}
	}
	return d, true
}

// keys names the settings of a fault: as keys of its mapping, or as flags.
func (f *Fault) keys(n *strictyaml.Node) []string {
	var keys []string
	for key := range n.All() {
		keys = append(keys, key)
	}
	if n == nil {
		for key, given := range map[string]bool{status: f.Status != 0, inContract: f.Contract != "", "code": f.Code != ""} {
			if given {
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
	}
	return keys
}

func (v *validator) unknown(f *Fault, n *strictyaml.Node) {
	var names []string
	for _, d := range menu {
		names = append(names, d.Name)
	}
	hint := "one of " + strings.Join(names, ", ")
	if meant, ok := nearest.Of(f.Name, names); ok {
		hint = "did you mean `" + meant + "`?"
	}
	if f.Name == "timeout" {
		hint = "a server that does not answer is `hang`; a contract's own word is `{contract: NAME, code: CODE}`"
	}
	for key, owner := range owners {
		if n.Get(key) != nil {
			hint = "`" + key + "` goes with `" + owner + "`: add that"
		}
	}
	if f.Name == "" {
		v.reportf(n.Pos(), hint, "no fault given")
		return
	}
	v.reportf(n.Pos(), hint, "there is no fault `%s`", f.Name)
}

func (v *validator) status(f *Fault, n *strictyaml.Node) {
	if f.Status < http.StatusOK || f.Status > 599 {
		v.reportf(n.Get(status).Pos(), "write one from 200 to 599", "not a status of an answer")
	}
	if f.HTML && f.Body != "" {
		v.reportf(n.Key("html"), "remove one of them", "`html` and `body` both set the body")
	}
	for name, value := range f.Header {
		if !headerName.MatchString(name) || strings.ContainsFunc(value, unicode.IsControl) {
			v.reportf(n.Get("headers").Key(name), "", "not a header")
		}
	}
}

// headerName is a token (RFC 9110, section 5.6.2).
var headerName = regexp.MustCompile("^[-!#$%&'*+.^_`|~0-9A-Za-z]+$")

func (v *validator) contract(f *Fault, n *strictyaml.Node) {
	find := v.opts.Contract
	if find == nil {
		find = builtin
	}
	c, err := find(f.Contract)
	if err != nil {
		v.reportf(n.Get(inContract).Pos(), "the built-in ones are "+strings.Join(contract.Builtin().Names(), ", "), "%s", err)
		return
	}
	f.contract = c
	var names []string
	for _, code := range codes(c) {
		names = append(names, code.Code)
	}
	if !slices.Contains(names, string(f.Code)) {
		hint := "`recourse inject ls --contract " + f.Contract + "` lists them"
		if meant, ok := nearest.Of(string(f.Code), names); ok {
			hint = "did you mean `" + meant + "`?"
		}
		if f.Code == "" {
			v.reportf(n.Pos(), hint, "the contract %s needs a `code`", c.Name)
			return
		}
		v.reportf(n.Get("code").Pos(), hint, "the contract %s has no code `%s`", c.Name, f.Code)
	}
	if f.Wait < 0 {
		v.reportf(n.Get("wait").Pos(), "write a duration such as 2s", "a wait must not be negative")
	}
}

func builtin(name string) (*contract.Contract, error) {
	if c, ok := contract.Builtin().Get(name); ok {
		return c, nil
	}
	return nil, fmt.Errorf("there is no contract %q", name)
}

// codes returns the codes that a fault can use.
func codes(c *contract.Contract) []*contractform.Code {
	return slices.DeleteFunc(slices.Clone(contractform.Of(c).Codes), func(code *contractform.Code) bool { return code.Open })
}
