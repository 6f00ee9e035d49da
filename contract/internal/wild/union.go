package wild

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/recoursehq/recourse"
)

// unionTypes are pydantic's names for the types of a union that are no models, but for those that fields have as well.
var unionTypes = []string{
	"str", "int", "float", "bool", "bytes", "none", "constrained-str", "constrained-int", "constrained-float", "list", "dict", "any",
}

// withoutBranches returns violations without the names of a union's types, which pydantic puts behind the parameter's: for a value
// of {"label": "A"} where a text or a Node may be given, node.str should be a string, and node.Node.key is missing. What says no more
// than that the value is not of some simple type goes, if another branch says what is wrong within it.
func withoutBranches(list []recourse.Violation) []recourse.Violation {
	for _, v := range list {
		parent, ok := branchOf(v)
		if !ok {
			continue
		}
		within := func(v recourse.Violation) bool { return strings.HasPrefix(v.Pointer, parent+"/") }
		isOutside := func(v recourse.Violation) bool { return !within(v) }
		isType := func(v recourse.Violation) bool { of, ok := branchOf(v); return ok && of == parent }
		inner := slices.DeleteFunc(slices.Clone(list), func(v recourse.Violation) bool { return !within(v) || isType(v) })
		rest := slices.DeleteFunc(slices.Clone(list), within)
		switch {
		case slices.ContainsFunc(inner, func(v recourse.Violation) bool { return !isBranch(parent, v) }): // they are fields
		case len(inner) > 0:
			for i := range inner {
				inner[i] = at(inner[i], withoutType(pointerSteps(parent), pointerSteps(inner[i].Pointer))...)
			}
			return withoutBranches(append(rest, inner...))
		case len(list)-len(rest) > 1:
			return withoutBranches(append(rest, oneOf(parent, slices.DeleteFunc(slices.Clone(list), isOutside))))
		}
	}
	return list
}

// branchOf returns the place of the value that is not of a simple type of a union.
func branchOf(v recourse.Violation) (parent string, ok bool) {
	steps := pointerSteps(v.Pointer)
	i := slices.IndexFunc(steps, func(step string) bool { return slices.Contains(unionTypes, step) })
	if v.Rule != ruleType || i < 1 || slices.ContainsFunc(steps[i:], func(step string) bool { return !isUnionType(step) }) {
		return "", false
	}
	return at(recourse.Violation{}, steps[:i]...).Pointer, true
}

// isBranch reports whether what follows the place of a union names one of its types.
func isBranch(parent string, v recourse.Violation) bool {
	step := pointerSteps(strings.TrimPrefix(v.Pointer, parent))[0]
	first, _ := utf8.DecodeRuneInString(step)
	return unicode.IsUpper(first) || isUnionType(step)
}

// isUnionType reports whether a step names a type, such as str, or the parts of one: str,any.
func isUnionType(step string) bool {
	for part := range strings.SplitSeq(step, ",") {
		if !slices.Contains(unionTypes, part) {
			return false
		}
	}
	return true
}

// withoutType returns the steps to a value without the type of the union at parent: a model, or a list of such.
func withoutType(parent, steps []string) []string {
	rest := steps[len(parent):]
	for len(rest) > 1 && isUnionType(rest[0]) {
		rest = rest[1:]
	}
	if first, _ := utf8.DecodeRuneInString(rest[0]); len(rest) > 1 && unicode.IsUpper(first) {
		rest = rest[1:]
	}
	return slices.Concat(parent, rest)
}

// oneOf returns what is said of a value that is of none of several simple types.
func oneOf(parent string, said []recourse.Violation) recourse.Violation {
	v := at(said[0], pointerSteps(parent)...)
	wants := make([]string, 0, len(said))
	for _, s := range said {
		if want := wanted(s.Message); want != "" && !slices.Contains(wants, want) {
			wants = append(wants, want)
		}
	}
	v.Want = strings.Join(wants, " or ")
	return v
}
