package contractform

import (
	stdjson "encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// AnyItem is the step of a path that stands for every item of a list.
const AnyItem = "*"

// Judge reports whether the write took effect. data is the answer; nil means that the verify call failed because the
// thing does not exist. arguments are those of the write. known is false if there is no rule, or data lacks what it
// checks.
func (l *Landed) Judge(data, arguments json.Value) (landed, known bool) {
	exists := l != nil && l.Exists != nil
	switch {
	case l == nil:
		return false, false
	case data == nil:
		return exists && !*l.Exists, exists
	}
	value, err := valueOf(data)
	if err != nil {
		return false, false
	}
	found, reached := find(value, pathOf(l.Path))
	if exists {
		return (len(found) > 0) == *l.Exists, reached
	}
	want := l.Value
	if l.Pointer != "" {
		want = json.Lookup(arguments, json.Pointer(l.Pointer))
	}
	expected, err := valueOf(want)
	if err != nil || !reached || !l.Contains && len(found) == 0 {
		return false, false
	}
	for _, value := range found {
		if reflect.DeepEqual(value, expected) || l.Contains && holds(value, expected) {
			return true, true
		}
	}
	return false, true
}

// Fill returns a verify call with all its arguments, some of which stand in those of the failed call; nil if one does not stand there.
func Fill(v *recourse.Verify, arguments json.Value) *recourse.Verify {
	whole := *v
	whole.From = nil
	for _, arg := range v.From {
		value := valueAt(json.Value(arg.Value), arguments)
		if value == nil {
			return nil
		}
		whole.Args = whole.Args.With(arg.Name, stdjson.RawMessage(value))
	}
	return &whole
}

// valueAt returns the value at a place in the arguments, or in a list if the place is in one. The place may come from a server.
func valueAt(place, arguments json.Value) json.Value {
	if pointer, ok := json.TextOf(place); ok {
		return json.Lookup(arguments, json.Pointer(pointer))
	}
	var list []string
	if json.Unmarshal(place, &list) != nil || len(list) != 1 {
		return nil
	}
	value := json.Lookup(arguments, json.Pointer(list[0]))
	if value == nil {
		return nil
	}
	return slices.Concat(json.Value("["), value, json.Value("]"))
}

// pathOf returns the steps of a path.
func pathOf(pointer string) (path []string) {
	for token := range json.Pointer(pointer).Tokens() {
		path = append(path, token)
	}
	return path
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
		if token == AnyItem {
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
