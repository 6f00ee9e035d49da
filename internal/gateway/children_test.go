package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// shares are the values of share, for subtests.
var shares = []string{"all", "client"}

// orders is the tools entry of these tests.
const orders = "tools: {get_field: {read_only: true}, sleep: {read_only: true}, hold: {read_only: true}, " +
	"order_create: {verify: {tool: order_get, from: {reference: /reference}, look_at: status}}}"

// A childOutcome is the expected outcome of a fault of a child.
type childOutcome struct {
	outcome // reads and writes count the calls that children have read

	fault   string
	refused bool   // the tool did not run
	deaf    bool   // other clients of the child get no answer either
	always  bool   // every call has the fault, not only the first
	text    string // in the answer; "": any
}

func childOutcomes() []childOutcome {
	crash := outcome{reads: 2, writes: 1} // the next child repeats reads
	late := outcome{kind: recourse.KindTimeout, origin: byGateway, reads: 1, writes: 1}
	fine := outcome{reads: 1, writes: 1}
	return []childOutcome{
		{fault: "exit-before", outcome: crash, refused: true},
		{fault: "exit", outcome: crash},
		{fault: "exit", outcome: outcome{kind: recourse.KindUnreachable, origin: byGateway, reads: 3, writes: 1}, always: true},
		{fault: "half", outcome: crash},
		{fault: "close-stdout", outcome: crash},
		{fault: "answer-and-exit", outcome: fine, text: "last words"},
		{fault: "garbage", outcome: fine, text: "clean"},
		{fault: "twice", outcome: fine, text: "first"},
		{fault: "wrong-id", outcome: fine, text: "mine"},
		{fault: "float-id", outcome: fine, text: "mine"},
		{fault: "stop-reading", outcome: fine, text: "goodbye", deaf: true},
		{fault: "wrong-id-only", outcome: late},
		{fault: "never", outcome: late},
		{fault: "deaf", outcome: late, deaf: true},
		{fault: "leak", outcome: outcome{kind: recourse.KindUnreachable, origin: byServer, onWord: true, reads: 1, writes: 1}},
	}
}

// A childCase is the client, contract and child for one fault.
type childCase struct {
	share         string
	contract      string
	client, child testkit.Era
}

// After each fault of a child, for a tool that reads and one that writes, shared or not, in both eras, the answer comes
// in time, in the contract's form, with the right record and without secrets, and the next caller is answered. This is
// a sample: one case for each fault.
func TestChildFaults(t *testing.T) {
	t.Parallel()
	testChildFaults(t)
}

// The other cases.
func TestLongChildFaults(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testChildFaults(t)
}

func testChildFaults(t *testing.T) {
	t.Helper()
	for row, want := range childOutcomes() {
		for i, share := range shares {
			for column, c := range []childCase{
				{share, "recourse", testkit.Legacy, testkit.Legacy},
				{share, "fieldmcp", testkit.Legacy, testkit.Legacy},
				{share, "recourse", testkit.Modern, testkit.Modern},
				{share, "recourse", testkit.Modern, testkit.Legacy},
				{share, "recourse", testkit.Legacy, testkit.Modern},
			} {
				if !testkit.Sampled(t, row+i+2*column, 10) {
					continue
				}
				name := want.fault
				if want.always {
					name += " each time"
				}
				t.Run(strings.Join([]string{name, "share " + share, c.contract, c.client.String() + " to " + c.child.String()}, "/"), func(t *testing.T) {
					t.Parallel()
					testChildFault(t, want, c)
				})
			}
		}
	}
}

func testChildFault(t *testing.T, want childOutcome, c childCase) {
	t.Helper()
	short := "" // the timeout of the tools with faults
	if want.kind == recourse.KindTimeout || want.deaf {
		short = ", timeout: 500ms"
	}
	tools := fmt.Sprintf("tools: {get_field: {read_only: true%s}, order_get: {read_only: true}, "+
		"order_create: {verify: {tool: order_get, from: {reference: /reference}, look_at: status}%[1]s}}", short)
	for _, call := range []struct {
		tool, arguments string
		writes          bool
		calls           int
	}{
		{testkit.GetField, testkit.FieldArgs, false, want.reads},
		{testkit.OrderCreate, testkit.OrderArgs, true, want.writes},
	} {
		program := child.NewProgram(t)
		f := gatewaytest.Start(t, "", append(gatewaytest.CommandFor(t, program, c.child), "contract: "+c.contract, "title: The farm", "share: "+c.share,
			"redact: all", tools)...)
		client, other := f.Client(t, c.client), f.Client(t, c.client)
		other.Header = http.Header{"Authorization": {"Bearer other"}}                                 // makes it another client in the modern era
		if _, err := client.Call(t.Context(), testkit.OrderGet, `{"reference":"A-17"}`); err != nil { // fetches the list of tools
			t.Fatal(err)
		}
		if want.always {
			program.Always(call.tool, want.fault)
		} else {
			program.Next(call.tool, want.fault)
		}
		a, err := client.Call(context.Background(), call.tool, call.arguments)
		if err != nil {
			t.Fatalf("%s: %v", call.tool, err)
		}
		expected := want.outcome
		if call.writes && want.calls(false) > want.calls(true) { // a crash
			expected.kind, expected.origin = recourse.KindUnreachable, byGateway
		}
		checkAnswer(t, a, expected, call.writes, c.contract)
		if result, err := a.ToolResult(); want.text != "" && (err != nil || result.Text() != want.text) {
			t.Errorf("%s: got %s, want %q", call.tool, a.Body, want.text)
		}
		if got := program.Calls(call.tool); got != call.calls {
			t.Errorf("%s: got %d calls at children, want %d", call.tool, got, call.calls)
		}
		if got := program.Orders("A-17"); call.writes && (got == 0) != want.refused || got > 1 {
			t.Errorf("got %d orders", got)
		}
		program.Behave()
		if want.fault == "answer-and-exit" { // messages to the child before its end are lost
			testkit.Eventually(t, "the process has ended", func() bool { return strings.Contains(f.Log.String(), "process ended") })
		}
		if want.deaf && c.share == "all" {
			a, err = other.Call(context.Background(), testkit.GetField, testkit.FieldArgs)
			if err != nil {
				t.Fatalf("%s: the next call of another client: %v", call.tool, err)
			}
			checkAnswer(t, a, outcome{kind: recourse.KindTimeout, origin: byGateway}, false, c.contract)
		} else if a, err = other.Call(context.Background(), testkit.Echo, `{"message":"m"}`); err != nil || !a.Succeeded() {
			t.Errorf("%s: the next call of another client: got %+v, %v", call.tool, a, err)
		}
		if strings.Contains(f.Log.String(), faults.Secrets()[0]) {
			t.Errorf("a credential is in the log: %s", f.Log)
		}
	}
}

