package inject_test

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/lab/inject"
)

// All mistakes are reported together, each with its position and advice.
func TestMistakes(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name    string
		traffic inject.Traffic
		file    string
		want    []string
	}{
		{"a file full of mistakes", inject.MCP, `sed: 7
rules:
- match: {tol: x, tool: "[", arguments: {order.id: 1}, attempt: [1, 0]}
  times: -1
  rate: 1.5
  fault: resetafter
- {fault: wrong-id, effect: before}
- {fault: {status: 99, drip: 10ms, headers: {"a b": c}}}
- {fault: {contract: fieldmcp, code: PROVIDER_TIMOUT}}
- {fault: {contract: fieldmpc, code: X}}
- {fault: exit}
- {fault: timeout, effect: during}
- {match: {tool: x}}
- {fault: status}
- {fault: {code: X}}
- {fault: hang, effect: during}
- null
-
- hang
- {fault: status, effect: during}
`, []string{
			"1:1: unknown key `sed`",
			"3:11: unknown key `tol`",
			"3:25: not a pattern",
			"3:42: not a JSON Pointer",
			"3:69: an attempt must be at least 1",
			"4:10: `times` must be at least 1",
			"5:9: `rate` must be above 0 and at most 1",
			"6:10: there is no fault `resetafter`",
			"7:29: `wrong-id` always comes after the effect",
			"8:20: not a status of an answer",
			"8:24: `drip` does not go with `status`",
			"8:46: not a header",
			"9:38: the contract fieldmcp has no code `PROVIDER_TIMOUT`",
			"10:22: there is no contract \"fieldmpc\"",
			"11:11: `exit` is not available with MCP over HTTP",
			"12:11: there is no fault `timeout`",
			"12:28: `effect` must be `before` or `after`, not the text `during`",
			"13:3: item 8 of `rules` lacks the key `fault`",
			"14:11: `status` needs more than its name",
			"15:11: no fault given",
			"16:25: `effect` must be `before` or `after`, not the text `during`",
			"17:3: the rule is empty",
			"18:1: the rule is empty",
			"19:3: item 14 of `rules` must be a mapping",
			"20:11: `status` needs more than its name",
			"20:27: `effect` must be `before` or `after`, not the text `during`",
		}},
		{"rules that an API lacks", inject.API, "rules: [{match: {tool: x}, fault: twice}]", []string{
			"1:18: an HTTP API has no tools", "1:35: `twice` is not available with an HTTP API",
		}},
		{"no rule", inject.MCP, "rules: []", []string{"1:8: there are no rules"}},
		{"no rules", inject.MCP, "seed: 1", []string{"1:1: the file lacks the key `rules`"}},
		{"half a list", inject.MCP, "rules: [", []string{"1:8: not valid YAML"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := inject.Parse("f.yaml", []byte(test.file), inject.Options{Traffic: test.traffic})
			if err == nil {
				t.Fatal("no mistake")
			}
			var got []string
			for line := range strings.Lines(err.Error()) {
				if place, ok := strings.CutPrefix(strings.TrimSpace(line), "f.yaml:"); ok {
					got = append(got, place)
				}
			}
			for i := range got {
				if i < len(test.want) && strings.HasPrefix(got[i], test.want[i]) {
					got[i] = test.want[i]
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\n%s", diff, err)
			}
		})
	}
}

// A rule without a file is checked like one in a file.
func TestMistakesWithoutFile(t *testing.T) {
	t.Parallel()
	rule := func(name string, change func(*inject.Rule)) inject.Rule {
		r := inject.Rule{Rate: 1, Fault: inject.NewFault(name)}
		change(&r)
		return r
	}
	for want, r := range map[string]inject.Rule{
		"`rate` must be above 0 and at most 1":              rule("hang", func(r *inject.Rule) { r.Rate = math.NaN() }),
		"`status` does not go with `hang`":                  rule("hang", func(r *inject.Rule) { r.Fault.Status = 503 }),
		"`contract` does not go with `status`":              rule("status", func(r *inject.Rule) { r.Fault.Status, r.Fault.Contract = 503, "fieldmcp" }),
		"`code` does not go with `hang`":                    rule("hang", func(r *inject.Rule) { r.Fault.SetCode("X") }),
		"the contract fieldmcp needs a `code`":              rule("contract", func(r *inject.Rule) { r.Fault.Contract = "fieldmcp" }),
		"the contract fieldmcp has no code `TOKEN_EXPIERD`": rule("contract", func(r *inject.Rule) { r.Fault.Contract = "fieldmcp"; r.Fault.SetCode("TOKEN_EXPIERD") }),
	} {
		if _, err := inject.Of(1, r, inject.Options{Traffic: inject.MCP}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The example on the page is valid.
func TestDocumentedFile(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/inject.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ := strings.Cut(after, "```")
	if p := plan(t, inject.MCP, example); p.Seed != 7 || len(p.Rules) != 4 {
		t.Errorf("%+v", p)
	}
}
