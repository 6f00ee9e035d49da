package toolcall

import (
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

var (
	// reParser matches what parsers of JSON say, in the words of Python, Node, Go and Rust.
	reParser = regexp.MustCompile(`\bin JSON\b|\bJSON (?:at|input)\b|\bExpecting (?:value|property name|',|':)|` +
		`\binvalid character '|\bline \d+ column \d+`)
	// reJSON matches the beginning of a text that is meant to be JSON.
	reJSON = regexp.MustCompile(`^\s*(?:\{\s*(?:["'}]|\w+\s*:)|\[\s*["'{\[\d-])`)
)

// brokenJSON turns what a parser says of JSON into a failure of the argument that is meant to be JSON and is none. Without one, the
// parser speaks of what a service has answered.
func (c *Call) brokenJSON(e *recourse.Error) *recourse.Error {
	if !c.Relays || e.Kind != recourse.KindBadResponse || e.Code != "" || e.Upstream.Status != 0 ||
		!reParser.MatchString(e.Message) || strings.Contains(e.Message, "<") {
		return e
	}
	names, values := json.NodeOf(c.Arguments).Parts()
	for i, name := range names {
		text, ok := values[i].Text()
		if !ok || !reJSON.MatchString(text) || json.Valid([]byte(text)) || slices.Contains(codeArguments, strings.ToLower(name)) {
			continue
		}
		return e.With(func(e *recourse.Error) {
			e.Kind, e.Origin, e.Retry, e.Effect, e.EffectBasis = recourse.KindInvalidValue, recourse.OriginCaller, "", "", ""
			e.Violations = []recourse.Violation{{
				Pointer: string(json.Pointer("").AppendToken(name)), Param: name, Rule: "format", Want: "valid JSON",
			}}
		})
	}
	return e
}
