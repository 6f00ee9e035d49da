package recovery

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

const (
	// pollFirst is the pause before it is asked how work gets on. It doubles, up to pollMost.
	pollFirst = time.Second
	pollMost  = 15 * time.Second
)

// follow waits for the work that a call has begun and not waited for, where its answer names the call that asks again, of a tool that only
// reads. The result is the last answer of that call; the call's own where there was none in time. A caller that says whether to wait
// is taken at its word.
func (x *exchange) follow(result json.RawMessage) (json.RawMessage, error) {
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
			if result = answer; !pending(rule, dataOf(answer)) {
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

// landedAnyway says of a failure to look at work that the work was begun all the same.
func landedAnyway(f recourse.Failure) error {
	if e, ok := f.(*recourse.Error); ok {
		return e.WithEffect(recourse.EffectApplied)
	}
	return f
}

// pending reports whether an answer says that the work goes on.
func pending(rule contract.PollRule, data json.RawMessage) bool {
	for _, at := range rule.Status {
		if slices.Contains(rule.Pending, textOf(lookup(data, at))) {
			return true
		}
	}
	return false
}

// parseCall reads a call as texts name it: study_get(study_id="s-1", lean=True). Values are those of JSON or of Python.
func parseCall(text string) (tool string, arguments json.RawMessage, ok bool) {
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

// parseValue reads the value at the beginning of a text, and returns what comes behind it.
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
