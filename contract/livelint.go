package contract

import (
	"regexp"
	"slices"

	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/nearest"
)

// LintFor reads a contract file as [Set.Load] does, adds nothing, and also reports
// where the advice in the file does not fit a server with those tools: hints and
// verify calls that name a tool or a parameter which is not there, that leave out a
// parameter which has to be given, or that call a tool whose annotations do not say
// that it only reads. An
// inherited piece of advice is not looked at. The error, if any, is a
// strictyaml.Errors with every mistake. Without src it reads the file of the built-in
// contract of that name.
func (s *Set) LintFor(name string, src []byte, tools []Tool) error {
	live := newLiveTools(tools)
	if src == nil {
		_, err := builtin.readBuiltin(name, live)
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
	open     bool // nothing is known of its parameters
	params   []string
	required []string
	writes   bool
}

func newLiveTools(tools []Tool) *liveTools {
	l := &liveTools{byName: map[string]*liveTool{}}
	for _, tool := range tools {
		var schema struct {
			Properties json.Members `json:"properties"`
			Required   []string     `json:"required"`
		}
		live := &liveTool{writes: tool.Writes}
		if json.UnmarshalLenient(tool.InputSchema, &schema) != nil || len(schema.Properties) == 0 {
			live.open = true
		}
		for _, m := range schema.Properties {
			live.params = append(live.params, m.Name)
		}
		live.required = schema.Required
		l.names = append(l.names, tool.Name)
		l.byName[tool.Name] = live
	}
	return l
}

func (t *liveTool) has(param string) bool { return t.open || slices.Contains(t.params, param) }

// lintTools reports advice of the file that a server with those tools cannot follow.
func (k *compiler) lintTools(live *liveTools) {
	for i, tool := range k.file.HintTools {
		if live.byName[tool] == nil {
			k.mistakef(k.file.Node.Get("hint_tools").Item(i), live.hint(tool),
				"the server has no tool %s: hints that name it are left out", tool)
		}
	}
	for _, v := range k.file.Verify {
		k.lintVerifyCall(live, v.Key, &v.Value)
	}
	for _, h := range k.hintTexts {
		k.lintHintParams(live, h)
	}
}

// hint advises on the name of a tool that is not there.
func (l *liveTools) hint(tool string) string {
	if near, ok := nearest.Of(tool, l.names); ok {
		return "did you mean `" + near + "`?"
	}
	return "remove it, or check that this is the server that keeps the contract"
}

func (k *compiler) lintVerifyCall(live *liveTools, tool string, v *contractform.VerifyFile) {
	failed, verify := live.byName[tool], live.byName[v.Call]
	if failed == nil {
		k.mistakef(v.Node, live.hint(tool), "the server has no tool %s", tool)
	}
	if verify == nil {
		k.mistakef(v.Node.Get("call"), live.hint(v.Call), "the server has no tool %s", v.Call)
		return
	}
	if verify.writes {
		k.mistakef(v.Node.Get("call"), "name a tool that only reads", "%s does not say of itself that it only reads", v.Call)
	}
	given := make([]string, 0, len(v.Args)+len(v.With))
	for _, a := range v.Args {
		given = append(given, a.Key)
		pointer := items(a.Value)[0]
		if param := firstToken(pointer.Text()); failed != nil && !failed.has(param) {
			k.mistakef(pointer, nearestHint(param, failed.params), "%s has no parameter %s", tool, param)
		}
	}
	for _, w := range v.With {
		given = append(given, w.Key)
	}
	for _, param := range given {
		if !verify.has(param) {
			k.mistakef(v.Node, nearestHint(param, verify.params), "%s has no parameter %s", v.Call, param)
		}
	}
	for _, param := range verify.required {
		if !slices.Contains(given, param) {
			k.mistakef(v.Node, "add it to `args` or `with`", "%s needs the parameter %s", v.Call, param)
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

// paramInHint is a parameter with its value: resourceType='fields', study_id=....
var paramInHint = regexp.MustCompile(`([A-Za-z0-9_-]+)=`)

// lintHintParams looks at the parameters that a hint gives to the tools that it names.
func (k *compiler) lintHintParams(live *liveTools, h hintText) {
	var named []*liveTool
	var params []string
	for _, tool := range k.c.tools() {
		if t := live.byName[tool]; t != nil && mentions(h.text, tool) {
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
			k.mistakef(h.at, nearestHint(param, params), "no tool that this hint names has the parameter %s", param)
		}
	}
}
