package fieldmcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/systems/fieldmcp"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

// A batch passes the gateway in full, however long its ids are.
func TestBatchBehindGateway(t *testing.T) {
	t.Parallel()
	ids := []string{"FLD-101", "FLD-102"}
	for i := range 8 {
		ids = append(ids, fmt.Sprint("FLD-9", i, strings.Repeat("x", 1500)))
	}
	arguments, err := json.Marshal(map[string]any{"fieldIds": ids})
	if err != nil {
		t.Fatal(err)
	}
	for _, wire := range systemtest.Fronted("contract: fieldmcp", "redact: all", "forward: [authorization]") {
		client := wire.Client(t, newSystem(t, fieldmcp.Options{}))
		f := fail(t, client, "deere_get_fields", string(arguments))
		if len(f.Succeeded) != 2 || f.Succeeded[0].Data["name"] != "North forty" || f.Succeeded[1].Data["name"] != "River bottom" {
			t.Errorf("succeeded: %+v", f.Succeeded)
		}
		if len(f.Failed) != 8 {
			t.Fatalf("failed: %+v", f.Failed)
		}
		for i, item := range f.Failed {
			if item.ID != ids[2+i] || item.Code != "FIELD_NOT_FOUND" || item.Message == "" {
				t.Errorf("%d: %+v", i, item)
			}
		}
	}
}

// The provider may take 5 s for an answer, and a call 30 s, however many items it has.
func TestDeadline(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tool, arguments string
		want            time.Duration
	}{
		{"deere_get_field", `{"fieldId":"FLD-101"}`, 5 * time.Second},
		{"deere_get_fields", `{"fieldIds":["1","2","3","4","5"]}`, 25 * time.Second},
		{"deere_get_fields", `{"fieldIds":["1","2","3","4","5","6","7","8"]}`, 30 * time.Second},
	} {
		s := newSystem(t, fieldmcp.Options{Quotas: plenty})
		s.ReachBy(systemtest.Hangs{})
		synctest.Test(t, func(t *testing.T) {
			client := systemtest.Stdio(t, s.MCPServer())
			start := time.Now()
			f := fail(t, client, tt.tool, tt.arguments)
			if took := time.Since(start); took != tt.want || f.Code != "PROVIDER_TIMEOUT" || !f.Retryable {
				t.Errorf("%s %s after %s: %+v", tt.tool, tt.arguments, took, f)
			}
		})
	}
}
