// Package args checks the arguments of a call against the inputSchema of its tool, and describes in plain
// words everything that is wrong with them.
//
//	inputSchema -- Compile --> Schema
//	                             |  Check(arguments)
//	                             v
//	                           violations -- Error --> the record of the failure
//
// A library compiles a schema: drafts, references, the meta-schema. The evaluation is ours, since the
// library's has no limits: thirty lines of schema can ask for 2^30 evaluations, the number 1e9999999 makes it
// panic, 1e999999 takes 25 ms, and a list of a million wrong items takes 400 MB. The library also does not
// say which parameters conflict in {"not": {"required": ["a", "b"]}}. A test makes sure that both give the
// same verdicts.
//
// Arguments are checked to give a good answer, not for safety, since the server checks them again. If
// checking would cost too much, they pass.
package args

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Keywords that more than one place names.
const (
	ruleRequired = "required"
	ruleType     = "type"
)

// deciding lists the kinds of a record about arguments. The first one that occurs decides.
var deciding = []recourse.Kind{
	recourse.KindMissingParam, recourse.KindInvalidType, recourse.KindConflictingParams,
	recourse.KindInvalidValue, recourse.KindUnknownParam,
}

// kindOf returns the kind of a broken rule. For not and oneOf it also depends on what is wanted: see
// [kindOfViolation].
func kindOf(rule string) recourse.Kind {
	switch rule {
	case ruleRequired:
		return recourse.KindMissingParam
	case ruleType:
		return recourse.KindInvalidType
	case "not", "oneOf", "dependentRequired":
		return recourse.KindConflictingParams
	case "additionalProperties", "unevaluatedProperties":
		return recourse.KindUnknownParam
	default:
		return recourse.KindInvalidValue
	}
}

// Check returns what is wrong with the arguments of a call: one violation for each leaf
// cause, sorted by pointer, at most 20. For anyOf and oneOf it reports the branch that
// the value comes closest to. Missing arguments count as {}.
//
// Got is at most 128 characters of JSON. What is longer ends with a mark. It is absent for secrets, which are
// recognized by the schema (writeOnly, format: password) or by name. Names are cut to 128 characters.
//
// Check returns nil for arguments that are not JSON, or that have more than 128 levels. Of more than 2^14 values the items at
// the end of lists are only counted, and an object with as many members is not checked. It
// stops after 2^18 steps or when ctx ends, and returns what it has found so far. A required member with a default need not be
// given: a server whose schema says so fills it in.
func (s *Schema) Check(ctx context.Context, arguments []byte) []recourse.Violation {
	return s.check(ctx, arguments, false)
}

// CheckNative is Check for a program that takes numbers as int64 and float64, and fills in nothing. It also reports integers beyond
// ±9.2e18 and other numbers beyond a float64, which the schema does not forbid: such a program fails on them
// with its own error, or reads them as other numbers.
func (s *Schema) CheckNative(ctx context.Context, arguments []byte) []recourse.Violation {
	return s.check(ctx, arguments, true)
}

// Secrets returns the strings and numbers in the arguments of a call that the schema marks as secret
// (writeOnly, format: password), as far as Check would get.
func (s *Schema) Secrets(ctx context.Context, arguments []byte) []string {
	v, err := parse(arguments)
	if err != nil {
		return nil
	}
	c := check{ctx: ctx, budget: s.budget, unchecked: &s.unchecked, steps: maxSteps}
	c.eval(s.root, v, whole, &report{}, nil)
	var secrets []string
	for _, pointer := range c.secrets {
		secrets = appendLeaves(secrets, json.Lookup(arguments, json.Pointer(pointer)))
	}
	return secrets
}

// appendLeaves appends the strings and numbers in a value.
func appendLeaves(list []string, raw json.Value) []string {
	dec := json.NewLenientDecoder(bytes.NewReader(raw))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return list
		}
		if kind := token.Kind(); kind == '"' || kind == '0' {
			list = append(list, token.String())
		}
	}
}

func (s *Schema) check(ctx context.Context, arguments []byte, native bool) []recourse.Violation {
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	v, err := parse(arguments)
	if err != nil {
		return nil
	}
	c := check{ctx: ctx, budget: s.budget, unchecked: &s.unchecked, steps: maxSteps, native: native}
	var out report
	if native {
		c.floats(v, whole, &out)
	}
	c.eval(s.root, v, whole, &out, nil)
	var violations []recourse.Violation
	strays := s.root.strays(v)
	for _, f := range out.found {
		next := f.violation(c.secrets)
		if f.rule == ruleRequired && f.node == s.root && strays != "" {
			next.Message, strays = cut(next.Message+strays, 2*maxWant), ""
		}
		same := func(v recourse.Violation) bool { return v.Pointer == next.Pointer && v.Message == next.Message }
		if !slices.ContainsFunc(violations, same) {
			violations = append(violations, next)
		}
	}
	return violations
}

// Kind returns the kind of a record about violations: the first of missing_param,
// invalid_type, conflicting_params, invalid_value and unknown_param that occurs.
func Kind(violations []recourse.Violation) recourse.Kind {
	best := len(deciding) - 1
	for _, v := range violations {
		best = min(best, slices.Index(deciding, kindOfViolation(v)))
	}
	return deciding[best]
}

// onlyOneOf begins Want if parameters exclude each other.
const onlyOneOf = "only one of "

// kindOfViolation returns the kind of a violation. If parameters conflict, Want names one of them or is
// empty; otherwise a single value breaks not or oneOf, and is invalid.
func kindOfViolation(v recourse.Violation) recourse.Kind {
	kind := kindOf(v.Rule)
	if kind == recourse.KindConflictingParams && v.Want != "" && !strings.HasPrefix(v.Want, onlyOneOf) {
		return recourse.KindInvalidValue
	}
	return kind
}

// Error returns the record of a call that was refused because of its arguments. Its kind is that of [Kind].
// The first violation of that kind is moved to the front, where contracts that report a single one look for
// it; the others stay sorted by pointer. The message names all of them, in up to 1000 characters.
func Error(tool string, violations []recourse.Violation) *recourse.Error {
	kind := Kind(violations)
	violations = slices.Clone(violations)
	decides := func(v recourse.Violation) bool { return kindOfViolation(v) == kind }
	if i := slices.IndexFunc(violations, decides); i > 0 {
		first := violations[i]
		violations = slices.Insert(slices.Delete(violations, i, i+1), 0, first)
	}
	e := recourse.New(kind, sentence(violations)).
		WithOrigin(recourse.OriginCaller).
		WithEffect(recourse.EffectNone).
		WithViolations(violations...)
	if tool == "" {
		return e
	}
	return e.WithDetail("tool", tool)
}

// sentence joins the messages of violations.
func sentence(violations []recourse.Violation) string {
	const most = 1000
	var b strings.Builder
	for i, v := range violations {
		if i > 0 && b.Len()+len(v.Message) > most {
			b.WriteString("; " + count("and", len(violations)-i, "more violation"))
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(v.Message)
	}
	if b.Len() == 0 {
		return ""
	}
	return b.String() + "."
}
