package toolcall

import (
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// ownData turns a complaint about data that are not the call's arguments into a defect of the server: pydantic, zod and serde are
// used for what an API has answered, or a file holds, as well, and their words do not tell where the data came from. By then the
// tool has run. Of a tool that takes no arguments, something else is wrong.
func (c *Call) ownData(e *recourse.Error) *recourse.Error {
	checked := len(e.Violations) > 0 && (e.Origin == recourse.OriginCaller || rePydantic.MatchString(e.Message))
	switch {
	case !c.Relays || !isWithin(e):
		return e
	case checked && !c.isAbout(e):
		return e.With(func(e *recourse.Error) {
			e.Kind, e.Origin, e.Retry, e.Violations = recourse.KindInternal, recourse.OriginServer, "", nil
			e.Effect, e.EffectBasis = "", ""
		})
	case c.givesNothing() && !c.saysArguments(e): // there is nothing to correct
		return e.With(func(e *recourse.Error) {
			e.Kind, e.Origin, e.Retry, e.Violations = recourse.KindInvalidState, recourse.OriginServer, "", nil
		})
	default:
		return e
	}
}

// isWithin reports whether a failure was made within the server, by whatever checks data there, rather than by what it calls.
func isWithin(e *recourse.Error) bool {
	switch e.Kind {
	case recourse.KindMissingParam, recourse.KindInvalidType, recourse.KindInvalidValue, recourse.KindUnknownParam:
		code := e.Upstream.Code
		own := code == "" || strings.HasPrefix(code, "-32") // JSON-RPC's are the server's
		return own && e.Code == "" && e.Upstream.Status == 0 && e.Retry != recourse.RetryAfterSetup
	default:
		return false
	}
}

// givesNothing reports whether the tool takes no arguments, and has been given none.
func (c *Call) givesNothing() bool {
	given := string(json.Compact(c.Arguments))
	return c.Tool != nil && (given == "" || given == "{}" || given == "null") && c.Tool.takesNothing()
}

// isAbout reports whether violations may be about the arguments of the call: unless it is known which names the tool takes, and
// neither they nor what stands in the call have a word in common with the names in the violations.
func (c *Call) isAbout(e *recourse.Error) bool {
	if c.Tool == nil || c.saysArguments(e) {
		return true
	}
	c.Tool.make()
	given, schema := json.Compact(c.Arguments), json.Compact(c.Tool.raw)
	if json.Lookup(schema, "/properties") == nil || isStructured(given) {
		return true
	}
	known := strings.ToLower(keywords.Replace(string(schema)) + string(given))
	isKnown := func(word string) bool { return strings.Contains(known, strings.ToLower(word)) }
	return slices.ContainsFunc(e.Violations, func(v recourse.Violation) bool {
		words := reWord.FindAllString(v.Param, -1)
		return len(words) == 0 || slices.ContainsFunc(words, isKnown)
	})
}

var (
	rePydantic = regexp.MustCompile(`\d validation errors? for `)
	// reWord matches the words of a name.
	reWord = regexp.MustCompile(`\p{Lu}+\p{Ll}*|\p{Ll}+|\p{Lo}+`)
	// keywords take from a schema what stands in every one, and is a common name as well.
	keywords = strings.NewReplacer(`"type":"`, `"`, `"title":"`, `"`, `"description":"`, `"`, `"required":[`, `[`, `"properties":{`, `{`)
)

// isStructured reports whether there may be names in the values of arguments, so that one may be missing there.
func isStructured(arguments json.Value) bool {
	text := string(arguments)
	return len(text) > 1 && (strings.ContainsAny(text[1:], "{<") || strings.Contains(text, ": ") || strings.Contains(text, `\n`))
}

// saysArguments reports whether the sentence itself, or the name of the model in it, says that it is about the arguments.
func (c *Call) saysArguments(e *recourse.Error) bool {
	first, _, _ := strings.Cut(e.Message, "\n")
	words := []string{"argument", "param", "tool", strings.ToLower(c.Name)}
	if at := rePydantic.FindStringIndex(first); at != nil {
		first, words = first[at[1]:], append(words, "call[", "args", "input", "request")
	}
	first = strings.ToLower(first)
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(first, word) })
}
