package wild

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Texts in which SDKs and validators say that arguments do not match a tool's inputSchema.

// Rules that decide the kind of a violation. They are JSON Schema keywords.
const (
	ruleRequired = "required"
	ruleType     = "type"
	ruleEnum     = "enum"
	ruleUnknown  = "additionalProperties"
)

// maxViolations limits how many violations are read from a text.
const maxViolations = 20

// argumentTexts are the forms that SDKs use: how each begins, and the family that reads its violations.
var argumentTexts = []struct {
	sign    string
	begins  *regexp.Regexp
	instead string // replaces the SDK's own words, for the family
	family  string
}{
	{"issues of the TypeScript SDK", regexp.MustCompile(`^\[`), "[", "zod"},
	{"text of the TypeScript SDK: arguments", reInvalidTS, "Invalid arguments:\n", "zod"},
	{"text of the Python SDK: arguments", reInvalidPython, "validation errors for a call\n", "pydantic"},
}

var (
	reInvalidTS = regexp.MustCompile(`^(?:Input validation error: )?Invalid (?:arguments|parameters|input) for (?:tool )?[^\s:]+:\s+` +
		`|^Tool '[^'\s]+' parameter validation failed: `)
	reInvalidPython = regexp.MustCompile(`^\d+ validation errors? for \S+\n`)
)

// argumentText reads a text in which an SDK rejects arguments. A bare list counts only if it has violations.
func argumentText(text string) (violations []recourse.Violation, sign string, ok bool) {
	for _, sdk := range argumentTexts {
		if !sdk.begins.MatchString(headOf(text)) {
			continue
		}
		violations = builtinFamily(sdk.family).violationsIn(sdk.begins.ReplaceAllLiteralString(text, sdk.instead))
		if len(violations) == 0 {
			violations = ajvViolations(text, nil)
		}
		if len(violations) > 0 || text[0] != '[' {
			return violations, sdk.sign, true
		}
	}
	violations, ok = goText(text)
	return violations, "text of the Go SDK: arguments", ok
}

// violationsIn returns the violations listed in a text in the family's form.
func (f *Family) violationsIn(text string) []recourse.Violation {
	if e, ok := f.reads(text); ok {
		return e.Violations
	}
	return nil
}

var reQuoted = regexp.MustCompile(`["']([^"']*)["']`)

func quoted(list string) []string {
	var names []string
	for _, m := range reQuoted.FindAllStringSubmatch(list, maxViolations) {
		names = append(names, m[1])
	}
	return names
}

var reGoStep = regexp.MustCompile(`^validating ([^\s:]+): `)

// goText reads the text of the Go SDK, which names each schema on the path to the first violation, then the
// keyword.
func goText(text string) ([]recourse.Violation, bool) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(headOf(text), "invalid params: "), `validating "arguments": `)
	if !ok {
		return nil, false
	}
	var steps []string
	for m := reGoStep.FindStringSubmatch(rest); m != nil; m = reGoStep.FindStringSubmatch(rest) {
		rest = rest[len(m[0]):]
		if strings.HasPrefix(m[1], "/") { // each schema is named by its full path
			steps = propertySteps(m[1])
		}
	}
	rule, what, _ := strings.Cut(rest, ": ")
	var names []string
	v := recourse.Violation{Rule: rule, Message: what}
	switch {
	case strings.HasPrefix(rest, "unexpected additional properties "):
		v.Rule, v.Message, names = ruleUnknown, rest, quoted(rest)
	case rule == ruleRequired || strings.HasPrefix(rule, "dependentRequired"):
		v.Rule, names = ruleRequired, quoted(what)
	case rule == ruleType:
		if _, want, ok := strings.Cut(what, ", want "); ok {
			v.Want = strings.NewReplacer(`"`, "", "[", "", "]", "").Replace(want)
		}
	}
	if len(steps)+len(names) == 0 {
		return nil, true
	}
	return atEach(v, steps, names), true
}

// propertySteps returns the property names in a path through a schema.
func propertySteps(path string) []string {
	var steps []string
	tokens := strings.Split(path, "/")
	for i := 1; i+1 < len(tokens); i++ {
		if tokens[i] == "properties" {
			i++
			steps = append(steps, strings.NewReplacer("~1", "/", "~0", "~").Replace(tokens[i]))
		}
	}
	return steps
}

