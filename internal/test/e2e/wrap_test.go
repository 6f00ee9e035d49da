package e2e_test

import (
	"context"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
)

// A misstep is a step with a fault of the server, a program behind the wrapper.
type misstep struct {
	fault string // empty: none
	call  step
}

func missteps() []misstep {
	const field = `{"field_id":"F-1"}`
	lost := step{
		tool: testkit.OrderCreate, arguments: order,
		want: []string{`Before calling again: order_get(reference='A-17'), and look at status.`},
		kind: recourse.KindUnreachable, origin: recourse.OriginGateway, effect: recourse.EffectUnknown,
	}
	fine := func(text string) step {
		return step{tool: testkit.GetField, arguments: field, want: []string{`"` + text + `"`}}
	}
	return []misstep{
		{"", fine("F-1")},
		{"", step{
			tool: testkit.OrderCreate, arguments: `{"amount":"12","colour":"red"}`, want: []string{"reference is required"},
			kind: recourse.KindMissingParam, origin: recourse.OriginCaller, effect: recourse.EffectNone,
		}},
		{"", step{tool: "get_fild", arguments: `{}`, kind: recourse.KindUnknownTool, want: []string{"Did you mean get_field?"}}},
		{"garbage", fine("clean")},
		{"twice", fine("first")},
		{"wrong-id", fine("mine")},
		{"float-id", fine("mine")},
		// A part has been passed on, so the result cannot be replaced; or the gateway has waited for an id that never
		// came.
		{"large-broken", step{
			tool: "sleep", arguments: `{"n":2000000}`, code: "-32603", want: []string{"It is not known whether the call took effect"},
			kind: recourse.KindBadResponse,
		}},
		{"leak", step{
			tool: testkit.GetField, arguments: field, want: []string{"[stack trace]"},
			kind: recourse.KindUnreachable, origin: recourse.OriginServer, effect: recourse.EffectNone,
		}},
		{"exit", fine("F-1")}, // a read, repeated with the next process
		{"exit", lost},
		{"half", lost},
		{"", fine("F-1")},
	}
}

// A host's session survives all faults of its server, also across the bridge. This is a sample: each client with a
// program of one era.
func TestWrap(t *testing.T) {
	t.Parallel()
	testWrap(t)
}

// The remaining combinations.
func TestLongWrap(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testWrap(t)
}

func testWrap(t *testing.T) {
	t.Helper()
	for row, client := range clients() {
		for column, era := range []testkit.Era{testkit.Legacy, testkit.Modern} {
			if !testkit.Sampled(t, row+column, 2) {
				continue
			}
			t.Run(client.name+" and a program of the "+era.String(), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				server := child.NewProgram(t)
				var args []string
				if era == testkit.Modern {
					args = append(args, "modern")
				}
				command, environ := wrapped(t, append(gatewayKeys(),
					"command: "+flow(t, server.Command(args...)), "redact: all")...)
				p := client.open(t)
				if err := p.launch(ctx, command, environ); err != nil {
					t.Fatalf("connect: %v", err)
				}
				for _, m := range missteps() {
					if m.fault != "" {
						server.Next(m.call.tool, m.fault)
					}
					take(ctx, t, p, m.call)
				}
				if n := server.Orders("A-17"); n != 2 {
					t.Errorf("the order was created %d times, want once for each call", n)
				}
			})
		}
	}
}
