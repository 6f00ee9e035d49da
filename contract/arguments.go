package contract

import (
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
)

// The texts by which SDKs and validators say that arguments do not fit a tool's
// inputSchema.

// Rules that decide the kind of a violation. They are keywords of JSON Schema.
const (
	ruleRequired = "required"
	ruleType     = "type"
	ruleEnum     = "enum"
	ruleUnknown  = "additionalProperties"
)

// maxViolations bounds how many violations are taken from a text.
const maxViolations = 20

// argumentTexts are the forms of the SDKs, with how each is recognised.
var argumentTexts = []struct {
	sign string
	read func(text string) ([]recourse.Violation, bool) // JSON is read whole, prose up to maxDetect
}{
	{"issues of the TypeScript SDK", zodIssues},
	{"text of the TypeScript SDK: arguments", zodText},
	{"text of the Go SDK: arguments", goText},
	{"text of the Python SDK: arguments", pydanticText},
}

// zodIssues reads the list of issues that zod writes as JSON.
func zodIssues(text string) ([]recourse.Violation, bool) {
	if !strings.HasPrefix(text, "[") {
		return nil, false
	}
	var issues []struct {
		Code     string       `json:"code"`
		Path     []json.Value `json:"path"`
		Message  string       `json:"message"`
		Expected string       `json:"expected"`
		Keys     []string     `json:"keys"`
		Received string       `json:"received"`
	}
	if json.UnmarshalLenient([]byte(text), &issues) != nil || len(issues) == 0 || issues[0].Code == "" {
		return nil, false
	}
	var list []recourse.Violation
	for _, issue := range issues[:min(len(issues), maxViolations)] {
		v := zodMessage(issue.Message)
		if rule, ok := zodRules[issue.Code]; ok && v.Rule != ruleRequired {
			v.Rule = rule
		}
		if issue.Received == "undefined" {
			v.Rule = ruleRequired
		}
		if issue.Expected != "" {
			v.Want = issue.Expected
		}
		var steps []string
		for _, step := range issue.Path {
			steps = append(steps, plainText(step))
		}
		list = append(list, atEach(v, steps, issue.Keys)...)
	}
	return list, true
}

// zodRules are the keywords of JSON Schema for zod's codes.
var zodRules = map[string]string{
	"invalid_type": ruleType, "unrecognized_keys": ruleUnknown, "too_small": "minimum", "too_big": "maximum",
	"invalid_string": "format", "invalid_format": "format", "invalid_enum_value": ruleEnum, "invalid_option": ruleEnum,
	"invalid_value":   ruleEnum,
	"invalid_literal": "const", "not_multiple_of": "multipleOf", "invalid_union": "anyOf",
}

var (
	reInvalidTS   = regexp.MustCompile(`^(?:Input validation error: )?Invalid arguments for tool [^\s:]+:?\s+`)
	reZodAt       = regexp.MustCompile(`^(.+) at (\S+)$`)                                // SDK 1.x: one a line
	reZodPath     = regexp.MustCompile(`(?:^|, )([^\s:,]+): [A-Z]`)                      // SDK 2.x: all in one line
	reZodExpected = regexp.MustCompile(`[Ee]xpected (.+?)(?:, received (\S+))?$`)        // zod 3 and 4
	reZodKeys     = regexp.MustCompile(`^Unrecognized keys?(?:\(s\) in object)?: (.+)$`) // zod 3 and 4
	reQuoted      = regexp.MustCompile(`["']([^"']*)["']`)
)

// zodText reads what the TypeScript SDKs make of zod's issues.
func zodText(text string) ([]recourse.Violation, bool) {
	prefix := reInvalidTS.FindString(headOf(text))
	if prefix == "" {
		return nil, false
	}
	text = text[len(prefix):]
	if list, ok := zodIssues(text); ok {
		return list, true
	}
	text = headOf(text)
	var list []recourse.Violation
	add := func(message, where string) {
		var steps, names []string
		if where = strings.NewReplacer("[", ".", "]", "").Replace(where); where != "" {
			steps = strings.Split(where, ".")
		}
		if m := reZodKeys.FindStringSubmatch(message); m != nil {
			names = quoted(m[1])
		}
		if len(steps)+len(names) > 0 && len(list) < maxViolations {
			list = append(list, atEach(zodMessage(message), steps, names)...)
		}
	}
	if places := reZodPath.FindAllStringSubmatchIndex(text, maxViolations); places != nil {
		for i, m := range places {
			end := len(text)
			if i+1 < len(places) {
				end = places[i+1][0]
			}
			add(text[m[3]+len(": "):end], text[m[2]:m[3]])
		}
		return list, true
	}
	for line := range strings.SplitSeq(text, "\n") {
		if m := reZodAt.FindStringSubmatch(line); m != nil {
			add(m[1], m[2])
		} else {
			add(line, "")
		}
	}
	return list, true
}

