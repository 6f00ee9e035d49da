package fieldmcp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/systems/fieldmcp"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

// An agent goes through the page's decision tree: what it gets in the end, how long it waits, and what reaches the
// server.
func TestClientRecovers(t *testing.T) {
	t.Parallel()
	const (
		getField = "deere_get_field"
		north    = `{"fieldId":"FLD-101"}`
		second   = time.Second
	)
	// always fails every call with a code of the contract, once only the first one.
	always := func(code string) string { return "- {effect: after, fault: {contract: fieldmcp, code: " + code + "}}" }
	once := func(code string) string { return "- {times: 1, fault: {contract: fieldmcp, code: " + code + "}}" }
	for _, tt := range []struct {
		name, faults    string
		tool, arguments string
		code, hint      string // of the failure; "" means success
		reached         int
		waits           []time.Duration
		promises        []string
	}{
		{
			name: "an outage that passes", faults: once("PROVIDER_UNAVAILABLE, wait: 30s"), tool: getField, arguments: north,
			reached: 1, waits: []time.Duration{30 * second},
			promises: []string{"fieldmcp/decision-retryable", "fieldmcp/retry-after-respected"},
		},
		{
			name: "an outage that lasts", tool: getField, arguments: `{"fieldId":"fault-502"}`, code: "PROVIDER_UNAVAILABLE", hint: "outage",
			reached: 4, waits: []time.Duration{30 * second, 60 * second, 120 * second},
			promises: []string{"fieldmcp/decision-three-retries", "fieldmcp/retry-attempts", "fieldmcp/retry-waits", "fieldmcp/client-surfaces"},
		},
		{
			name: "no answer in time", faults: always("PROVIDER_TIMEOUT"), tool: getField, arguments: north, code: "PROVIDER_TIMEOUT",
			hint: "requesting less data", reached: 4, waits: []time.Duration{2 * second, 4 * second, 8 * second},
			promises: []string{"fieldmcp/retry-start", "fieldmcp/client-surfaces"},
		},
		{
			name: "a limit of the provider", faults: once("RATE_LIMIT_PROVIDER, wait: 12s"), tool: getField, arguments: north,
			reached: 1, waits: []time.Duration{12 * second},
			promises: []string{"fieldmcp/retry-after-respected"},
		},
		{
			name: "the limit of the gateway, by HTTP 429", faults: once(`"429", wait: 40s`), tool: getField, arguments: north,
			reached: 1, waits: []time.Duration{40 * second}, promises: []string{"fieldmcp/client-quota"},
		},
		{
			name: "the limit of the gateway, in a tool result", faults: once("RATE_LIMIT_ORG, wait: 7s"), tool: getField, arguments: north,
			reached: 1, waits: []time.Duration{7 * second}, promises: []string{"fieldmcp/client-quota"},
		},
		{
			name: "a 500 of the provider", tool: getField, arguments: `{"fieldId":"fault-500"}`, code: "PROVIDER_ERROR", hint: "Retry shortly",
			reached: 4, waits: []time.Duration{2 * second, 4 * second, 8 * second}, promises: []string{"fieldmcp/decision-retryable"},
		},
		{
			name: "a 400 of the provider", tool: getField, arguments: `{"fieldId":"fault-400"}`, code: "PROVIDER_ERROR",
			hint: "Check the request parameters", reached: 1, promises: []string{"fieldmcp/decision-not-retryable"},
		},
		{
			name: "something unexpected", tool: getField, arguments: `{"fieldId":"fault-units"}`, code: "INTERNAL_ERROR", hint: "Include requestId req-",
			reached: 1, promises: []string{"fieldmcp/decision-internal", "fieldmcp/client-support"},
		},
		{
			name: "an answer that is lost", faults: "- {times: 2, effect: after, fault: reset-before}", tool: getField, arguments: north,
			reached: 3, waits: []time.Duration{2 * second, 4 * second}, promises: []string{"fieldmcp/tools-read-only"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			promises.Covers(t, tt.promises...)
			agent := newAgent(t, tt.faults)
			e := agent.Call(t, tt.tool, tt.arguments, tt.code).Failure
			if e != nil && !strings.Contains(strings.Join(e.Hints, " "), tt.hint) {
				t.Errorf("got advice %q", e.Hints)
			}
			agent.CheckReached(t, map[string]int{tt.tool: tt.reached})
			agent.CheckWaits(t, tt.waits...)
		})
	}
}

// newAgent returns an agent of a new system.
func newAgent(t *testing.T, faults string, options ...recovery.Option) *systemtest.Agent {
	t.Helper()
	system := newSystem(t, fieldmcp.Options{Timeout: 2 * time.Second, Quotas: plenty})
	return systemtest.NewAgent(t, system, rules(t), faults, options...)
}