// atEach places a violation at each of the names below a path, or at the path itself if there are none.
func atEach(v recourse.Violation, steps, names []string) []recourse.Violation {
	if len(names) == 0 {
		return []recourse.Violation{at(v, steps...)}
	}
	list := make([]recourse.Violation, len(names))
	for i, name := range names {
		list[i] = at(v, append(slices.Clip(steps), name)...)
	}
	return list
}

// at places a violation at the end of a path through the arguments.
func at(v recourse.Violation, steps ...string) recourse.Violation {
	v.Param = strings.Join(steps, ".")
	pointer := json.Pointer("")
	for _, step := range steps {
		pointer = pointer.AppendToken(step)
	}
	v.Pointer = string(pointer)
	return v
}

// Ajv's clauses, in which JavaScript servers say that arguments do not match a JSON Schema: the path to a value, as a
// pointer or with dots, possibly below Ajv's name for the arguments, and the rule, in the words of any version of Ajv.
var (
	reAjv = regexp.MustCompile(`(?:^|[\s,;:(])(?:((?:[\w$-]*(?:[./][\w~$-]+|\[\d+\])+)?):? ?|([\w$-]+) )((?:must|should) (?:` +
		`have required property '[^']+'` +
		`|be (?:string|integer|number|boolean|object|array|null` +
		`|equal to (?:one of the allowed values|constant)|[<>]=? -?[\d.]+|multiple of [\d.]+)\b` +
		`|match (?:format|pattern) "[^"]*"|NOT have additional properties|NOT (?:have|be) (?:fewer|more|shorter|longer) than \d+[ \w]*))`)
	reAjvRequired = regexp.MustCompile(`have required property '([^']+)'`)
	reAjvType     = regexp.MustCompile(`be (string|integer|number|boolean|object|array|null)$`)
)

// ajvRoots are what a path in a clause may begin with: the names of the arguments themselves.
var ajvRoots = []string{"data", "instance", "body", "query", "querystring", "params", "headers", "arguments", "args", "input", "root", "$"}

// ajvRules maps a part of an Ajv clause to the JSON Schema keyword.
var ajvRules = []struct{ has, rule string }{
	{"match format ", "format"},
	{"match pattern ", "pattern"},
	{"equal to one of the allowed values", ruleEnum},
	{"equal to constant", "const"},
	{"NOT have additional properties", ruleUnknown},
	{"be >", "minimum"},
	{"be <", "maximum"},
	{" shorter than", "minLength"},
	{" longer than", "maxLength"},
	{" fewer than", "minItems"},
	{" more than", "maxItems"},
	{"be multiple of", "multipleOf"},
}

// ajvViolations reads the Ajv clauses in a text as violations at or below a path. Those that name no value are left out.
func ajvViolations(text string, where []string) []recourse.Violation {
	var list []recourse.Violation
	for _, m := range reAjv.FindAllStringSubmatch(headOf(text), maxViolations) {
		if v, ok := ajvClause(slices.Concat(where, ajvSteps(m[1]+m[2])), m[3]); ok {
			list = append(list, v)
		}
	}
	return list
}

// ajvSteps returns the steps of the path in an Ajv clause.
func ajvSteps(path string) []string {
	first, rest, _ := strings.Cut(path, "/")
	if slices.Contains(ajvRoots, first) {
		return pointerSteps(rest)
	}
	if strings.Contains(path, "/") {
		return pointerSteps(path)
	}
	steps := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	if len(steps) > 0 && slices.Contains(ajvRoots, steps[0]) {
		return steps[1:]
	}
	return steps
}

// ajvClause returns what a clause says of the value at the end of some steps.
func ajvClause(steps []string, rule string) (recourse.Violation, bool) {
	v := recourse.Violation{Message: rule}
	for _, r := range ajvRules {
		if strings.Contains(rule, r.has) {
			v.Rule = r.rule
		}
	}
	if t := reAjvType.FindStringSubmatch(rule); t != nil {
		v.Rule, v.Want = ruleType, t[1]
	}
	if r := reAjvRequired.FindStringSubmatch(rule); r != nil {
		v.Rule = ruleRequired
		if len(steps) == 0 || steps[len(steps)-1] != r[1] {
			steps = append(steps, r[1])
		}
	}
	return at(v, steps...), len(steps) > 0
}

