package recovery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/retry"
)

// Each repetition of a call carries the caller's key, and so does the call that an answer completes. A verify call and what remains of a
// batch are other calls.
func TestKey(t *testing.T) {
	t.Parallel()
	down := recourse.Unavailable("").WithEffect(recourse.EffectNone)
	late := recourse.Timeout("", 0)
	const open = `{"content":[],"structuredContent":{"studies":[]}}`
	for name, test := range map[string]struct {
		contract, tool, arguments string
		nature                    retry.Nature
		script                    map[string][]any
		hooks                     recovery.Hooks
		keys                      string
	}{
		"a refused write":      {"studies", "study_create", `{}`, retry.Writes, map[string][]any{"study_create": {down, down, done}}, recovery.Hooks{}, "[k k k]"},
		"keyed at the server":  {"studies", "study_create", `{}`, retry.Idempotent, map[string][]any{"study_create": {late, done}}, recovery.Hooks{}, "[k k]"},
		"a verify call":        {"studies", "study_create", `{"workspace_id":"w"}`, retry.Writes, map[string][]any{"study_create": {lost, done}, "study_get": {open}}, recovery.Hooks{Landed: notLanded}, "[k <nil> k]"},
		"what is left of many": {"fieldmcp", "deere_get_fields", `{"fieldIds":["a","b"]}`, retry.Reads, map[string][]any{"deere_get_fields": {partial, done}}, recovery.Hooks{}, "[k <nil>]"},
	} {
		for _, given := range []bool{true, false} {
			t.Run(fmt.Sprint(name, given), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					script := maps.Clone(test.script)
					s := serve(test.contract, script)
					client := recovery.New(s, s.contract, recovery.WithNature(test.tool, test.nature), recovery.WithHooks(test.hooks))
					params := &mcp.CallToolParams{Name: test.tool, Arguments: json.RawMessage(test.arguments)}
					ctx := recovery.WithKey(t.Context(), "k")
					if given {
						ctx, params.Meta = t.Context(), mcp.Meta{"io.github.recoursehq/idempotencyKey": "k"}
					}
					_, _ = client.CallTool(ctx, params)
					if got := fmt.Sprint(s.keys); got != test.keys {
						t.Errorf("got %s for %s", got, s.calls)
					}
				})
			})
		}
	}
}

func notLanded(context.Context, recovery.Verification) (landed bool, err error) { return false, nil }

var partial = recourse.Partial([]recourse.SucceededItem{{ID: "a"}}, []recourse.FailedItem{item("b", recourse.RateLimited(time.Second))})
