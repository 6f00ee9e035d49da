package contract

import (
	stdjson "encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// A landedRule says what the answer of a verify call looks like if the write took effect.
type landedRule struct {
	form contractform.Landed
	path []string // the pointer's tokens
	test landedTest
}

type landedTest int

const (
	landedNever landedTest = iota // there is no rule
	landedExists
	landedAbsent
	landedEquals
	landedContains
)

// anyItem is the path token for every item of a list.
const anyItem = "*"

func (k *compiler) landed(f *contractform.LandedFile) landedRule {
	if f == nil {
		return landedRule{}
	}
	if !strings.HasPrefix(f.Path, "/") {
		k.Mistakef(f.Node, "write a JSON Pointer into the answer, such as /orders/0/status", "%q is no JSON Pointer", f.Path)
		return landedRule{}
	}
	rule := landedRule{form: contractform.Landed{Path: f.Path}}
	for token := range json.Pointer(f.Path).Tokens() {
		rule.path = append(rule.path, token)
	}
	tests := 0
	if f.Exists != nil {
		tests++
		rule.test = landedAbsent
		if *f.Exists {
			rule.test = landedExists
		}
		rule.form.Exists = f.Exists
	}
	for _, t := range []struct {
		test landedTest
		want *strictyaml.Node
	}{{landedEquals, f.Equals}, {landedContains, f.Contains}} {
		if t.want == nil {
			continue
		}
		tests++
		rule.test = t.test
		rule.form.Contains = t.test == landedContains
		if text := ""; t.want.Kind() == strictyaml.KindString && t.want.Decode(&text) == nil && strings.HasPrefix(text, "/") {
			rule.form.Pointer = text
		} else {
			rule.form.Value = k.JSON(t.want)
		}
	}
	if tests != 1 {
		k.Mistakef(f.Node, "for example {path: /order/status, equals: cancelled}", "expected one of `exists`, `equals` and `contains`")
	}
	return rule
}

// Landed reports whether a write took effect, judging by the answer to the call that [Contract.VerifyFor]
// returns. data is that answer as JSON: its structured content, else its text; nil means that the call failed
// because the thing does not exist. known is false if the contract has no rule for the tool, or data lacks
// what the rule checks: the question is then open. Only Tool and Arguments of call are used.
func (c *Contract) Landed(call *Call, data []byte) (landed, known bool) {
	verify := c.verify[call.Tool]
	if !verify.asks(call) {
		return false, false
	}
	rule := verify.landed
	if data == nil {
		return rule.test == landedAbsent, rule.test == landedAbsent || rule.test == landedExists
	}
	value, err := valueOf(data)
	if err != nil {
		return false, false
	}
	found, reached := find(value, rule.path)
	switch rule.test {
	case landedExists:
		return len(found) > 0, reached
	case landedAbsent:
		return len(found) == 0, reached
	case landedEquals, landedContains:
	default:
		return false, false
	}
	want := rule.form.Value
	if rule.form.Pointer != "" {
		want = json.Lookup(json.Value(call.Arguments), json.Pointer(rule.form.Pointer))
	}
	expected, err := valueOf(want)
	if err != nil || !reached || rule.test == landedEquals && len(found) == 0 {
		return false, false
	}
	for _, value := range found {
		if reflect.DeepEqual(value, expected) || rule.test == landedContains && holds(value, expected) {
			return true, true
		}
	}
	return false, true
}

// asks reports whether the call has every argument that the verify call takes from it. If one is missing, the
// verify call asks about something else.
func (r *verifyRule) asks(call *Call) bool {
	for _, a := range r.args {
		if a.pointer != "" && call.argument(a.pointer) == nil {
			return false
		}
	}
	return true
}

// valueOf parses JSON into values that can be compared: a number is a float64 if that is exact, however it is
// written; otherwise it is its text.
func valueOf(text json.Value) (any, error) {
	v, err := json.UnmarshalAny(text)
	return withNumbers(v), err
}

func withNumbers(v any) any {
	switch v := v.(type) {
	case stdjson.Number:
		const exact = 1 << 53
		if f, err := v.Float64(); err == nil && math.Abs(f) < exact {
			return f
		}
	case []any:
		for i := range v {
			v[i] = withNumbers(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withNumbers(v[name])
		}
	}
	return v
}

// find returns the value that a path leads to, unless it is null. reached reports whether all but the last
// step exists: the value is then known to be missing, not merely somewhere else.
func find(value any, path []string) (found []any, reached bool) {
	if len(path) == 0 {
		if value == nil {
			return nil, true
		}
		return []any{value}, true
	}
	token, rest := path[0], path[1:]
	switch v := value.(type) {
	case map[string]any:
		inner, ok := v[token]
		if !ok {
			return nil, len(rest) == 0
		}
		return find(inner, rest)
	case []any:
		if token == anyItem {
			for _, inner := range v {
				some, _ := find(inner, rest)
				found = append(found, some...)
			}
			return found, len(v) == 0 || len(found) > 0
		}
		i, err := strconv.Atoi(token)
		if err != nil {
			return nil, false
		}
		if i < 0 || i >= len(v) {
			return nil, true // the list exists but is shorter
		}
		return find(v[i], rest)
	default:
		return nil, false
	}
}

// holds reports whether a text contains another, a list an item, or an object the members of another.
func holds(value, want any) bool {
	switch v := value.(type) {
	case string:
		part, ok := want.(string)
		return ok && strings.Contains(v, part)
	case []any:
		for _, item := range v {
			if reflect.DeepEqual(item, want) || holdsMembers(item, want) {
				return true
			}
		}
		return false
	default:
		return holdsMembers(value, want)
	}
}

func holdsMembers(value, want any) bool {
	object, isObject := value.(map[string]any)
	members, ok := want.(map[string]any)
	if !isObject || !ok {
		return false
	}
	for name, member := range members {
		if !reflect.DeepEqual(object[name], member) {
			return false
		}
	}
	return true
}

// BatchArgument returns the argument that lists a call's items, each of which may fail on its own; "" if the
// contract names none for the tool.
func (c *Contract) BatchArgument(tool string) string { return c.batch[tool] }