// The agent itself uses up the gateway's quota.
func TestClientWaitsForTheQuota(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/client-quota")

	now := newClock()
	agent := systemtest.NewAgent(t, newSystem(t, fieldmcp.Options{Now: now.Now, Quotas: []mcptool.Policy{
		{Name: "minute", Limit: 1, Window: time.Minute}, {Name: "month", Limit: 100},
	}}), rules(t), "", recovery.WithHooks(recovery.Hooks{Observe: func(_ context.Context, s recovery.Step) {
		if s.Action == recovery.ActionWait {
			now.pass(s.Took)
		}
	}}))
	for range 2 {
		agent.Call(t, "deere_get_organization", anything, "")
	}
	agent.CheckReached(t, map[string]int{"deere_get_organization": 3})
	agent.CheckWaits(t, time.Minute)
}

// A mistake is reported with everything needed to correct it; the same call is not sent again, and the corrected one
// is.
func TestClientMendsArguments(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/client-validation", "fieldmcp/decision-validation")

	for _, tt := range []struct{ code, tool, wrong, param, want, right string }{
		{"MISSING_REQUIRED_PARAM", "deere_get_field", `{}`, "fieldId", "", `{"fieldId":"FLD-101"}`},
		{"INVALID_PARAM_TYPE", "deere_get_field", `{"fieldId":7}`, "fieldId", "string", `{"fieldId":"FLD-101"}`},
		{"INVALID_PARAM_VALUE", "deere_list_resources", `{"resourceType":"tractors"}`, "resourceType", "equipment", `{"resourceType":"equipment"}`},
		{
			"MUTUALLY_EXCLUSIVE_PARAMS", "deere_search_operations", `{"fieldId":"FLD-101","season":2025,"startDate":"2025-01-01"}`, "season", "",
			`{"fieldId":"FLD-101","season":2025}`,
		},
	} {
		t.Run(tt.code, func(t *testing.T) {
			t.Parallel()
			agent := newAgent(t, "")
			for range 2 {
				e := agent.Call(t, tt.tool, tt.wrong, tt.code).Failure
				if len(e.Violations) == 0 || e.Violations[0].Param != tt.param || !strings.Contains(e.Violations[0].Want, tt.want) {
					t.Errorf("got violations %+v", e.Violations)
				}
			}
			agent.CheckReached(t, map[string]int{tt.tool: 1})
			agent.Call(t, tt.tool, tt.right, "")
			agent.CheckReached(t, map[string]int{tt.tool: 2})
		})
	}
}

// The call that the advice names finds a valid id.
func TestClientFindsIDs(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/client-resource", "fieldmcp/decision-resource")

	for _, tt := range []struct{ code, tool, wrong, right string }{
		{"FIELD_NOT_FOUND", "deere_get_field", `{"fieldId":"FLD-999"}`, `{"fieldId":"FLD-101"}`},
		{"ORG_NOT_FOUND", "deere_get_organization", `{"orgId":"ORG-9"}`, `{"orgId":"ORG-1"}`},
		{"EQUIPMENT_NOT_FOUND", "deere_get_equipment", `{"equipmentId":"EQ-99"}`, `{"equipmentId":"EQ-1"}`},
		{"BOUNDARY_NOT_FOUND", "deere_get_boundary", `{"fieldId":"FLD-101","boundaryId":"BND-9"}`, `{"fieldId":"FLD-101","boundaryId":"BND-101"}`},
	} {
		t.Run(tt.code, func(t *testing.T) {
			t.Parallel()
			agent := newAgent(t, "")
			advised := recovery.Advised(rules(t), agent.Call(t, tt.tool, tt.wrong, tt.code).Failure)
			if len(advised) != 1 {
				t.Fatalf("got advice %v", advised)
			}
			found := agent.Call(t, advised[0].Tool, string(advised[0].Arguments), "").Text
			if id := tt.right[strings.LastIndex(tt.right, `:`)+1 : len(tt.right)-1]; !strings.Contains(found, id) {
				t.Errorf("no %s in %s", id, found)
			}
			agent.Call(t, tt.tool, tt.right, "")
			agent.CheckReached(t, map[string]int{tt.tool: 2, "deere_list_resources": 1})
		})
	}
}

// Everything that an analysis lacks is listed; the call that the advice names finds data of other periods.
func TestClientOfPoorData(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/client-data-quality", "fieldmcp/decision-data-quality")

	agent := newAgent(t, "")
	e := agent.Call(t, "deere_analyze_yield", `{"fieldId":"FLD-104","season":2025}`, "INSUFFICIENT_DATA").Failure
	impact := map[string]string{}
	for _, m := range e.Missing {
		if impact[m.What] = m.Impact; m.Message == "" {
			t.Errorf("no advice about %s", m.What)
		}
	}
	if diff := cmp.Diff(map[string]string{"harvest": "required", "application": "optional"}, impact); diff != "" {
		t.Errorf("what is missing (-want +got):\n%s", diff)
	}
	none := agent.Call(t, "deere_search_operations", `{"fieldId":"FLD-101","startDate":"1999-01-01","endDate":"1999-12-31"}`, "NO_DATA_FOR_PERIOD")
	advised := recovery.Advised(rules(t), none.Failure)
	if len(advised) != 1 {
		t.Fatalf("got advice %v", advised)
	}
	if found := agent.Call(t, advised[0].Tool, `{"fieldId":"FLD-101"}`, "").Text; !strings.Contains(found, `"OP-`) {
		t.Errorf("found %s", found)
	}
	agent.CheckReached(t, map[string]int{"deere_analyze_yield": 1, "deere_search_operations": 2})
	agent.CheckWaits(t)
}

