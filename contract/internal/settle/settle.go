// Package settle judges by the answer of a verify call whether a write took effect.
package settle

import (
	stdjson "encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A Rule says what the answer looks like if the write took effect.
type Rule struct {
	form contractform.Landed
	path []string // the pointer's tokens
	test test
}

type test int

const (
	never test = iota // there is no rule
	exists
	absent
	equals
	contains
)

// anyItem is the path token for every item of a list.
const anyItem = "*"

// Compile reads a rule. Without one, nothing is known of any answer.
func Compile(k *language.Compiler, f *contractform.LandedFile) Rule {
	if f == nil {
		return Rule{}
	}
	if !strings.HasPrefix(f.Path, "/") {
		k.Mistakef(f.Node, "write a JSON Pointer into the answer, such as /orders/0/status", "%q is no JSON Pointer", f.Path)
		return Rule{}
	}
	rule := Rule{form: contractform.Landed{Path: f.Path}}
	for token := range json.Pointer(f.Path).Tokens() {
		rule.path = append(rule.path, token)
	}
	tests := 0
	if f.Exists != nil {
		tests++
		rule.test = absent
		if *f.Exists {
			rule.test = exists
		}
		rule.form.Exists = f.Exists
	}
	for _, t := range []struct {
		test test
		want *strictyaml.Node
	}{{equals, f.Equals}, {contains, f.Contains}} {
		if t.want == nil {
			continue
		}
		tests++
		rule.test = t.test
		rule.form.Contains = t.test == contains
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

// Form returns the rule as data, or nil if there is none.
func (r *Rule) Form() *contractform.Landed {
	if r.test == never {
		return nil
	}
	return &r.form
}

// Judge reports whether the write took effect. data is the answer; nil means that the verify call failed because the
// thing does not exist. arguments are those of the write. known is false if there is no rule, or data lacks what it
// checks.
func (r *Rule) Judge(data, arguments json.Value) (landed, known bool) {
	if data == nil {
		return r.test == absent, r.test == absent || r.test == exists
	}
	value, err := valueOf(data)
	if err != nil {
		return false, false
	}
	found, reached := find(value, r.path)
	switch r.test {
	case exists:
		return len(found) > 0, reached
	case absent:
		return len(found) == 0, reached
	case equals, contains:
	default:
		return false, false
	}
	want := r.form.Value
	if r.form.Pointer != "" {
		want = json.Lookup(arguments, json.Pointer(r.form.Pointer))
	}
	expected, err := valueOf(want)
	if err != nil || !reached || r.test == equals && len(found) == 0 {
		return false, false
	}
	for _, value := range found {
		if reflect.DeepEqual(value, expected) || r.test == contains && holds(value, expected) {
			return true, true
		}
	}
	return false, true
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
