package contract

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// A selector is a conjunction of conditions.
type selector []condition

// A condition holds if the record's value is one of values; for params, if the parameters are exactly values;
// for has, if every path leads to a value.
type condition struct {
	on     string
	values []string
	paths  []*language.Path        // for has
	said   func(s *subject) string // the record's value, for most
}

// What a condition can test.
const (
	onKind         = "kind"
	onClass        = "class"
	onOrigin       = "origin"
	onResource     = "resource"
	onStatus       = "status"
	onUpstreamCode = "upstream_code"
	onRule         = "rule"
	onParams       = "params"
	onHas          = "has"
	onTool         = "tool"
	onAt           = "at"
	onEffect       = "effect"
	onBasis        = "basis"
	onRetry        = "retry"
	onNature       = "nature"
)

// The values of nature.
const (
	natureAssumed = "assumed" // nobody says what the tool does
	natureKnown   = "known"
)

// nature returns the value of nature for the call. A tool that the contract names a verify call for is known to write.
func (s *subject) nature() string {
	if s.call.Relay.Assumed && !s.c.Writes(s.call.Tool) {
		return natureAssumed
	}
	return natureKnown
}

// conditions are what a condition can be about: the words that it has, if these are a closed set, and which of them a record and its
// call have. Of those without, more than one word decides.
var conditions = []struct {
	name  string
	words []string
	said  func(s *subject) string
}{
	{onKind, contractform.Kinds, func(s *subject) string { return string(s.e.Kind) }},
	{onClass, contractform.Classes, func(s *subject) string { return string(s.e.Kind.Class()) }},
	{onOrigin, contractform.Origins, func(s *subject) string { return string(s.e.Origin) }},
	{onResource, nil, func(s *subject) string { return s.e.Resource.Type }},
	{onStatus, nil, nil},
	{onUpstreamCode, nil, func(s *subject) string { return s.e.Upstream.Code }},
	{onRule, nil, nil},
	{onParams, nil, nil},
	{onHas, nil, nil},
	{onTool, nil, func(s *subject) string { return s.call.Tool }},
	{onAt, places, func(s *subject) string { return string(cmp.Or(s.call.At, AtTool)) }},
	{onEffect, contractform.Effects, func(s *subject) string { return string(s.e.Effect) }},
	{onBasis, contractform.Bases, func(s *subject) string { return string(s.e.EffectBasis) }},
	{onRetry, contractform.Retries, func(s *subject) string { return string(s.e.RetryAdvice()) }},
	{onNature, []string{natureAssumed, natureKnown}, (*subject).nature},
}

func conditionOn(name string, values ...string) condition {
	return condition{on: name, values: values, said: conditions[slices.Index(conditionNames, name)].said}
}

// conditionNames are their names.
var conditionNames = func() (names []string) {
	for i := range conditions {
		names = append(names, conditions[i].name)
	}
	return names
}()

func (sel selector) selects(s *subject) bool {
	for i := range sel {
		if !sel[i].holds(s) {
			return false
		}
	}
	return true
}

func (c *condition) holds(s *subject) bool {
	switch c.on {
	case onStatus:
		return matchStatus(c.values, s.e.Upstream.Status)
	case onRule:
		return len(s.e.Violations) > 0 && slices.Contains(c.values, s.e.Violations[0].Rule)
	case onParams:
		return c.isParams(s.e.Violations)
	case onHas:
		return !slices.ContainsFunc(c.paths, func(p *language.Path) bool { return !s.value(p, s.base()).IsValid() })
	default:
		return slices.Contains(c.values, c.said(s))
	}
}

// isParams reports whether the violations name exactly the parameters of c.
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

// statusNone is the value of status that matches a record without one.
const statusNone = "none"

// matchStatus reports whether status is among values such as 404, 5xx or none.
func matchStatus(values []string, status int) bool {
	text := strconv.Itoa(status)
	if status == 0 {
		text = statusNone
	}
	return slices.ContainsFunc(values, func(v string) bool {
		return v == text || len(v) == 3 && strings.HasSuffix(v, "xx") && v[0] == text[0]
	})
}

