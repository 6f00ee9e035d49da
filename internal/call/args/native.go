package args

import "strconv"

// Checks for programs whose number types are int64 and float64.

const typeInteger = "integer"

// Every decoder can read an integer between these as an int64. A decoder that goes through a float64 rounds
// to the next one, which may be out of range.
var mostInteger, leastInteger = decimal{digits: "92", exp: 17}, decimal{negative: true, digits: "92", exp: 17}

func isFloat(v *value) bool {
	_, err := strconv.ParseFloat(string(v.raw), 64)
	return err == nil
}

// integer checks a value that the schema calls an integer against these limits.
func (c *check) integer(n *schemaNode, v *value, d decimal, at *place, out *report) bool {
	switch {
	case !isFloat(v): // already reported
		return true
	case d.compare(mostInteger) > 0:
		return c.fail(out, leaf{at: at, rule: "maximum", node: n, value: v, want: "at most " + mostInteger.String()})
	case d.compare(leastInteger) < 0:
		return c.fail(out, leaf{at: at, rule: "minimum", node: n, value: v, want: "at least " + leastInteger.String()})
	default:
		return true
	}
}

// floats reports every number beyond a float64, at any depth.
func (c *check) floats(v *value, at *place, out *report) {
	if !c.spend(1) {
		return
	}
	switch v.kind { //nolint:exhaustive // only numbers matter, and what contains them
	case '0':
		if !isFloat(v) {
			c.fail(out, leaf{at: at, rule: "maximum", node: &schemaNode{}, value: v, want: "a number that fits into 64 bits"})
		}
	case '{':
		for i := range v.members {
			c.floats(&v.members[i].value, at.member(v.members[i].name), out)
		}
	case '[':
		for i := range v.items {
			c.floats(&v.items[i], at.item(i), out)
		}
	}
}