// In a batch, successful items are reported immediately, those that may succeed are requested again, and the rest is
// reported as failed.
func TestClientRepeatsItems(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/client-repeats-items", "fieldmcp/client-uses-succeeded", "fieldmcp/client-reports-failed", "fieldmcp/decision-partial")

	var told []string
	agent := newAgent(t, "", recovery.WithHooks(recovery.Hooks{Succeeded: func(_ context.Context, items []recourse.SucceededItem) error {
		for _, i := range items {
			told = append(told, i.ID)
		}
		return nil
	}}))
	batch := agent.Call(t, "deere_get_fields", `{"fieldIds":["FLD-101","fault-outage","FLD-999","fault-504"]}`, "PARTIAL_SUCCESS")
	reported := map[string]string{}
	for _, f := range batch.Failure.Failed {
		if reported[f.ID] = f.Error.Code; f.Error.Message == "" {
			t.Errorf("%s is reported without a message", f.ID)
		}
	}
	if diff := cmp.Diff(map[string]string{"FLD-999": "FIELD_NOT_FOUND", "fault-504": "PROVIDER_TIMEOUT"}, reported); diff != "" {
		t.Errorf("reported (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"FLD-101", "fault-outage"}, told); diff != "" || !strings.Contains(batch.Text, "FLD-101") {
		t.Errorf("got result %s, reported (-want +got):\n%s", batch.Text, diff)
	}
	want := []inject.LedgerLine{
		{Tool: "deere_get_fields", Arguments: `{"fieldIds":["FLD-101","fault-outage","FLD-999","fault-504"]}`, Calls: 1, Reached: 1},
		{Tool: "deere_get_fields", Arguments: `{"fieldIds":["fault-outage","fault-504"]}`, Calls: 1, Reached: 1},
		{Tool: "deere_get_fields", Arguments: `{"fieldIds":["fault-504"]}`, Calls: 2, Reached: 2},
	}
	for i, got := range agent.Injector.Ledger().Calls {
		if i >= len(want) || got.Arguments != want[i].Arguments || got.Reached != want[i].Reached {
			t.Errorf("call %d: got %+v", i, got)
		}
	}
	agent.CheckReached(t, map[string]int{"deere_get_fields": 4})
}

// The hook that connects accounts is called once, with everything it needs; then the call is repeated.
func TestClientHasAccountConnected(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/client-auth", "fieldmcp/client-auth-once", "fieldmcp/client-scopes", "fieldmcp/decision-auth")

	for _, tt := range []struct{ organisation, tool, code, scopes string }{
		{"lapsed", "deere_get_field", "TOKEN_EXPIRED", ""},
		{"revoked", "deere_get_field", "TOKEN_REVOKED", ""},
		{"new", "deere_get_field", "PROVIDER_NOT_CONNECTED", ""},
		{"narrow", "deere_search_operations", "MISSING_SCOPE", "ag2"},
	} {
		for helps, reached := range map[string]int{"somebody does": 2, "in vain": 2, "nobody can": 1} {
			t.Run(tt.organisation+", "+helps, func(t *testing.T) {
				t.Parallel()
				system := newSystem(t, fieldmcp.Options{Organisation: tt.organisation})
				asked := 0
				var options []recovery.Option
				if helps != "nobody can" {
					options = append(options, recovery.WithHooks(recovery.Hooks{Connect: func(_ context.Context, e *recourse.Error) error {
						if asked++; e.Code != tt.code || e.Provider != "John Deere" || strings.Join(e.MissingScopes, " ") != tt.scopes {
							t.Errorf("the hook got %+v", e)
						}
						if helps == "somebody does" {
							system.Connect(tt.organisation)
						}
						return nil
					}}))
				}
				agent := systemtest.NewAgent(t, system, rules(t), "", options...)
				code := tt.code
				if helps == "somebody does" {
					code = ""
				}
				agent.Call(t, tt.tool, `{"fieldId":"FLD-101"}`, code)
				if asked != reached-1 {
					t.Errorf("the hook was called %d times", asked)
				}
				agent.CheckReached(t, map[string]int{tt.tool: reached})
				agent.CheckWaits(t)
			})
		}
	}
}

// If the hook fails, the call returns the original failure.
func TestClientCannotConnect(t *testing.T) {
	t.Parallel()
	agent := systemtest.NewAgent(t, newSystem(t, fieldmcp.Options{Organisation: "lapsed"}), rules(t), "",
		recovery.WithHooks(recovery.Hooks{Connect: func(context.Context, *recourse.Error) error { return errors.New("the farmer is out") }}))
	agent.Call(t, "deere_get_field", `{"fieldId":"FLD-101"}`, "TOKEN_EXPIRED")
	agent.CheckReached(t, map[string]int{"deere_get_field": 1})
}
