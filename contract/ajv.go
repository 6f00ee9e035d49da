package contract

import (
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
)

// The sentences of Ajv, by which servers in JavaScript say that arguments do not fit a JSON
// Schema: what it calls the arguments, the way to the value, and the rule.
var (
	reAjv         = regexp.MustCompile(`^(?:data|instance)?((?:/[^\s/]+)*) ?(must (?:NOT )?(?:have|be|match) .+)$`)
	reAjvRequired = regexp.MustCompile(`^must have required property '([^']+)'`)
	reAjvType     = regexp.MustCompile(`^must be (string|integer|number|boolean|object|array|null)$`)
)

// ajvRules are the keywords for how its sentences begin.
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

// ajvSentence reads a sentence of Ajv's as a violation below where.
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

// placeFirst puts the place of the first violation as we write it, where a server has spelled
// it as Ajv does: as a JSON Pointer, as data, or in its sentence.
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
