package gateway_test

import (
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// A call to a tool that reads by the server's profile is repeated, and its record says on what it rests that nothing was changed.
// What the entry says wins, and `none` turns the profile off.
func TestProfile(t *testing.T) {
	t.Parallel()
	const readQuery, createTable = "read_query", "create_table"
	for name, c := range map[string]struct {
		entry, tool string
		calls       int // with a program that ends in each of them
		effect      recourse.Effect
		basis       recourse.Basis
		verify      string
	}{
		"reads":                     {"profile: server-sqlite", readQuery, 3, recourse.EffectNone, recourse.BasisProfile, ""},
		"reads by the entry":        {"profile: server-sqlite; tools: {'*': {read_only: true}}", readQuery, 3, recourse.EffectNone, recourse.BasisKnown, ""},
		"the entry has a time":      {"profile: server-sqlite; tools: {'*': {timeout: 20s}}", readQuery, 3, recourse.EffectNone, recourse.BasisProfile, ""},
		"writes by the entry":       {"profile: server-sqlite; tools: {read_query: {read_only: false}}", readQuery, 1, recourse.EffectUnknown, "", ""},
		"verified by the entry":     {"profile: server-sqlite; tools: {read_query: {verify: {tool: order_get}}}", readQuery, 1, recourse.EffectUnknown, "", "order_get"},
		"no profile":                {"profile: none", readQuery, 1, recourse.EffectUnknown, "", ""},
		"none that fits":            {"title: It", readQuery, 1, recourse.EffectUnknown, "", ""},
		"verified":                  {"profile: server-sqlite", createTable, 1, recourse.EffectUnknown, "", "list_tables"},
		"verified by the entry too": {"profile: server-sqlite; tools: {create_table: {verify: {tool: order_get}}}", createTable, 1, recourse.EffectUnknown, "", "order_get"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := child.NewProgram(t)
			f := gatewaytest.StartProgram(t, program, strings.Split(c.entry, "; ")...)
			client := f.Client(t, testkit.Legacy)
			if _, err := client.Call(t.Context(), testkit.OrderGet, `{"reference":"A-17"}`); err != nil { // fetches the list of tools
				t.Fatal(err)
			}
			program.Always(c.tool, "exit")
			a, err := client.Call(t.Context(), c.tool, `{"query":"SELECT 1"}`)
			if err != nil {
				t.Fatal(err)
			}
			e := gatewaytest.Record(t, a)
			if e.Effect != c.effect || e.EffectBasis != c.basis {
				t.Errorf("got the effect %q, %q", e.Effect, e.EffectBasis)
			}
			if verify := e.Verify; verify == nil != (c.verify == "") || verify != nil && verify.Tool != c.verify {
				t.Errorf("got the verify call %v, want %q", verify, c.verify)
			}
			if got := program.Calls(c.tool); got != c.calls {
				t.Errorf("got %d calls, want %d", got, c.calls)
			}
		})
	}
}
