package terra_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/systems"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/terra"
)

func rules(t *testing.T) *contract.Contract {
	t.Helper()
	return contract.MustBuiltin("terra")
}

const (
	tool  = "get_sleep_data"
	query = `{"fields":["awakenings"]}`
)

// Failures before a tool runs: an agent repeats only a 502, with growing waits, and sees whose fault it is.
func TestClientOfSessions(t *testing.T) {
	t.Parallel()
	credentials := func(key string) http.Header { return http.Header{"Dev-Id": {terra.DevID}, "X-Api-Key": {key}} }
	user := func(n string) string { return "/api/v2/mcp/" + strings.TrimSuffix(terra.Ada, "1") + n }
	for _, tt := range []struct {
		name, faults string
		enter        systems.Entrance // if the agent needs another entrance
		code         string
		class        recourse.Class
		reached      int
		waits        []time.Duration
		promises     []string
	}{
		{
			name: "no credentials", enter: systems.Entrance{Path: user("1"), Header: credentials("")}, code: "credentials-missing",
			class: recourse.ClassAuth, reached: 1, promises: []string{"terra/no-retry-401"},
		},
		{
			name: "wrong credentials", enter: systems.Entrance{Path: user("1"), Header: credentials("another")}, code: "credentials-invalid",
			class: recourse.ClassAuth, reached: 1, promises: []string{"terra/no-retry-401"},
		},
		{
			name: "a malformed user", enter: systems.Entrance{Path: "/api/v2/mcp/alice", Header: credentials(terra.APIKey)}, code: "user-invalid",
			class: recourse.ClassResource, reached: 1, promises: []string{"terra/no-retry-404"},
		},
		{
			name: "no user", enter: systems.Entrance{Path: "/api/v2/mcp/", Header: credentials(terra.APIKey)}, code: "user-missing",
			class: recourse.ClassInput, reached: 1, promises: []string{"terra/no-retry-404"},
		},
		{
			name: "a directory that cannot be read", enter: systems.Entrance{Path: user("6"), Header: credentials(terra.APIKey)}, code: "before-tool",
			class: recourse.ClassSystem, reached: 1, promises: []string{"terra/no-retry-500", "terra/server-side-500"},
		},
		{
			name: "a region that is not configured", enter: systems.Entrance{Path: user("3"), Header: credentials(terra.APIKey)},
			code: "proxy-misconfigured", class: recourse.ClassSystem, reached: 1, promises: []string{"terra/no-retry-500", "terra/server-side-500"},
		},
		{
			name: "a region that is down", enter: systems.Entrance{Path: user("2"), Header: credentials(terra.APIKey)}, code: "upstream-down",
			class: recourse.ClassUpstream, reached: 4, waits: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second},
			promises: []string{"terra/retry-502", "terra/server-side-502"},
		},
		{
			name: "a region that is down for a moment", faults: "- {times: 2, fault: {contract: terra, code: upstream-down}}",
			reached: 1, waits: []time.Duration{time.Second, 2 * time.Second}, promises: []string{"terra/retry-502"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			promises.Covers(t, tt.promises...)
			agent := systemtest.NewAgent(t, newSystem(t, terra.Options{}), rules(t), tt.faults)
			if tt.enter.Path != "" {
				agent.Enter(tt.enter)
			}
			if e := agent.Call(t, tool, query, tt.code).Failure; e != nil && e.Kind.Class() != tt.class {
				t.Errorf("got class %s", e.Kind.Class())
			}
			agent.CheckReached(t, map[string]int{tool: tt.reached})
			agent.CheckWaits(t, tt.waits...)
		})
	}
}

// After any refusal, a corrected request is sent.
func TestClientChangesRequest(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "terra/client-changes")

	system := newSystem(t, terra.Options{})
	for code, wrong := range map[string]systems.Entrance{
		"credentials-invalid": {Path: system.Entrance().Path, Header: http.Header{"Dev-Id": {terra.DevID}, "X-Api-Key": {"another"}}},
		"user-invalid":        {Path: "/api/v2/mcp/alice", Header: system.Entrance().Header},
		"user-missing":        {Path: "/api/v2/mcp/", Header: system.Entrance().Header},
	} {
		agent := systemtest.NewAgent(t, system, rules(t), "")
		agent.Enter(wrong)
		agent.Call(t, tool, query, code)
		agent.Enter(system.Entrance())
		agent.Call(t, tool, query, "")
		agent.CheckReached(t, map[string]int{tool: 2})
	}
}

// Failures of a tool: the developer gets the sentence unchanged; the same query is not sent twice, but a corrected one
// is. A failure that is the server's fault does not block the query.
func TestClientOfTools(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code, query, sentence string
		faults                string
		class                 recourse.Class
		promises              []string
	}{
		{
			code: "fields-or-select", query: `{}`, sentence: "fields or select are required", class: recourse.ClassInput,
			promises: []string{"terra/tool-no-retry", "terra/tool-surfaced"},
		},
		{
			code: "fields-and-select", query: `{"fields":["awakenings"],"select":[{"function":"sum","field":"awakenings"}]}`,
			sentence: "fields and select cannot both be set", class: recourse.ClassInput,
			promises: []string{"terra/tool-no-retry", "terra/tool-surfaced"},
		},
		{
			code: "bad-timestamp", query: `{"fields":["awakenings"],"where":{"field":"start_time","operator":"EQ","value":"yesterday"}}`,
			sentence: "Invalid ISO 8601 timestamp 'yesterday'. Use formats like 2025-11-12T00:00:00Z.", class: recourse.ClassInput,
			promises: []string{"terra/tool-no-retry", "terra/tool-surfaced"},
		},
		{
			code: "empty-and", query: `{"fields":["awakenings"],"where":{"and":[]}}`, sentence: "And condition provided but empty after conversion",
			class: recourse.ClassInput, promises: []string{"terra/tool-no-retry", "terra/tool-surfaced"},
		},
		{
			code: "no-context", query: query, sentence: "request context is unavailable", class: recourse.ClassSystem,
			faults:   "- {times: 1, effect: after, fault: {contract: terra, code: no-context}}",
			promises: []string{"terra/tool-context-server", "terra/tool-surfaced"},
		},
		{
			code: "no-user-header", query: query, sentence: "Provider-User-Id header is required", class: recourse.ClassSystem,
			faults:   "- {times: 1, effect: after, fault: {contract: terra, code: no-user-header}}",
			promises: []string{"terra/tool-context-server", "terra/tool-surfaced"},
		},
	} {
		t.Run(tt.code, func(t *testing.T) {
			t.Parallel()
			promises.Covers(t, tt.promises...)
			agent := systemtest.NewAgent(t, newSystem(t, terra.Options{}), rules(t), tt.faults)
			e := agent.Call(t, tool, tt.query, tt.code).Failure
			if e.Message != tt.sentence || e.Kind.Class() != tt.class {
				t.Errorf("%s: %q", e.Kind.Class(), e.Message)
			}
			if tt.class == recourse.ClassInput { // a repetition would be useless, and is not sent
				agent.Call(t, tool, tt.query, tt.code)
			}
			agent.CheckReached(t, map[string]int{tool: 1})
			agent.Call(t, tool, query, "")
			agent.CheckReached(t, map[string]int{tool: 2})
			agent.CheckWaits(t)
		})
	}
}
