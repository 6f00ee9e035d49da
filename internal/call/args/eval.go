package args

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

const (
	// maxSteps limits the work of one check; a step takes some 100 ns. A schema of thirty lines can ask for
	// 2^30 evaluations of the same value.
	maxSteps = 1 << 18
	// maxNesting limits the recursion: a $ref that leads back to itself without descending into the value
	// never ends.
	maxNesting = 2000
	// findingSteps is the cost of a finding.
	findingSteps = 20
)

// check is one evaluation of arguments. When its steps are used up, every rule counts as met and no finding
// is added; earlier findings remain true.
type check struct {
	ctx       context.Context
	budget    *Budget // for patterns that are not compiled yet
	unchecked *atomic.Pointer[string]

	steps   int  // left
	native  bool // numbers must fit an int64 or a float64
	nesting int
	secrets []string // pointers to values that a schema marks as secret
}

// spend pays for n steps and reports whether enough were left.
func (c *check) spend(n int) bool {
	if n > c.steps {
		c.steps = 0
		return false
	}
	c.steps -= n
	return true
}

// exhausted reports whether the results of branches can no longer be trusted.
func (c *check) exhausted() bool { return c.steps <= 0 }

// fail adds f to out, unless out is nil, and returns false.
func (c *check) fail(out *report, f leaf) bool {
	if out != nil && c.spend(findingSteps) && !c.exhausted() {
		f.pointer = f.at.pointer()
		out.add(f)
	}
	return false
}

// assertion names a rule of n and says whether v meets it.
type assertion struct {
	name string
	kept bool
}

// rules adds the rules that are broken and reports whether none is.
func (c *check) rules(n *schemaNode, v *value, at *place, out *report, rules ...assertion) bool {
	ok := true
	for _, r := range rules {
		if !r.kept {
			ok = c.fail(out, leaf{at: at, rule: r.name, node: n, value: v})
		}
	}
	return ok
}

// eval reports whether v matches n and adds to out what it breaks. With a nil out it stops at the first
// fault. Members and items that n evaluates are marked in seen, unless seen is nil.
func (c *check) eval(n *schemaNode, v *value, at *place, out *report, seen *seen) bool {
	if !c.spend(1) || c.nesting >= maxNesting {
		c.steps = 0
		return true
	}
	if n.bare && v.kind != '{' && v.kind != '[' && (v.kind != '0' || !c.native) && hasType(n, v) {
		return true
	}
	c.nesting++
	ok := c.matched(n, v, at, out, seen)
	c.nesting--
	return ok
}

// matched is eval without its limits.
func (c *check) matched(n *schemaNode, v *value, at *place, out *report, seen *seen) bool {
	if n.secret && c.spend(findingSteps) {
		c.secrets = append(c.secrets, at.pointer())
	}
	if n.nothing {
		return c.fail(out, leaf{at: at, rule: "false", node: n, value: v})
	}
	if !hasType(n, v) {
		return c.fail(out, leaf{at: at, rule: ruleType, node: n, value: v})
	}
	if n.enum != nil && c.spend(1+len(v.raw)/16) && !n.enum.set[v.canonical()] {
		return c.fail(out, leaf{at: at, rule: n.enum.rule, node: n, value: v})
	}

	outer := seen
	if n.unevaluated != nil || n.unevaluatedItems != nil {
		seen = newSeen() // siblings of n do not count
	}
	ok := c.byType(n, v, at, out, seen)
	if !ok && out == nil {
		return false
	}
	ok = c.inPlace(n, v, at, out, seen) && ok
	if !ok && out == nil {
		return false
	}
	ok = c.unevaluated(n, v, at, out, seen) && ok
	if seen != outer {
		outer.merge(seen)
	}
	return ok
}

// kinds are those of the values of a type.
var kinds = map[string]string{
	"null": "n", "boolean": "tf", "string": `"`, "number": "0", typeInteger: "0", "array": "[", "object": "{",
}

func hasType(n *schemaNode, v *value) bool {
	if n.types == nil {
		return true
	}
	return strings.IndexByte(n.kinds, byte(v.kind)) >= 0 && (v.kind != '0' || !n.integer || isInteger(v))
}

