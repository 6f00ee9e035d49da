//go:build unix

package check_test

import (
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/check"
)

// Drafts have the verify call of a write whose effects it has shown, and say what was seen rather than what a hint says.
func TestSeen(t *testing.T) {
	t.Parallel()

	seen := func(breaks string) map[string]check.SeenTool {
		r := fixtureReport(t, breaks, check.Options{Mode: check.Owner, Writes: fixtureWrites(t), Timeout: 10 * time.Second})
		tools := map[string]check.SeenTool{}
		for _, tool := range r.Drafts.Tools {
			tools[tool.Name] = tool
		}
		return tools
	}
	v := seen("")["order_create"].Verify
	if v == nil || v.Tool != "order_get" || v.From["order_id"] != "/idempotency_key" || string(v.With["limit"]) != "1" {
		t.Errorf("verify: %+v", v)
	}
	if tool := seen("repeated-write")["order_create"]; tool.Idempotent == nil || *tool.Idempotent {
		t.Errorf("a write that happened twice: %+v", tool)
	}
	if tool := seen("reads-hold")["order_get"]; tool.ReadOnly == nil || *tool.ReadOnly {
		t.Errorf("a read that writes: %+v", tool)
	}
}
