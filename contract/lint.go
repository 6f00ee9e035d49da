package contract

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/clean"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/contract/internal/prose"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/rpccode"
	"github.com/recoursehq/recourse/internal/yaml/nearest"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// lint reports what is well-formed but cannot be meant.
func (k *compiler) lint() {
	for i, own := range k.own {
		at := own.file.Node.Get("code")
		if own.codeEntry != k.c.fallback && !own.mistaken && len(own.selectors) > 0 && k.unreachable(i) {
			k.Mistakef(at, "move it up, narrow an earlier `for`, or write for: [] when only authors choose it",
				"no record reaches %s: earlier entries select all of its own", own.code)
		}
		if n, err := strconv.Atoi(own.code); err == nil && rpccode.Reserved(n) && own.rpc == nil {
			k.Mistakef(at, "codes of your own lie outside -32768..-32000",
				"%s is reserved by JSON-RPC and the entry has no `rpc`", own.code)
		}
		if k.hasHintPlace() && len(own.hints) == 0 && own.http == nil && own.rpc == nil {
			k.Mistakef(at, "say what the caller can do", "%s has no `hint`, and the layout has a place for one", own.code)
		}
		if line, ok := k.c.layout.text.(textCodec); ok && own.open == nil && line.namesCode() && !clean.IsWord(own.code) {
			k.Mistakef(at, "use letters, digits, _, - and . only",
				"a code that stands in a text has to be one word, and `%s` is none", own.code)
		}
		for j, t := range own.message {
			k.lintMessage(language.Items(own.file.Message)[j], t)
		}
	}
	k.lintHintTools()
}

// lintMessage rejects message templates that cannot be read back.
func (k *compiler) lintMessage(n *strictyaml.Node, t *language.Template) {
	if !k.Readable(n, t) || !t.Frames() {
		return
	}
	for i, p := range t.Parts {
		wait := p.Path != nil && p.Path.Src == string(language.AfterSeconds) && i > 0 && !p.Optional
		if p.Path != nil && !p.Path.IsSentence() && !wait {
			k.Mistakef(n, "use {message} with a text before or behind it",
				"a form of {message} is a prefix or a suffix, in which nothing is named but {after.seconds}")
			return
		}
	}
}

func (k *compiler) hasHintPlace() bool {
	if line, ok := k.c.layout.text.(textCodec); ok && line.hints.before != "" {
		return true
	}
	return k.c.layout.shape != nil && k.c.layout.shape.places("hints")
}

// unreachable reports whether earlier entries select every record that entry i selects, as far as the
// conditions show.
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

// covers reports whether en selects every record of that kind that sel selects.
func (en *codeEntry) covers(sel selector, kind recourse.Kind) bool {
	return en.open == nil && slices.ContainsFunc(en.selectors, func(wider selector) bool {
		return slices.Contains(wider.kinds(), kind) && sel.implies(wider)
	})
}

// A hintText is a hint with its position.
type hintText struct {
	at   *strictyaml.Node
	text string
}

// lintHintTools reports a listed tool that no hint names, and a word in a hint that is nearly one. Both are
// spelling mistakes, and would show the hint even if the server lacks the tool.
func (k *compiler) lintHintTools() {
	tools := k.c.AdvisedTools()
	for i, tool := range k.file.HintTools {
		inherited := k.parent != nil && slices.Contains(k.parent.hintTools, tool)
		if !inherited && !k.namesTool(tool) {
			k.Mistakef(k.file.Node.Get("hint_tools").Item(i), "remove it, or correct its name", "no hint names the tool %s", tool)
		}
	}
	for _, h := range k.hintTexts {
		for word := range prose.Words(h.text) {
			if !strings.Contains(word, "_") || slices.Contains(tools, word) {
				continue
			}
			if near, ok := nearest.Of(word, tools); ok {
				k.Mistakef(h.at, "did you mean `"+near+"`?", "%s is not among `hint_tools`", word)
			}
		}
	}
}

func (k *compiler) namesTool(tool string) bool {
	return slices.ContainsFunc(k.hintTexts, func(h hintText) bool { return prose.Mentions(h.text, tool) }) ||
		slices.Contains(k.c.verifyTools(), tool) ||
		k.parent != nil && k.parent.mentions(tool)
}

// mentions reports whether a hint of c names a tool.
func (c *Contract) mentions(tool string) bool {
	named := func(list []alternative) bool {
		return slices.ContainsFunc(list, func(a alternative) bool { return prose.Mentions(a.text.Src, tool) })
	}
	return named(c.hints) || slices.ContainsFunc(c.codes, func(en *codeEntry) bool { return named(en.hints) })
}

// builtinFiles are the built-in contracts in their original form, which has positions.
//
//go:embed *.yaml
var builtinFiles embed.FS

// LintFor reads a contract file as [Set.Load] does, without adding it to the set, and also checks the file's
// advice against a server's tools. It reports hints and verify calls that name a missing tool or parameter,
// omit a required parameter, or call a tool whose annotations do not say that it only reads. Inherited advice
// is not checked. The error lists every mistake with its position. If src is empty, it reads the file of the
// built-in contract of that name.
func (s *Set) LintFor(name string, src []byte, tools []Tool) error {
	live := newLiveTools(tools)
	if src == nil {
		src, err := builtinFiles.ReadFile(name + ".yaml")
		if err != nil {
			return fmt.Errorf("read the contract: %w", err)
		}
		_, err = builtin.before(name).read(name+".yaml", src, live)
		return err
	}
	_, err := s.read(name, src, live)
	return err
}

