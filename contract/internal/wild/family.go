package wild

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A Family describes how the failures of one system look. It is safe for concurrent use.
type Family struct {
	// File is what it was compiled from.
	File *contractform.FamilyFile

	source  [sha256.Size]byte // of its text
	builtin bool
	wraps   []*phrase
	forms   []*familyForm
	byCode  map[string]*familyCode
	// codesLike are the codes with a *.
	codesLike []codeLike
	rules     []familyRule
	index     func() *index // of this family's forms only
}

// A familyForm is a text or an object by which a failure is recognised.
type familyForm struct {
	family  *Family
	phrases []*phrase // alternatives
	object  *pattern
	each    []eachPhrase // the violations in a text
	kind    recourse.Kind
	set     []language.Constant
	only    bool // it must be at the start of the text
	vague   bool // any other text takes precedence
	wrapper bool // what follows a colon takes precedence
	weak    bool
}

// An eachPhrase is a text that names a violation, possibly of a known rule.
type eachPhrase struct {
	*phrase

	rule string
}

// A familyCode is the meaning of some of a system's codes.
type familyCode struct {
	kind  recourse.Kind
	vague bool // a more specific text takes precedence
	set   []language.Constant
}

// A codeLike is a code with a *, and what it means.
type codeLike struct {
	code  string
	means *familyCode
}

// A familyRule is a system's name for a JSON Schema keyword.
type familyRule struct {
	rule string
	from []ruleForm
}

// A ruleForm is a word with a *, or a sentence with placeholders.
type ruleForm struct {
	word     string
	sentence *language.Template
}

// builtin are read on first use, since a program without failures needs none.
var builtin = sync.OnceValue(func() []*Family {
	documents, err := strictyaml.ParseCompact(compactFamilies)
	if err != nil {
		panic("contract: " + err.Error())
	}
	var list []*Family
	for name, doc := range documents {
		f, err := newFamily(doc, []byte(name), false)
		if err != nil {
			panic("contract: built-in families: " + err.Error())
		}
		f.builtin = true
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *Family) int { return cmp.Compare(a.Name(), b.Name()) })
	return list
})

// compactFamilies is what the files of the built-in families say, in a form that loads faster.
//
//go:embed families.compact
var compactFamilies string

// Builtin returns the built-in families, by name. The list is shared.
func Builtin() []*Family { return builtin() }

// Prepare indexes the built-in families, so that no failure has to wait for it.
func Prepare() { builtinIndex() }

// builtinFamily returns one of the built-in families.
func builtinFamily(name string) *Family {
	list := builtin()
	return list[slices.IndexFunc(list, func(f *Family) bool { return f.Name() == name })]
}

// builtinIndex is the index of all built-in families.
var builtinIndex = sync.OnceValue(func() *index { return newIndex(builtin()) })

// Name identifies the family in configurations.
func (f *Family) Name() string { return f.File.Family }

// Same reports whether both families were loaded from the same text.
func (f *Family) Same(other *Family) bool { return f.source == other.source }

// Load compiles a family file, whose text is source. The error lists every mistake in it, including examples that are
// not read as stated.
func Load(doc *strictyaml.Document, source []byte) (*Family, error) {
	return newFamily(doc, source, true)
}