// fieldViolations reads an object that has nothing but sentences by parameter: {"city": ["The city is required."]}.
func fieldViolations(n *json.Node) []recourse.Violation {
	if n.Raw.Kind() != '{' || spokenFields(n, 1) == "" {
		return nil
	}
	names, values := n.Parts()
	var list []recourse.Violation
	for i, name := range names[:min(len(names), maxViolations)] {
		v := recourse.Violation{Message: spokenList(&values[i], 1)}
		builtinFamily("problem").rule(&v)
		list = append(list, at(v, name))
	}
	return list
}

// pointerSteps returns the steps of a JSON Pointer, with or without the leading slash.
func pointerSteps(pointer string) []string {
	pointer = strings.TrimPrefix(pointer, "/")
	if pointer == "" {
		return nil
	}
	steps := strings.Split(pointer, "/")
	for i, step := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
	}
	return steps
}

// PlaceFirst corrects the place of the first violation if the server wrote it as Ajv does: as a JSON Pointer,
// as "data", or only in its sentence.
func PlaceFirst(e *recourse.Error) {
	if e.Kind.Class() != recourse.ClassInput {
		return
	}
	var first recourse.Violation
	if len(e.Violations) > 0 {
		first = e.Violations[0]
	}
	var where []string
	switch {
	case first.Pointer != "", // we wrote it
		first.Param != "" && first.Rule != "" && !strings.Contains(first.Param, "/"):
		return
	case first.Param == "data", first.Param == "instance":
	case strings.Contains(first.Param, "/"):
		where = pointerSteps(first.Param)
	case first.Param != "":
		where = strings.Split(first.Param, ".")
	}
	for _, sentence := range []string{first.Message, e.Message} {
		found := ajvViolations(sentence, where)
		if len(found) == 0 {
			continue
		}
		v := found[0]
		v.Got = first.Got
		v.Want, v.Rule = cmp.Or(first.Want, v.Want), cmp.Or(first.Rule, v.Rule)
		found[0] = v
		e.Violations = append(found, e.Violations[min(1, len(e.Violations)):]...)
		return
	}
	if first.Param == "" {
		return
	}
	if len(where) > 0 && strings.Contains(first.Param, "/") {
		first = at(first, where...)
	}
	if first.Rule == "" {
		first.Rule = ruleOf(cmp.Or(first.Message, e.Message))
	}
	e.Violations = append([]recourse.Violation{first}, e.Violations[1:]...)
}

// ruleOf returns the rule that a sentence about an argument names, or "".
func ruleOf(sentence string) string {
	v := recourse.Violation{Message: sentence}
	builtinFamily("problem").rule(&v)
	return v.Rule
}

// Unfold handles a failure whose sentence is zod's list of issues in JSON: it returns the failure with the
// violations from that list, wherever the server put it; otherwise e itself.
func Unfold(e *recourse.Error) *recourse.Error {
	text := strings.TrimSpace(e.Message)
	if !strings.HasPrefix(text, "[") {
		return e
	}
	violations, _, _ := argumentText(text)
	if len(violations) == 0 {
		return e
	}
	said := invalid(violations, sentenceOf(violations))
	return e.With(func(c *recourse.Error) {
		c.Message = said.Message
		if len(c.Violations) == 0 {
			c.Violations = said.Violations
		}
		if c.Code == "" && c.Kind.Class() != recourse.ClassInput { // no code tells us what happened
			c.Kind, c.Origin = said.Kind, said.Origin
		}
	})
}

// sentenceOf joins the messages of violations.
func sentenceOf(violations []recourse.Violation) string {
	said := make([]string, len(violations))
	for i, v := range violations {
		said[i] = strings.TrimRight(v.Message, ".")
		if v.Param != "" {
			said[i] = v.Param + ": " + said[i]
		}
	}
	return strings.Join(slices.Compact(said), "; ") + "."
}