func isInteger(v *value) bool {
	if !bytes.ContainsAny(v.raw, ".eE") {
		return true
	}
	d, ok := parseDecimal(string(v.raw))
	return !ok || d.whole()
}

func (c *check) byType(n *schemaNode, v *value, at *place, out *report, seen *seen) bool {
	switch v.kind {
	case '{':
		return c.object(n, v, at, out, seen)
	case '[':
		return c.array(n, v, at, out, seen)
	case '"':
		return c.text(n, v, at, out)
	case '0':
		return c.number(n, v, at, out)
	default:
		return true
	}
}

func (c *check) text(n *schemaNode, v *value, at *place, out *report) bool {
	if n.format == nil && n.minLength == nil && n.maxLength == nil && n.pattern == nil {
		return true
	}
	ok := true
	text := v.text()
	if n.format != nil && c.spend(1+len(text)/16) && n.format.Validate(text) != nil {
		ok = c.fail(out, leaf{at: at, rule: "format", node: n, value: v})
	}
	if n.minLength != nil || n.maxLength != nil {
		length := utf8.RuneCountInString(text)
		ok = c.rules(n, v, at, out,
			assertion{"minLength", n.minLength == nil || length >= *n.minLength},
			assertion{"maxLength", n.maxLength == nil || length <= *n.maxLength}) && ok
	}
	if n.pattern != nil && !c.matches(n.pattern, text) {
		ok = c.fail(out, leaf{at: at, rule: "pattern", node: n, value: v})
	}
	return ok
}

func (c *check) number(n *schemaNode, v *value, at *place, out *report) bool {
	isBounded := c.native && slices.Contains(n.types, typeInteger)
	if !isBounded && n.minimum == nil && n.maximum == nil && n.exclusiveMin == nil && n.exclusiveMax == nil && n.multipleOf == nil {
		return true
	}
	d, ok := parseDecimal(string(v.raw))
	if !ok || !c.spend(1+len(v.raw)/16) {
		return true
	}
	return c.rules(n, v, at, out,
		assertion{"minimum", n.minimum == nil || d.compare(*n.minimum) >= 0},
		assertion{"maximum", n.maximum == nil || d.compare(*n.maximum) <= 0},
		assertion{"exclusiveMinimum", n.exclusiveMin == nil || d.compare(*n.exclusiveMin) > 0},
		assertion{"exclusiveMaximum", n.exclusiveMax == nil || d.compare(*n.exclusiveMax) < 0},
		assertion{"multipleOf", n.multipleOf == nil || c.spend(100) && d.multipleOf(n.multipleOf)}) &&
		(!isBounded || c.integer(n, v, d, at, out))
}

func (c *check) object(n *schemaNode, v *value, at *place, out *report, seen *seen) bool {
	ok := n.minMembers == nil && n.maxMembers == nil || c.rules(n, v, at, out,
		assertion{"minProperties", n.minMembers == nil || len(v.members) >= *n.minMembers},
		assertion{"maxProperties", n.maxMembers == nil || len(v.members) <= *n.maxMembers})
	for _, name := range n.required {
		if c.spend(1) && v.member(name) == nil && (c.native || !slices.Contains(n.defaulted, name)) {
			ok = c.fail(out, leaf{at: at.member(name), rule: ruleRequired, node: n})
		}
	}
	for _, d := range n.dependentRequired {
		if v.member(d.name) == nil {
			continue
		}
		for _, name := range d.required {
			if c.spend(1) && v.member(name) == nil {
				ok = c.fail(out, leaf{at: at.member(name), rule: "dependentRequired", node: n, names: []string{d.name}})
			}
		}
	}
	if n.properties == nil && n.patternProperties == nil && n.additional == nil && n.propertyNames == nil {
		return ok
	}
	here := at.member("")
	for i := range v.members {
		if !ok && out == nil {
			return false
		}
		if here.name = v.members[i].name; !c.member(n, &v.members[i], v, here, out, seen) {
			ok, here = false, at.member("") // what was found has that place
		}
	}
	return ok
}