// newFamily compiles a document; source tells families apart.
func newFamily(doc *strictyaml.Document, source []byte, examples bool) (*Family, error) {
	f := &Family{File: &contractform.FamilyFile{}, source: sha256.Sum256(source), byCode: map[string]*familyCode{}}
	doc.Decode(f.File)
	f.index = sync.OnceValue(func() *index { return newIndex([]*Family{f}) })
	k := &compiler{language.NewCompiler(doc), map[string]bool{}}
	k.family(f)
	if k.Mistakes == 0 && doc.Err() == nil && examples {
		k.familyExamples(f)
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

// A compiler makes a family from a file.
type compiler struct {
	*language.Compiler

	texts map[string]bool // the templates of texts so far, folded
}

// family compiles a file.
func (k *compiler) family(f *Family) {
	file := f.File
	k.Head(file.Node, file.Form, "family", file.Family, "family")
	for i := range file.Wraps {
		n := file.Node.Get("wraps").Item(i)
		p := k.phrase(n, contractform.RecordType)
		if p == nil {
			continue
		}
		if p.key = 0; p.parts[0].place != nil || p.parts[len(p.parts)-1].place != nil {
			k.Mistakef(n, "for example \"Error executing tool {*}: \"", "what is put before a text begins and ends with fixed words")
			continue
		}
		f.wraps = append(f.wraps, p)
	}
	for i := range file.Texts {
		k.familyText(f, &file.Texts[i])
	}
	for i := range file.Objects {
		k.familyObject(f, &file.Objects[i])
	}
	for i := range file.Codes {
		k.familyCodes(f, &file.Codes[i])
	}
	for i := range file.Rules {
		rule := k.familyRule(&file.Rules[i])
		k.hidden(f.rules, &file.Rules[i])
		f.rules = append(f.rules, rule)
	}
	if len(f.wraps)+len(f.forms) == 0 && k.Mistakes == 0 {
		k.Mistakef(file.Node, "add `texts`, `objects`, or codes with `anywhere: true`", "nothing is recognised by this family")
	}
}

// kindOf reads an optional kind.
func (k *compiler) kindOf(n *strictyaml.Node) recourse.Kind {
	if n == nil {
		return ""
	}
	return recourse.Kind(k.OneOf(n, contractform.Kinds...))
}

func (k *compiler) familyText(f *Family, file *contractform.FamilyText) {
	form := &familyForm{family: f, kind: k.kindOf(file.Kind), only: file.Only, vague: file.Vague, wrapper: file.Wrapper, weak: file.Weak}
	form.set = k.Constants(file.Set, contractform.RecordType)
	for _, n := range language.Items(file.Text) {
		if text := folded(n.Text()); k.texts[text] {
			k.Mistakef(n, "list each text once", "this text is listed already")
		} else {
			k.texts[text] = true
		}
		if p := k.phrase(n, contractform.RecordType); p != nil {
			form.phrases = append(form.phrases, p)
			if f.File.Last {
				form.phrases = append(form.phrases, p.contracted()...)
			}
		}
	}
	if file.Each != nil {
		for _, n := range language.Items(file.Each) {
			form.each = append(form.each, k.eachPhrases(n)...)
		}
	}
	f.forms = append(f.forms, form)
}

// eachPhrases reads a template of violations, or {text, rule} with templates of violations of that rule.
func (k *compiler) eachPhrases(n *strictyaml.Node) []eachPhrase {
	text, rule := n, ""
	if n.Kind() == strictyaml.KindMapping {
		var form struct {
			Text *strictyaml.Node `yaml:"text,required"`
			Rule string           `yaml:"rule,required"`
		}
		if n.Decode(&form) != nil {
			return nil
		}
		text, rule = form.Text, form.Rule
	}
	var list []eachPhrase
	for _, n := range language.Items(text) {
		if p := k.phrase(n, violationType); p != nil {
			list = append(list, eachPhrase{p, rule})
		}
	}
	return list
}

func (k *compiler) familyObject(f *Family, file *contractform.FamilyObject) {
	form := &familyForm{family: f, kind: k.kindOf(file.Kind), set: k.Constants(file.Set, contractform.RecordType), weak: file.Weak}
	form.object = k.pattern(file.Object, contractform.RecordType)
	if len(form.object.word()) < gramSize {
		k.Mistakef(file.Object, "name a member that every such object has", "an object needs a member that it cannot do without")
		return
	}
	f.forms = append(f.forms, form)
}

func (k *compiler) familyCodes(f *Family, file *contractform.FamilyCodes) {
	c := &familyCode{kind: k.kindOf(file.Kind), vague: file.Vague, set: k.Constants(file.Set, contractform.RecordType)}
	for i, code := range file.Codes {
		at := file.Node.Get("codes").Item(i)
		switch {
		case f.byCode[code] != nil:
			k.Mistakef(at, "list each code once", "code %s is listed already", code)
		case strings.Contains(code, "*"):
			f.codesLike = append(f.codesLike, codeLike{code, c})
			fallthrough
		default:
			f.byCode[code] = c
		}
		if !file.Anywhere {
			continue
		}
		if len(code) < gramSize || strings.Contains(code, "*") {
			k.Mistakef(at, "list it without `anywhere`", "`%s` cannot be looked for in a text: it needs four characters, and no *", code)
			continue
		}
		word := &phrase{parts: []phrasePart{{literal: folded(code)}}, fixed: len(code), exact: code}
		form := &familyForm{family: f, phrases: []*phrase{word}, kind: c.kind, set: append(slices.Clone(c.set), k.codeIs(code))}
		f.forms = append(f.forms, form)
	}
}

func (k *compiler) familyRule(file *contractform.FamilyRule) familyRule {
	r := familyRule{rule: file.Rule}
	for _, n := range language.Items(file.From) {
		if strings.Contains(n.Text(), "{") {
			t := k.TemplateOf(n, func(name string) (*language.Path, error) { return newPlace(name, violationType) })
			r.from = append(r.from, ruleForm{sentence: t})
		} else {
			r.from = append(r.from, ruleForm{word: n.Text()})
		}
	}
	return r
}

// hidden reports the words of a rule that another rule before it reads: they can never win.
func (k *compiler) hidden(before []familyRule, file *contractform.FamilyRule) {
	for _, n := range language.Items(file.From) {
		for _, r := range before {
			hides := slices.ContainsFunc(r.from, func(form ruleForm) bool { return form.sentence == nil && covers(form.word, n.Text()) })
			if hides && r.rule != file.Rule {
				k.Mistakef(n, "put the more specific rule first", "the rule %s before it reads `%s`", r.rule, n.Text())
				break
			}
		}
	}
}

// covers reports whether a word with a * matches whatever another does.
func covers(word, other string) bool {
	if strings.HasPrefix(other, "*") && !strings.HasPrefix(word, "*") || strings.HasSuffix(other, "*") && !strings.HasSuffix(word, "*") {
		return false
	}
	return hasWildcard(word, strings.Trim(other, "*"))
}

// codeIs returns the constant that stores a code.
func (*compiler) codeIs(code string) language.Constant {
	p, err := language.CompilePath("upstream.code", contractform.RecordType)
	if err != nil {
		panic("contract: " + err.Error())
	}
	return language.Constant{Path: p, Value: json.AppendQuote(nil, code)}
}

// familyExamples reports the examples that are not read as stated.
func (k *compiler) familyExamples(f *Family) {
	for i := range f.File.Examples {
		example := &f.File.Examples[i]
		e, ok := f.reads(example.Text)
		if !ok {
			k.Mistakef(example.Node.Get("text"), "correct the example, or a form", "no form of this family fits the example")
			continue
		}
		wrong := func(key, format string, args ...any) {
			k.Mistakef(cmp.Or(example.Node.Get(key), example.Node), "correct the example, or the form that it has", format, args...)
		}
		if kind := k.kindOf(example.Kind); e.Kind != kind {
			wrong("kind", "the example is read as `%s`", e.Kind)
		}
		if e.Upstream.Code != example.Code {
			wrong("code", "the code is read as %q", e.Upstream.Code)
		}
		if wait, _ := spelledWait(example.Wait); e.RetryAfter != wait {
			wrong("wait", "the wait is read as %s", e.RetryAfter)
		}
		var said []string
		for _, v := range e.Violations {
			said = append(said, fmt.Sprintf("%s: %s", v.Param, v.Rule))
		}
		if !slices.Equal(said, example.Violations) {
			wrong("violations", "the violations are read as %q", said)
		}
	}
}

// meaning returns what a code means, and whether it is listed without a *; nil if the family does not list
// it. Among those with a *, the longest wins; an HTTP status is not the beginning of another system's code.
func (f *Family) meaning(code string) (best *familyCode, exact bool) {
	if c, listed := f.byCode[code]; listed {
		return c, true
	}
	if status, err := strconv.Atoi(code); err == nil && isFailure(status) {
		return nil, false
	}
	length := -1
	for _, like := range f.codesLike {
		if len(like.code) > length && hasWildcard(like.code, code) {
			best, length = like.means, len(like.code)
		}
	}
	return best, false
}

// rule replaces the system's word for a rule by the JSON Schema keyword for the word or the sentence. The
// first form that matches wins. It returns the names that the sentence lists.
func (f *Family) rule(v *recourse.Violation) (names []string) {
	for _, r := range f.rules {
		for _, form := range r.from {
			said, found := *v, hit{}
			if !form.fits(&said, &found) {
				continue
			}
			v.Rule = r.rule
			v.Want = cmp.Or(said.Want, v.Want)
			return found.names[0]
		}
	}
	return nil
}

// fits reports whether a violation has the word or the sentence, and stores the values in the sentence.
func (r ruleForm) fits(v *recourse.Violation, found *hit) bool {
	if r.sentence == nil {
		return v.Rule != "" && hasWildcard(r.word, v.Rule) || v.Message != "" && hasWildcard(r.word, v.Message)
	}
	return r.sentence.Match(v.Message, func(at *language.Path, text string) {
		found.capture(capture{&place{path: at}, text}, reflect.ValueOf(v).Elem())
	})
}

// hasWildcard reports whether text matches a word that may begin or end with a *.
func hasWildcard(word, text string) bool {
	inner, begins := strings.CutSuffix(word, "*")
	inner, ends := strings.CutPrefix(inner, "*")
	switch {
	case begins && ends:
		return strings.Contains(text, inner)
	case begins:
		return strings.HasPrefix(text, inner)
	case ends:
		return strings.HasSuffix(text, inner)
	default:
		return text == word
	}
}
