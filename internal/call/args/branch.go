package args

import (
	"slices"
	"strings"
)

// inPlace applies the rules that apply other schemas to the same value.
func (c *check) inPlace(n *schemaNode, v *value, at *place, out *report, seen *seen) bool {
	ok := true
	for _, schema := range n.all {
		if ok = c.eval(schema, v, at, out, seen) && ok; !ok && out == nil {
			return false
		}
	}
	for _, d := range n.dependentSchemas {
		if v.kind == '{' && v.member(d.name) != nil {
			ok = c.eval(d.schema, v, at, out, seen) && ok
		}
	}
	if n.any != nil {
		ok = c.anyOf(n, v, at, out, seen) && ok
	}
	if n.one != nil {
		ok = c.oneOf(n, v, at, out, seen) && ok
	}
	if n.not != nil && c.eval(n.not, v, at, nil, nil) {
		ok = c.fail(out, negated(n, v, at))
	}
	if n.cond != nil {
		ok = c.conditional(n, v, at, out, seen) && ok
	}
	return ok
}

func (c *check) conditional(n *schemaNode, v *value, at *place, out *report, seen *seen) bool {
	next := n.els
	if condition := seen.fork(); c.eval(n.cond, v, at, nil, condition) {
		seen.merge(condition)
		next = n.then
	}
	return next == nil || c.eval(next, v, at, out, seen)
}

func (c *check) anyOf(n *schemaNode, v *value, at *place, out *report, seen *seen) bool {
	matched := false
	branches := make([]*report, 0, len(n.any))
	for _, schema := range n.any {
		marks, faults := seen.fork(), out.fork()
		if !c.eval(schema, v, at, faults, marks) {
			branches = append(branches, faults)
			continue
		}
		if seen == nil {
			return true
		}
		seen.merge(marks)
		matched = true
	}
	if !matched && out != nil && !c.exhausted() {
		out.merge(closest(branches, at, false))
	}
	return matched
}

func (c *check) oneOf(n *schemaNode, v *value, at *place, out *report, seen *seen) bool {
	var matched []*schemaNode
	branches := make([]*report, 0, len(n.one))
	for _, schema := range n.one {
		marks, faults := seen.fork(), out.fork()
		if !c.eval(schema, v, at, faults, marks) {
			branches = append(branches, faults)
			continue
		}
		seen.merge(marks)
		if matched = append(matched, schema); len(matched) == 2 {
			return c.fail(out, ambiguous(matched, n, v, at))
		}
	}
	if len(matched) == 0 && out != nil && !c.exhausted() {
		out.merge(closest(branches, at, true))
	}
	return len(matched) == 1
}

// fork returns a report for a branch whose faults may turn out not to matter.
func (r *report) fork() *report {
	if r == nil {
		return nil
	}
	return &report{}
}

// negated is the fault of a value that matches a schema under not. If that schema requires members, these are
// at fault.
func negated(n *schemaNode, v *value, at *place) leaf {
	names := given(v, []*schemaNode{n.not})
	if len(names) == 0 {
		return leaf{at: at, rule: "not", node: n, value: v, want: describeNot(n.not)}
	}
	f := leaf{at: at.member(names[0]), rule: "not", node: n, names: names}
	if len(names) > 1 {
		f.value = v.member(names[0])
	}
	return f
}

// ambiguous is the fault of a value that matches several branches of oneOf.
func ambiguous(matched []*schemaNode, n *schemaNode, v *value, at *place) leaf {
	names := given(v, matched)
	if len(names) < 2 {
		return leaf{at: at, rule: "oneOf", node: n, value: v, want: "exactly one of the allowed forms"}
	}
	return leaf{at: at.member(names[0]), rule: "oneOf", node: n, value: v.member(names[0]), names: names}
}

// given returns the members required by the schemas that v has. It returns nothing if the schemas require
// anything else.
func given(v *value, schemas []*schemaNode) []string {
	var names []string
	for _, n := range schemas {
		for _, name := range n.required {
			if v.member(name) != nil && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		for _, name := range given(v, n.firstMatch(v)) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// firstMatch returns the branches of n, all of which v matches, that require members which v has.
func (n *schemaNode) firstMatch(v *value) []*schemaNode {
	return slices.DeleteFunc(slices.Concat(n.any, n.one), func(branch *schemaNode) bool {
		return len(branch.required) == 0 || slices.ContainsFunc(branch.required, func(name string) bool { return v.member(name) == nil })
	})
}

// closest returns the faults of the branch that v comes closest to, or a single fault if the branches require
// the same thing in different forms.
func closest(branches []*report, at *place, exactly bool) *report {
	branches = slices.DeleteFunc(branches, func(r *report) bool { return len(r.found) == 0 })
	if len(branches) == 0 {
		return &report{}
	}
	if len(branches) > 1 {
		if f, ok := oneMissing(branches, at, exactly); ok {
			return &report{found: []leaf{f}}
		}
		if f, ok := oneValue(branches, at); ok {
			return &report{found: []leaf{f}}
		}
	}
	return slices.MinFunc(branches, func(x, y *report) int { return distance(x, at) - distance(y, at) })
}

// distance returns how far a value is from a branch. A value of another type, or with
// another constant in it, was not meant for the branch; otherwise the number of faults
// counts.
func distance(r *report, at *place) int {
	self := at.pointer()
	sum := 0
	for _, f := range r.found {
		sum++
		if !isChoice(f) {
			continue
		}
		switch {
		case f.at.parent == nil || f.pointer == self:
			sum += 1000 * maxViolations
		case f.at.parent == at || f.at.parent.pointer() == self:
			sum += maxViolations
		}
	}
	return sum
}

// isChoice reports whether f says that a value is of a different sort altogether.
func isChoice(f leaf) bool {
	return f.rule == ruleType || f.rule == "const" || f.rule == "enum" || f.rule == "anyOf" || f.rule == "false"
}

// oneMissing joins branches that only require different members.
func oneMissing(branches []*report, at *place, exactly bool) (leaf, bool) {
	var choices []string
	for _, r := range branches {
		var names []string
		for _, f := range r.found {
			if f.rule != ruleRequired || f.want != "" || f.at.parent != at {
				return leaf{}, false
			}
			names = append(names, shown(f.at.text()))
		}
		choices = append(choices, strings.Join(names, " with "))
	}
	f := branches[0].found[0]
	f.want = "one of " + commas(choices)
	if exactly {
		f.want = "exactly " + f.want
	}
	return f, true
}

// oneValue joins branches that all want a different value in the same place.
func oneValue(branches []*report, at *place) (leaf, bool) {
	self := at.pointer()
	var wants []string
	joined := branches[0].found[0]
	for _, r := range branches {
		f := r.found[0]
		if len(r.found) != 1 || !isChoice(f) || f.pointer != self || f.rule == "false" {
			return leaf{}, false
		}
		if f.rule != joined.rule {
			joined.rule = "anyOf"
		}
		if want := f.wanted(); !slices.Contains(wants, want) {
			wants = append(wants, want)
		}
	}
	joined.want = join(wants, "or")
	return joined, true
}
