package wild

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
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
	reInvalidTS     = regexp.MustCompile(`^(?:Input validation error: )?Invalid arguments for tool [^\s:]+:?\s+`)
	reInvalidPython = regexp.MustCompile(`^\d+ validation errors? for \S+\n`)
)

// argumentText reads a text in which an SDK rejects arguments. A bare list counts only if it has violations.
func argumentText(text string) (violations []recourse.Violation, sign string, ok bool) {
	for _, sdk := range argumentTexts {
		if !sdk.begins.MatchString(headOf(text)) {
			continue
		}
		violations = builtinFamily(sdk.family).violationsIn(sdk.begins.ReplaceAllLiteralString(text, sdk.instead))
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
	rest, ok := strings.CutPrefix(headOf(text), `validating "arguments": `)
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

// Ajv's sentences, in which JavaScript servers say that arguments do not match a JSON Schema. Each has Ajv's
// name for the arguments, the path to the value, and the rule.
var (
	reAjv         = regexp.MustCompile(`^(?:data|instance)?((?:/[^\s/]+)*) ?(must (?:NOT )?(?:have|be|match) .+)$`)
	reAjvRequired = regexp.MustCompile(`^must have required property '([^']+)'`)
	reAjvType     = regexp.MustCompile(`^must be (string|integer|number|boolean|object|array|null)$`)
)

// ajvRules maps the beginning of an Ajv sentence to the JSON Schema keyword.
var ajvRules = []struct{ begin, rule string }{
	{"must match format ", "format"},
	{"must match pattern ", "pattern"},
	{"must be equal to one of the allowed values", ruleEnum},
	{"must be equal to constant", "const"},
	{"must NOT have additional properties", ruleUnknown},
	{"must be >", "minimum"},
	{"must be <", "maximum"},
	{"must NOT have fewer than", "minItems"},
	{"must NOT have more than", "maxItems"},
	{"must be multiple of", "multipleOf"},
}

// ajvSentence reads an Ajv sentence as a violation at or below a path.
func ajvSentence(text string, where []string) (recourse.Violation, bool) {
	m := reAjv.FindStringSubmatch(headOf(text))
	if m == nil {
		return recourse.Violation{}, false
	}
	steps := slices.Concat(where, pointerSteps(m[1]))
	v := recourse.Violation{Message: m[2]}
	for _, r := range ajvRules {
		if strings.HasPrefix(m[2], r.begin) {
			v.Rule = r.rule
		}
	}
	if t := reAjvType.FindStringSubmatch(m[2]); t != nil {
		v.Rule, v.Want = ruleType, t[1]
	}
	if r := reAjvRequired.FindStringSubmatch(m[2]); r != nil {
		v.Rule = ruleRequired
		if len(steps) == 0 || steps[len(steps)-1] != r[1] {
			steps = append(steps, r[1])
		}
	}
	return at(v, steps...), len(steps) > 0
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
		v, ok := ajvSentence(sentence, where)
		if !ok {
			continue
		}
		v.Got = first.Got
		v.Want, v.Rule = cmp.Or(first.Want, v.Want), cmp.Or(first.Rule, v.Rule)
		e.Violations = append([]recourse.Violation{v}, e.Violations[min(1, len(e.Violations)):]...)
		return
	}
	if len(where) > 0 && strings.Contains(first.Param, "/") {
		first = at(first, where...)
		e.Violations = append([]recourse.Violation{first}, e.Violations[1:]...)
	}
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
		if said[i] = strings.TrimRight(v.Message, "."); v.Param != "" {
			said[i] = v.Param + ": " + said[i]
		}
	}
	return strings.Join(slices.Compact(said), "; ") + "."
}
