package contract

import (
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
)

// unfolded reads the sentence of a failure that is zod's list of issues as JSON, wherever a
// server has put it, as the violations that it lists.
func unfolded(reading Reading) Reading {
	e := reading.Error()
	if e == nil {
		return reading
	}
	violations, ok := zodIssues(strings.TrimSpace(e.Message))
	if !ok {
		return reading
	}
	said := invalid(violations, sentenceOf(violations))
	reading.Failure = e.With(func(c *recourse.Error) {
		c.Message = said.Message
		if len(c.Violations) == 0 {
			c.Violations = said.Violations
		}
		if c.Code == "" && c.Kind.Class() != recourse.ClassInput { // no code says what happened
			c.Kind, c.Origin = said.Kind, said.Origin
		}
	})
	return reading
}

// sentenceOf says what is wrong, in the words that came with each violation.
func sentenceOf(violations []recourse.Violation) string {
	said := make([]string, len(violations))
	for i, v := range violations {
		if said[i] = strings.TrimRight(v.Message, "."); v.Param != "" {
			said[i] = v.Param + ": " + said[i]
		}
	}
	return strings.Join(slices.Compact(said), "; ") + "."
}
