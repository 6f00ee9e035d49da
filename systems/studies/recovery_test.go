package studies_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/promises"
	"github.com/recoursehq/recourse/internal/testkit"
	"github.com/recoursehq/recourse/recovery"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/studies"
)

// titled decides whether a study was created: by its title.
func titled(_ context.Context, v recovery.Verification) recovery.Verdict {
	var in struct {
		Title string `json:"title"`
	}
	if json.Unmarshal(v.Arguments, &in) != nil {
		return recovery.Undecided
	}
	if strings.Contains(string(v.Result), in.Title) {
		return recovery.Landed
	}
	return recovery.NotLanded
}

// A write whose answer is lost is settled by the verify call, and made again only where that says that it did not land.
func TestClientVerifies(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/client-verifies")

	client := systemtest.HTTP(t, newSystem(t, studies.Options{Timeout: 100 * time.Millisecond}), testkit.Modern)
	for name, test := range map[string]struct {
		tool, arguments string
		options         []recovery.Option
		calls, verifies int
		kind            recourse.Kind // of the error
	}{
		"it has landed, by the contract": {
			"workspace_update", `{"workspace_id":"w-1","name":"Lab fault-drop"}`, nil, 1, 1, "",
		},
		"it has landed, by the hook": {
			"study_create", `{"workspace_id":"w-1","title":"Lunch fault-drop"}`, []recovery.Option{recovery.WithLanded(titled)}, 1, 1, "",
		},
		"nothing decides": {
			"study_create", `{"workspace_id":"w-1","title":"Supper fault-drop"}`, nil, 1, 1, recourse.KindUnreachable,
		},
		"it has landed, and no answer came": {
			"study_create", `{"workspace_id":"w-1","title":"Tea fault-slow"}`, []recovery.Option{recovery.WithLanded(titled)}, 1, 1, "",
		},
		"it was refused": {
			"study_create", `{"workspace_id":"w-1","title":"Brunch fault-429"}`, nil, 4, 0, recourse.KindRateLimited,
		},
		"a mistake": {
			"study_create", `{"workspace_id":"s-1","title":"Snack"}`, nil, 1, 0, recourse.KindInvalidValue,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, report, err := systemtest.Recover(t, rules(t), client, test.tool, test.arguments, test.options...)
			if test.kind == "" && err != nil || test.kind != "" && !errors.Is(err, test.kind) {
				t.Errorf("%v, want %q", err, test.kind)
			}
			if report.Attempts() != test.calls || report.Verifications() != test.verifies {
				t.Errorf("%d calls and %d verify calls, want %d and %d", report.Attempts(), report.Verifications(), test.calls, test.verifies)
			}
		})
	}
}

// next_action is followed until the work has ended, whatever passes meanwhile.
func TestClientPolls(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/client-polls")

	for name, test := range map[string]struct {
		tool, arguments, status string
		polls                   int // at least
	}{
		"a run":                       {"run_dispatch", `{"study_id":"s-1","country":"PT"}`, `"runtime_status":"completed"`, 2},
		"an analysis":                 {"study_analyze", `{"study_id":"s-1"}`, `"status":"completed"`, 2},
		"looks that fail":             {"study_analyze", `{"study_id":"s-1","focus":"fault-later429"}`, `"status":"completed"`, 4},
		"work that never ends":        {"study_analyze", `{"study_id":"s-1","focus":"fault-stuck"}`, `"status":"`, 5},
		"who waits is not waited for": {"study_analyze", `{"study_id":"s-1","wait":false}`, `"next_action"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := systemtest.HTTP(t, newSystem(t, studies.Options{}), testkit.Modern)
			if test.tool == "study_analyze" {
				client.Call(t, "run_dispatch", `{"study_id":"s-1","country":"PT","wait":true}`)
			}
			result, report, err := systemtest.Recover(t, rules(t), client, test.tool, test.arguments, recovery.WithTimeout(5*time.Minute))
			if err != nil || !strings.Contains(string(result), strings.ReplaceAll(test.status, `"`, `\"`)) && !strings.Contains(string(result), test.status) {
				t.Errorf("%v: %s", err, result)
			}
			polls := 0
			for _, s := range report.Steps {
				if s.Action == recovery.ActionPoll {
					polls++
				}
			}
			if polls < test.polls || test.polls == 0 && polls > 0 {
				t.Errorf("asked %d times", polls)
			}
			if report.Attempts() != 1 {
				t.Errorf("%d calls", report.Attempts())
			}
		})
	}
}
