package recovery

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

const (
	// pollFirst is the pause before the first poll. It doubles, up to pollMost.
	pollFirst = time.Second
	pollMost  = 15 * time.Second
)

// follow waits for work that a call has started, if its answer names the call to poll with, and that tool only reads. The
// result is the last answer of the polling call, or the call's own if none came in time. A caller that says whether to wait
// is obeyed.
func (x *errand) follow(result json.RawMessage) (json.RawMessage, error) {
	rule := x.contract.Poll
	if rule.Next == "" || len(rule.Pending) == 0 || member(x.arguments, rule.Wait) != nil {
		return result, nil
	}
	tool, arguments, ok := parseCall(textOf(member(dataOf(result), rule.Next)))
	if !ok || !x.mayAsk(tool) {
		return result, nil
	}
	for pause := pollFirst; pause < x.left() && x.wait(pause, "the work goes on"); {
		answer, failure := x.try(ActionPoll, tool, arguments)
		pause = min(2*pause, pollMost)
		switch e, _ := failure.(*recourse.Error); {
		case failure == nil:
			data := dataOf(answer)
			switch result = answer; {
			case hasStatus(rule, data, rule.Failed):
				return nil, x.ended(rule, data)
			case !hasStatus(rule, data, rule.Pending):
				return result, nil
			}
		case e == nil || !x.contract.Retryable(e.WithEffect(recourse.EffectNone), &contract.Call{Tool: tool}):
			return nil, landedAnyway(failure)
		default:
			pause = max(pause, e.RetryAfter)
		}
	}
	return result, nil
}

// landedAnyway marks a failed poll with the fact that the work was started.
func landedAnyway(f recourse.Failure) error {
	if e, ok := f.(*recourse.Error); ok {
		return e.WithEffect(recourse.EffectApplied)
	}
	return f
}

// hasStatus reports whether an answer says that the work has one of these statuses.
func hasStatus(rule contract.PollRule, data json.RawMessage, words []string) bool {
	return slices.ContainsFunc(rule.Status, func(at string) bool { return slices.Contains(words, textOf(lookup(data, at))) })
}

// ended returns the failure of work that has ended without success, in the contract's words. The call that started it has
// taken effect.
func (x *errand) ended(rule contract.PollRule, data json.RawMessage) error {
	reason := ""
	for _, at := range slices.Backward(rule.Reason) {
		reason = cmp.Or(textOf(lookup(data, at)), reason)
	}
	e := recourse.JobFailed(reason).WithOrigin(recourse.OriginServer).WithEffect(recourse.EffectApplied)
	return x.contract.Write(e, x.contractCall()).Record
}

// parseCall reads a call as written in a text: study_get(study_id='s-1', lean=True). Values are JSON or Python.
func parseCall(text string) (tool string, arguments json.RawMessage, ok bool) {
	text = plainQuotes.ReplaceAllStringFunc(text, func(quoted string) string { return `"` + quoted[1:len(quoted)-1] + `"` })
	tool, rest, ok := strings.Cut(strings.TrimSpace(text), "(")
	if !ok || tool == "" || !strings.HasSuffix(rest, ")") || strings.ContainsAny(tool, " \t\n\"'=,") {
		return "", nil, false
	}
	members := map[string]any{}
	for rest = strings.TrimSpace(strings.TrimSuffix(rest, ")")); rest != ""; {
		name, after, found := strings.Cut(rest, "=")
		if name = strings.TrimSpace(name); !found || name == "" || strings.ContainsAny(name, " \"',()") {
			return "", nil, false
		}
		value, left, read := parseValue(strings.TrimSpace(after))
		if !read {
			return "", nil, false
		}
		members[name] = value
		if rest = strings.TrimSpace(left); rest != "" {
			if rest, found = strings.CutPrefix(rest, ","); !found {
				return "", nil, false
			}
			rest = strings.TrimSpace(rest)
		}
	}
	raw, err := json.Marshal(members)
	return tool, raw, err == nil
}

// plainQuotes matches the texts in a call that need no escapes in either kind of quotes, and those in double quotes.
var plainQuotes = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'[^'"\\]*'`)

// parseValue reads the value at the beginning of a text, and returns the rest.
func parseValue(text string) (value any, rest string, ok bool) {
	for word, meant := range map[string]any{"True": true, "False": false, "None": nil} {
		if rest, found := strings.CutPrefix(text, word); found {
			return meant, rest, true
		}
	}
	if inner, found := strings.CutPrefix(text, "'"); found {
		quoted, rest, closed := strings.Cut(inner, "'")
		return quoted, rest, closed && !strings.Contains(quoted, `\`)
	}
	d := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if d.Decode(&raw) != nil {
		return nil, "", false
	}
	return raw, text[d.InputOffset():], true
}