// implies reports whether wider selects every record that sel selects, ignoring kinds.
func (sel selector) implies(wider selector) bool {
	for _, w := range wider {
		if w.on == onKind || w.on == onClass {
			continue
		}
		if !slices.ContainsFunc(sel, func(c condition) bool { return c.on == w.on && c.within(w) }) {
			return false
		}
	}
	return true
}

// within reports whether wider holds wherever c does.
func (c *condition) within(wider condition) bool {
	switch c.on {
	case onHas: // more paths are narrower
		return !slices.ContainsFunc(wider.values, func(v string) bool { return !slices.Contains(c.values, v) })
	case onParams:
		return slices.Equal(slices.Sorted(slices.Values(c.values)), slices.Sorted(slices.Values(wider.values)))
	default:
		return !slices.ContainsFunc(c.values, func(v string) bool {
			return !slices.Contains(wider.values, v) && (c.on != onStatus || !slices.Contains(wider.values, v[:1]+"xx"))
		})
	}
}

// kinds returns the kinds that sel can select.
func (sel selector) kinds() []recourse.Kind {
	return slices.DeleteFunc(recourse.Kinds(), func(k recourse.Kind) bool {
		return slices.ContainsFunc(sel, func(c condition) bool {
			return c.on == onKind && !slices.Contains(c.values, string(k)) ||
				c.on == onClass && !slices.Contains(c.values, string(k.Class()))
		})
	})
}

// store sets in e what the conditions of sel imply, if they allow only one value. Who failed is not stored,
// since nothing on the wire shows it.
func (sel selector) store(e *recourse.Error) {
	for _, c := range sel {
		if len(c.values) != 1 {
			continue
		}
		switch value := c.values[0]; c.on {
		case onKind:
			e.Kind = recourse.Kind(value)
		case onResource:
			e.Resource.Type = value
		case onUpstreamCode:
			e.Upstream.Code = value
		case onEffect:
			e.Effect = recourse.Effect(value)
		case onBasis:
			e.EffectBasis = recourse.Basis(value)
		case onRetry:
			e.Retry = recourse.Retry(value)
		}
	}
}

// selector reads a mapping of conditions.
func (k *compiler) selector(n *strictyaml.Node) selector {
	sel := selector{}
	if n.Kind() != strictyaml.KindMapping {
		k.Mistakef(n, "for example {kind: not_found, resource: field}", "expected conditions")
		return sel
	}
	for name, value := range n.All() {
		i := slices.Index(conditionNames, name)
		if i < 0 {
			k.Reportf(n.Key(name), language.Suggest(name, conditionNames), "unknown condition `%s`", name)
			continue
		}
		c := conditionOn(name)
		for _, item := range language.Items(value) {
			c.values = append(c.values, k.conditionValue(name, conditions[i].words, item))
		}
		if name == onHas {
			for i, item := range language.Items(value) {
				p, err := language.CompilePath(c.values[i], contractform.RecordType)
				if err != nil {
					k.Mistakef(item, language.PathHint(c.values[i]), "%s", err)
					continue
				}
				c.paths = append(c.paths, p)
			}
		}
		sel = append(sel, c)
	}
	return sel
}

func (k *compiler) conditionValue(name string, known []string, n *strictyaml.Node) string {
	text := n.Text()
	if known != nil && !slices.Contains(known, text) {
		k.Mistakef(n, language.Suggest(text, known), "`%s` is no %s", text, name)
	}
	if name == onStatus && text != statusNone && !isStatus(text) {
		k.Mistakef(n, "write a number such as 404, or 5xx, or none", "`%s` is no HTTP status", text)
	}
	return text
}

func isStatus(text string) bool {
	if len(text) != 3 || text[0] < '1' || text[0] > '5' {
		return false
	}
	return text[1:] == "xx" || strings.Trim(text[1:], "0123456789") == ""
}
