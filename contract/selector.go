package contract

import (
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
)

// A selector is a conjunction: it selects a record that fulfils every condition.
type selector []condition

// A condition holds when the record's value is one of values; for params when it
// is all of them, for has when every path is there.
type condition struct {
	on     string
	values []string
	paths  []*path // of has
}

// conditions are the closed set of what a selector may ask for.
var conditions = []string{
	"kind", "class", "origin", "resource", "status", "upstream_code", "rule", "params", "has", "tool", "at", "effect", "retry",
}

func (sel selector) selects(s *subject) bool {
	for i := range sel {
		if !sel[i].holds(s) {
			return false
		}
	}
	return true
}

func (c *condition) holds(s *subject) bool {
	e := s.e
	switch c.on {
	case "kind":
		return slices.Contains(c.values, string(e.Kind))
	case "class":
		return slices.Contains(c.values, string(e.Kind.Class()))
	case "origin":
		return slices.Contains(c.values, string(e.Origin))
	case "resource":
		return slices.Contains(c.values, e.Resource.Type)
	case "status":
		return e.Upstream.Status != 0 && matchStatus(c.values, e.Upstream.Status)
	case "upstream_code":
		return slices.Contains(c.values, e.Upstream.Code)
	case "rule":
		return len(e.Violations) > 0 && slices.Contains(c.values, e.Violations[0].Rule)
	case "params":
		return c.isParams(e.Violations)
	case "has":
		for _, p := range c.paths {
			if !p.get(s, s.base()).IsValid() {
				return false
			}
		}
		return true
	case "tool":
		return slices.Contains(c.values, s.call.Tool)
	case "at":
		return slices.Contains(c.values, string(s.call.At))
	case "effect":
		return slices.Contains(c.values, string(e.Effect))
	case "retry":
		return slices.Contains(c.values, string(e.RetryAdvice()))
	default:
		return false
	}
}

// isParams reports whether the violations name the parameters of c and no other.
func (c *condition) isParams(violations []recourse.Violation) bool {
	for _, v := range violations {
		if !slices.Contains(c.values, v.Param) {
			return false
		}
	}
	for _, name := range c.values {
		if !slices.ContainsFunc(violations, func(v recourse.Violation) bool { return v.Param == name }) {
			return false
		}
	}
	return true
}

// matchStatus reports whether status is among values such as 404 or 5xx.
func matchStatus(values []string, status int) bool {
	text := strconv.Itoa(status)
	for _, v := range values {
		if v == text || len(v) == 3 && strings.HasSuffix(v, "xx") && v[0] == text[0] {
			return true
		}
	}
	return false
}

// implies reports whether every record that sel selects is selected by wider too,
// the kinds aside.
func (sel selector) implies(wider selector) bool {
	for _, w := range wider {
		if w.on == "kind" || w.on == "class" {
			continue
		}
		if !slices.ContainsFunc(sel, func(c condition) bool { return c.on == w.on && c.within(w) }) {
			return false
		}
	}
	return true
}

// within reports whether c holds only where wider does.
func (c *condition) within(wider condition) bool {
	switch c.on {
	case "has": // more paths are narrower
		return !slices.ContainsFunc(wider.values, func(v string) bool { return !slices.Contains(c.values, v) })
	case "params":
		return slices.Equal(slices.Sorted(slices.Values(c.values)), slices.Sorted(slices.Values(wider.values)))
	default:
		return !slices.ContainsFunc(c.values, func(v string) bool {
			return !slices.Contains(wider.values, v) && (c.on != "status" || !slices.Contains(wider.values, v[:1]+"xx"))
		})
	}
}

// kinds returns the kinds that sel can select.
func (sel selector) kinds() []recourse.Kind {
	return slices.DeleteFunc(recourse.Kinds(), func(k recourse.Kind) bool {
		return slices.ContainsFunc(sel, func(c condition) bool {
			return c.on == "kind" && !slices.Contains(c.values, string(k)) ||
				c.on == "class" && !slices.Contains(c.values, string(k.Class()))
		})
	})
}
