package explain_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/ops/explain"
	"github.com/recoursehq/recourse/internal/privacy/visible"
)

// Whatever a server says, an explanation shows what cannot be seen, and nothing in it has an effect on a terminal.
func TestWhatCannotBeSeenIsShown(t *testing.T) {
	t.Parallel()
	const evil = "a\u202eb\u2066c\u200bd\u009be\U000e0041f"
	for _, answer := range []string{
		`{"isError":true,"content":[{"type":"text","text":"` + evil + `"}]}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"` + evil + `","data":{"` + evil + `":"` + evil + `"}}}`,
		`{"isError":true,"content":[],"structuredContent":{"code":"` + evil + `","message":"` + evil + `","hints":["` + evil + `"]}}`,
		`{"isError":true,"content":[],"_meta":{"io.github.recoursehq/error":{"v":1,"kind":"not_found","message":"` + evil + `",` +
			`"resource":{"type":"` + evil + `","id":"` + evil + `"},"provider":"` + evil + `","missingScopes":["` + evil + `"]}}}`,
		"HTTP/1.1 429 " + evil + "\r\nRetry-After: " + evil + "\r\n\r\n" + evil,
		evil,
	} {
		reading, err := explain.Read([]byte(answer), &contract.Reader{Contracts: contract.Builtin().All()})
		if err != nil {
			t.Fatal(err)
		}
		text := reading.Lines(contract.Builtin(), explain.ToolFacts{}).String()
		if strings.ContainsFunc(text, visible.Hides) {
			t.Errorf("%q: got %q", answer, text)
		}
	}
}

// What people read of the kind and the advice is what programs are told: also if a person has to change a setting of the server, if the
// answer was lost, or if a trace is masked that says something else.
func TestWhatPeopleReadIsWhatIsTold(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"Error: EACCES: permission denied, rename '/srv/a.md' -> '/srv/b.md'": "after_setup",
		"AbortError: The operation was aborted":                               "re_read",
		"Error: Rate limit exceeded":                                          "same_call",
		"Traceback (most recent call last):\n  File \"/srv/tools.py\", line 12, in run\n    raise ValueError(\"the date is in the past\")\n" +
			"ValueError: the date is in the past": "after_fix",
	} {
		reading, err := explain.Read([]byte(answer), &contract.Reader{Contracts: contract.Builtin().All()})
		if err != nil {
			t.Fatal(err)
		}
		told := reading.Explanation(contract.Builtin(), explain.ToolFacts{}).Failure
		lines := reading.Lines(contract.Builtin(), explain.ToolFacts{}).String()
		_, line, _ := strings.Cut(lines, "\nretry ")
		line, _, _ = strings.Cut(line, "\n")
		if string(told.Retry) != want || !strings.Contains(line, want) || !strings.Contains(lines, "read as    "+string(told.Kind)+",") {
			t.Errorf("%q: told %s and %s, people read %q in %s, want %s", answer, told.Kind, told.Retry, line, lines, want)
		}
	}
}