func (c *check) member(n *schemaNode, m *property, of *value, here *place, out *report, seen *seen) bool {
	c.spend(1)
	ok, evaluated := true, false
	if schema := n.properties[m.name]; schema != nil {
		evaluated = true
		ok = c.eval(schema, &m.value, here, out, nil)
	}
	for _, p := range n.patternProperties {
		if c.matches(p.pattern, m.name) {
			evaluated = true
			ok = c.eval(p.schema, &m.value, here, out, nil) && ok
		}
	}
	switch {
	case evaluated || n.additional == nil:
	case n.additional.nothing:
		evaluated = true
		ok = c.fail(out, leaf{at: here, rule: "additionalProperties", node: n, value: &m.value, of: of})
	default:
		evaluated = true
		ok = c.eval(n.additional, &m.value, here, out, nil) && ok
	}
	if evaluated {
		seen.property(m.name)
	}
	if n.propertyNames != nil {
		name := value{parts: noParts, kind: '"', raw: quote(m.name)}
		if !c.eval(n.propertyNames, &name, here, nil, nil) {
			ok = c.fail(out, leaf{at: here, rule: "propertyNames", node: n})
		}
	}
	return ok
}

func (c *check) array(n *schemaNode, v *value, at *place, out *report, seen *seen) bool {
	ok := c.rules(n, v, at, out,
		assertion{"minItems", n.minItems == nil || len(v.items)+v.more >= *n.minItems},
		assertion{"maxItems", n.maxItems == nil || len(v.items)+v.more <= *n.maxItems},
		assertion{"uniqueItems", !n.unique || c.unique(v)})
	here := at.item(0)
	for i := range v.items {
		if !ok && out == nil {
			return false
		}
		schema, name := n.rest, "items"
		if i < len(n.prefix) {
			schema, name = n.prefix[i], "prefixItems"
		}
		switch {
		case schema == nil:
			continue
		case schema.nothing: // the array is too long: reported once
			ok = c.fail(out, leaf{at: at, rule: name, node: n, value: v})
			seen.allItems()
			return ok && c.containing(n, v, at, out, seen)
		}
		if here.at = i; !c.eval(schema, &v.items[i], here, out, nil) {
			ok, here = false, at.item(0) // what was found has that place
		}
		seen.item(i)
	}
	return c.containing(n, v, at, out, seen) && ok
}

// unique reports whether no two items of v are equal.
func (c *check) unique(v *value) bool {
	if !c.spend(len(v.items) + len(v.raw)/16) {
		return true
	}
	known := make(map[string]bool, len(v.items))
	for i := range v.items {
		spelling := v.items[i].canonical()
		if known[spelling] {
			return false
		}
		known[spelling] = true
	}
	return true
}

func (c *check) containing(n *schemaNode, v *value, at *place, out *report, seen *seen) bool {
	if n.contains == nil {
		return true
	}
	matching := 0
	for i := range v.items {
		if c.eval(n.contains, &v.items[i], at, nil, nil) {
			matching++
			if n.containsIsEvaluated {
				seen.item(i)
			}
		}
	}
	return c.rules(n, v, at, out,
		assertion{"contains", matching+v.more >= n.minContains},
		assertion{"maxContains", n.maxContains == nil || matching <= *n.maxContains})
}

// unevaluated applies the rules for members and items that no other rule of n has evaluated.
func (c *check) unevaluated(n *schemaNode, v *value, at *place, out *report, seen *seen) bool {
	ok := true
	if n.unevaluated != nil {
		for i := range v.members {
			m := &v.members[i]
			switch {
			case seen.hasProperty(m.name):
			case n.unevaluated.nothing:
				ok = c.fail(out, leaf{at: at.member(m.name), rule: "unevaluatedProperties", node: n, value: &m.value, of: v})
			default:
				ok = c.eval(n.unevaluated, &m.value, at.member(m.name), out, nil) && ok
			}
			seen.property(m.name)
		}
	}
	if n.unevaluatedItems != nil {
		for i := range v.items {
			if seen.hasItem(i) {
				continue
			}
			if n.unevaluatedItems.nothing {
				ok = c.fail(out, leaf{at: at, rule: "unevaluatedItems", node: n, value: v})
				break
			}
			ok = c.eval(n.unevaluatedItems, &v.items[i], at.item(i), out, nil) && ok
		}
		if v.kind == '[' {
			seen.allItems()
		}
	}
	return ok
}
