package fieldmcp_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/promises"
	"github.com/recoursehq/recourse/internal/testkit"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/systems/fieldmcp"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

// Of a batch, what succeeded is told at once, what may succeed is asked for again, and the rest is reported.
func TestClientRepeatsItems(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/client-repeats-items", "fieldmcp/client-uses-succeeded", "fieldmcp/client-reports-failed")

	client := systemtest.HTTP(t, newSystem(t, fieldmcp.Options{Timeout: 2 * time.Second, Quotas: plenty}), testkit.Modern)
	var told []string
	result, report, err := systemtest.Recover(t, rules(t), client, "deere_get_fields", `{"fieldIds":["FLD-101","fault-outage","FLD-999"]}`,
		recovery.WithSucceeded(func(_ context.Context, items []recourse.Succeeded) {
			for _, i := range items {
				told = append(told, i.ID)
			}
		}))
	e, _ := errors.AsType[*recourse.Error](err)
	if e == nil || e.Kind != recourse.KindPartial || len(e.Succeeded) != 2 || len(e.Failed) != 1 {
		t.Fatalf("%v: %s", err, result)
	}
	if f := e.Failed[0]; f.ID != "FLD-999" || f.Error.Code != "FIELD_NOT_FOUND" || f.Error.Message == "" {
		t.Errorf("reported: %+v", f)
	}
	if diff := cmp.Diff([]string{"FLD-101", "fault-outage"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if n := report.Attempts(); n != 2 {
		t.Errorf("%d calls", n)
	}
	if !strings.Contains(string(result), "FLD-101") {
		t.Errorf("the result is %s", result)
	}
}

// The farmer connects the account, and the call is made again.
func TestClientHasAccountConnected(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/client-auth")

	system := newSystem(t, fieldmcp.Options{Organisation: "lapsed"})
	client := systemtest.Stdio(t, system.MCPServer())
	asked := ""
	_, report, err := systemtest.Recover(t, rules(t), client, "deere_get_field", `{"fieldId":"FLD-101"}`,
		recovery.WithConnect(func(_ context.Context, e *recourse.Error) error {
			asked = e.Code + " " + e.Provider
			system.Connect("lapsed")
			return nil
		}))
	if err != nil || asked != "TOKEN_EXPIRED John Deere" || report.Attempts() != 2 {
		t.Errorf("asked for %q, %d calls: %v", asked, report.Attempts(), err)
	}
}