// liveTools are the tools of a server.
type liveTools struct {
	names  []string
	byName map[string]*liveTool
}

type liveTool struct {
	open     bool // its parameters are not known
	params   []string
	required []string
	writes   bool
}

func newLiveTools(tools []Tool) *liveTools {
	l := &liveTools{byName: map[string]*liveTool{}}
	for _, tool := range tools {
		var schema struct {
			Properties json.Value `json:"properties"`
			Required   []string   `json:"required"`
		}
		live := &liveTool{writes: tool.Annotations != nil && !tool.Annotations.ReadOnly}
		err := json.UnmarshalLenient(tool.InputSchema, &schema)
		for _, m := range json.MembersOf(schema.Properties) {
			live.params = append(live.params, m.Name)
		}
		live.open = err != nil || len(live.params) == 0
		live.required = schema.Required
		l.names = append(l.names, tool.Name)
		l.byName[tool.Name] = live
	}
	return l
}

func (t *liveTool) has(param string) bool { return t.open || slices.Contains(t.params, param) }

// lintTools reports advice that a server with those tools cannot follow.
func (k *compiler) lintTools(live *liveTools) {
	for i, tool := range k.file.HintTools {
		if live.byName[tool] == nil {
			k.Mistakef(k.file.Node.Get("hint_tools").Item(i), live.hint(tool),
				"the server has no tool %s: hints that name it are left out", tool)
		}
	}
	for _, v := range k.file.Verify {
		k.lintVerifyCall(live, v.Key, &v.Value)
	}
	k.lintExpectations(live)
	for _, h := range k.hintTexts {
		k.lintHintParams(live, h)
		k.lintProse(live, h)
	}
}

// lintProse reports a tool that a hint names in prose, that is not listed in hint_tools, and that the server
// lacks: the hint would be shown all the same.
func (k *compiler) lintProse(live *liveTools, h hintText) {
	reported := map[string]bool{}
	for word := range prose.Tools(h.text) {
		if reported[word] || live.knows(word) || slices.Contains(k.file.HintTools, word) {
			continue
		}
		if _, isCode := k.c.byCode[word]; isCode {
			continue
		}
		reported[word] = true
		k.Mistakef(h.at, live.hint(word), "the server has neither a tool nor a parameter %s, which this text names", word)
	}
}

// knows reports whether a word is a tool of the server, or a parameter of one.
func (l *liveTools) knows(word string) bool {
	if l.byName[word] != nil {
		return true
	}
	for _, tool := range l.byName {
		if slices.Contains(tool.params, word) {
			return true
		}
	}
	return false
}

// hint suggests what to do about a missing tool.
func (l *liveTools) hint(tool string) string {
	if near, ok := nearest.Of(tool, l.names); ok {
		return "did you mean `" + near + "`?"
	}
	return "remove it, or check that this is the server that keeps the contract"
}

func (k *compiler) lintVerifyCall(live *liveTools, tool string, v *contractform.VerifyFile) {
	failed, verify := live.byName[tool], live.byName[v.Tool]
	if failed == nil {
		k.Mistakef(v.Node, live.hint(tool), "the server has no tool %s", tool)
	}
	if verify == nil {
		k.Mistakef(v.Node.Get("tool"), live.hint(v.Tool), "the server has no tool %s", v.Tool)
		return
	}
	if verify.writes {
		k.Mistakef(v.Node.Get("tool"), "name a tool that only reads", "%s does not say of itself that it only reads", v.Tool)
	}
	given := make([]string, 0, len(v.From)+len(v.With))
	for _, a := range v.From {
		given = append(given, a.Key)
		pointer := language.Items(a.Value)[0]
		if param := firstToken(pointer.Text()); failed != nil && !failed.has(param) {
			k.Mistakef(pointer, language.Suggest(param, failed.params), "%s has no parameter %s", tool, param)
		}
	}
	for _, w := range v.With {
		given = append(given, w.Key)
	}
	for _, param := range given {
		if !verify.has(param) {
			k.Mistakef(v.Node, language.Suggest(param, verify.params), "%s has no parameter %s", v.Tool, param)
		}
	}
	for _, param := range verify.required {
		if !slices.Contains(given, param) {
			k.Mistakef(v.Node, "add it to `from` or `with`", "%s needs the parameter %s", v.Tool, param)
		}
	}
}

// firstToken returns the first reference token of a JSON Pointer.
func firstToken(pointer string) (token string) {
	for t := range json.Pointer(pointer).Tokens() {
		return t
	}
	return ""
}

// paramInHint matches a parameter with its value: resourceType='fields', study_id=....
var paramInHint = regexp.MustCompile(`([A-Za-z0-9_-]+)=`)

// lintHintParams checks the parameters that a hint gives for the tools that it names.
func (k *compiler) lintHintParams(live *liveTools, h hintText) {
	var named []*liveTool
	var params []string
	for _, tool := range k.c.AdvisedTools() {
		if t := live.byName[tool]; t != nil && prose.Mentions(h.text, tool) {
			named = append(named, t)
			params = append(params, t.params...)
		}
	}
	if len(named) == 0 {
		return
	}
	for _, found := range paramInHint.FindAllStringSubmatch(h.text, -1) {
		param := found[1]
		if !slices.ContainsFunc(named, func(t *liveTool) bool { return t.has(param) }) {
			k.Mistakef(h.at, language.Suggest(param, params), "no tool that this hint names has the parameter %s", param)
		}
	}
}