// calls returns how many calls should reach a child.
func (o childOutcome) calls(writes bool) int {
	if writes {
		return o.writes
	}
	return o.reads
}

// If a child cannot be started, each call fails at once with the reason.
func TestChildFailsToStart(t *testing.T) {
	t.Parallel()
	for _, share := range shares {
		t.Run("no such program, share "+share, func(t *testing.T) {
			t.Parallel()
			f := gatewaytest.Start(t, "", "command: [recourse-test-no-such-program]", "title: The farm", "share: "+share)
			client := testkit.NewClient(t, f.URL, testkit.Legacy)
			for range 3 {
				checkUnstartable(t, client, "The farm could not be started: its program or working directory does not exist.")
			}
		})
		t.Run("dies at its start, share "+share, func(t *testing.T) {
			t.Parallel()
			program := child.NewProgram(t)
			program.Die()
			f := gatewaytest.StartProgram(t, program, "title: The farm", "share: "+share, "timeout: 1m")
			client := testkit.NewClient(t, f.URL, testkit.Legacy)
			for range 2 {
				checkUnstartable(t, client, "The farm could not be started: its process ended (exit status 3).")
			}
			if text := f.Log.String(); !strings.Contains(text, "cannot open the store") || strings.Contains(text, "51H8abcdefghijklmnop") {
				t.Errorf("got log %s", text)
			}
			program.Behave()
			testkit.Eventually(t, "it is started again", func() bool {
				_, err := client.Initialize(context.Background())
				return err == nil
			})
			if a, err := client.Call(t.Context(), testkit.GetField, testkit.FieldArgs); err != nil || !a.Succeeded() {
				t.Errorf("after the child has started: got %+v, %v", a, err)
			}
		})
		t.Run("dies, and then at its start, share "+share, func(t *testing.T) {
			t.Parallel()
			program := child.NewProgram(t)
			f := gatewaytest.StartProgram(t, program, "title: The farm", "share: "+share, "timeout: 1m", orders)
			client := f.Client(t, testkit.Legacy)
			program.Next(testkit.OrderCreate, "exit")
			program.Die()
			a, err := client.Call(t.Context(), testkit.OrderCreate, testkit.OrderArgs)
			if err != nil {
				t.Fatal(err)
			}
			checkAnswer(t, a, outcome{kind: recourse.KindUnreachable, origin: byGateway}, true, "recourse")
			for _, tool := range []string{testkit.OrderCreate, testkit.GetField} {
				arguments := map[string]string{testkit.OrderCreate: testkit.OrderArgs, testkit.GetField: testkit.FieldArgs}[tool]
				if a, err = client.Call(t.Context(), tool, arguments); err != nil {
					t.Fatal(err)
				}
				if e := gatewaytest.Record(t, a); e.Kind != recourse.KindUnavailable || e.Origin != byGateway || e.Effect != recourse.EffectNone {
					t.Errorf("%s: got %s", tool, a.Body)
				}
			}
		})
	}
}

// checkUnstartable checks that initialize fails with message, since the server cannot be started.
func checkUnstartable(t *testing.T, client *testkit.Client, message string) {
	t.Helper()
	a, err := client.Request(context.Background(), "initialize", `{"protocolVersion":"2025-11-25","capabilities":{}}`)
	if err != nil {
		t.Fatal(err)
	}
	e := gatewaytest.Record(t, a)
	if e.Kind != recourse.KindUnavailable || e.Origin != byGateway || e.Effect != recourse.EffectNone || e.Message != message {
		t.Errorf("got %s", a.Body)
	}
	if a.Status != http.StatusOK || a.Took > 30*time.Second { // at the end of the process, not at the timeout of a minute
		t.Errorf("got HTTP %d after %v", a.Status, a.Took)
	}
}