// zodMessage takes the rule from an issue's sentence.
func zodMessage(message string) recourse.Violation {
	v := recourse.Violation{Message: message}
	received := ""
	if m := reZodExpected.FindStringSubmatch(message); m != nil {
		v.Want, received = m[1], m[2]
	}
	switch {
	case message == "Required", received == "undefined":
		v.Rule = ruleRequired
	case received != "":
		v.Rule = ruleType
	case strings.HasPrefix(message, "Unrecognized key"):
		v.Rule = ruleUnknown
	case strings.HasPrefix(message, "Too small"):
		v.Rule = "minimum"
	case strings.HasPrefix(message, "Too big"):
		v.Rule = "maximum"
	case strings.HasPrefix(message, "Invalid option"), strings.HasPrefix(message, "Invalid enum value"):
		v.Rule = ruleEnum
	}
	return v
}

func quoted(list string) []string {
	var names []string
	for _, m := range reQuoted.FindAllStringSubmatch(list, maxViolations) {
		names = append(names, m[1])
	}
	return names
}

var reGoStep = regexp.MustCompile(`^validating ([^\s:]+): `)

// goText reads the text of the Go SDK, which names each schema on the way to the first
// violation, then the keyword.
func goText(text string) ([]recourse.Violation, bool) {
	rest, ok := strings.CutPrefix(headOf(text), `validating "arguments": `)
	if !ok {
		return nil, false
	}
	var steps []string
	for m := reGoStep.FindStringSubmatch(rest); m != nil; m = reGoStep.FindStringSubmatch(rest) {
		rest = rest[len(m[0]):]
		if strings.HasPrefix(m[1], "/") { // the whole way, each time
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

// propertySteps returns the names of properties in a path through a schema.
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

var (
	rePydantic      = regexp.MustCompile(`^\d+ validation errors? for \S+\n`)
	rePydanticField = regexp.MustCompile(`(?m)^(\S[^\n]*)\n {2}([^\n]*?) \[type=([a-z_]+)`)
)

// pydanticText reads the text of pydantic, which the Python SDK passes on.
func pydanticText(text string) ([]recourse.Violation, bool) {
	if text = headOf(text); !rePydantic.MatchString(text) {
		return nil, false
	}
	var list []recourse.Violation
	for _, m := range rePydanticField.FindAllStringSubmatch(text, maxViolations) {
		v := recourse.Violation{Rule: m[3], Message: m[2]}
		switch {
		case m[3] == "missing" || m[3] == "missing_argument":
			v.Rule = ruleRequired
		case strings.HasSuffix(m[3], "_type") || strings.HasSuffix(m[3], "_parsing"):
			v.Rule = ruleType
		case m[3] == "extra_forbidden" || m[3] == "unexpected_keyword_argument":
			v.Rule = ruleUnknown
		}
		list = append(list, at(v, strings.Split(m[1], ".")...))
	}
	return list, true
}

// atEach places a violation at each of the names below a path, or at the path itself if
// there are no names.
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

// The sentences of Ajv, by which servers in JavaScript say that arguments do not fit a
// JSON Schema: Ajv's name for the arguments, the path to the value, and the rule.
var (
	reAjv         = regexp.MustCompile(`^(?:data|instance)?((?:/[^\s/]+)*) ?(must (?:NOT )?(?:have|be|match) .+)$`)
	reAjvRequired = regexp.MustCompile(`^must have required property '([^']+)'`)
	reAjvType     = regexp.MustCompile(`^must be (string|integer|number|boolean|object|array|null)$`)
)

// ajvRules are the keywords of JSON Schema by the beginning of Ajv's sentence.
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

// ajvSentence reads a sentence of Ajv as a violation at or below a path.
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

// pointerSteps returns the steps of a JSON Pointer, with or without its first slash.
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

// placeFirst corrects the place of the first violation where a server has written it as
// Ajv does: as a JSON Pointer, as "data", or in its sentence only.
func placeFirst(e *recourse.Error) {
	if e.Kind.Class() != recourse.ClassInput {
		return
	}
	var first recourse.Violation
	if len(e.Violations) > 0 {
		first = e.Violations[0]
	}
	var where []string
	switch {
	case first.Pointer != "", // it is ours
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
		prefer(&v.Want, first.Want)
		prefer(&v.Rule, first.Rule)
		e.Violations = append([]recourse.Violation{v}, e.Violations[min(1, len(e.Violations)):]...)
		return
	}
	if len(where) > 0 && strings.Contains(first.Param, "/") {
		first = at(first, where...)
		e.Violations = append([]recourse.Violation{first}, e.Violations[1:]...)
	}
}

// unfolded returns a failure whose sentence is zod's list of issues in JSON with the
// violations that the list holds, wherever the server has put it.
func unfolded(reading Reading) Reading {
	e := reading.Error()
	if e == nil {
		return reading
	}
	violations, ok := zodIssues(strings.TrimSpace(e.Message))
	if !ok {
		return reading
	}
	said := invalid(violations, sentenceOf(violations))
	reading.Failure = e.With(func(c *recourse.Error) {
		c.Message = said.Message
		if len(c.Violations) == 0 {
			c.Violations = said.Violations
		}
		if c.Code == "" && c.Kind.Class() != recourse.ClassInput { // no code says what happened
			c.Kind, c.Origin = said.Kind, said.Origin
		}
	})
	return reading
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
