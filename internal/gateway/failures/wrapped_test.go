package failures_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// Some SDKs put a prefix before the text of a tool's error. The gateway still reads the failure after it.
func TestTextsAfterPrefixesOfSDKs(t *testing.T) {
	t.Parallel()
	wrappers := []string{
		"", "Error executing tool get_field: ", "Error calling tool 'get_field': ", "Tool 'get_field' execution failed: ", "MCP error -32603: ",
		"**Error:** ",
	}
	failures := []*recourse.Error{
		recourse.NotFound("field", "xyz").WithOrigin(recourse.OriginServer).WithRequestID("req-1"),
		recourse.InvalidValue("limit", "at most 100", 500).WithOrigin(recourse.OriginServer).WithRequestID("req-1"),
		recourse.RateLimited(12 * time.Second).WithOrigin(recourse.OriginServer).WithRequestID("req-1"),
	}
	for _, c := range contract.Builtin().All() {
		if c.Session.UserHeader != "" {
			continue // tests of terra cover its prefixes
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			client := gatewaytest.Start(t, srv.URL(), "contract: "+c.Name, "reads: "+c.Name, "timeout: 30s", "tools: {get_field: {read_only: true}}").Client(t, testkit.Legacy)
			for _, e := range failures {
				sent := c.Write(e, &contract.Call{Method: "tools/call", Tool: testkit.GetField})
				var result testkit.ToolResult
				if err := json.Unmarshal(sent.Result, &result); err != nil {
					t.Fatal(err)
				}
				for _, wrapper := range wrappers {
					srv.Next(testkit.GetField, faults.ToolError("", wrapper+result.Text()))
					a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"f-1"}`)
					if err != nil {
						t.Fatal(err)
					}
					received, err := a.ToolResult()
					if err != nil {
						t.Fatal(err)
					}
					text := strings.ReplaceAll(received.Text(), contract.ServerSays, "")         // marks advice that only the text has
					text = strings.ReplaceAll(text, gatewaytest.Record(t, a).RequestID, "req-1") // the gateway's id
					if diff := cmp.Diff(result.Text(), text); diff != "" {
						t.Errorf("%s after %q (-sent +received):\n%s", e.Kind, wrapper, diff)
					}
					if got := gatewaytest.Record(t, a).Code; got != sent.Record.Code {
						t.Errorf("%s after %q: got code %s, want %s", e.Kind, wrapper, got, sent.Record.Code)
					}
				}
			}
		})
	}
}
