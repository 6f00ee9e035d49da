package recovery_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/recovery"
)

// Report, observer and log have the same steps, and none of them the arguments.
func TestReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := serve("commerce", map[string][]any{
			"create-sales-order": {lost, recourse.RateLimited(20 * time.Second).WithEffect(recourse.EffectNone), done},
			"get-orders":         {`{"content":[],"structuredContent":{"items":[]}}`},
		})
		var log strings.Builder
		var observed []recovery.Step
		_, report, err := call(t, s, "create-sales-order", `{"order":{"externalId":"s3cret"}}`,
			recovery.WithHooks(recovery.Hooks{Observe: func(_ context.Context, s recovery.Step) { observed = append(observed, s) }}),
			recovery.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}}))))
		if err != nil {
			t.Fatal(err)
		}
		const want = `level=DEBUG msg=call tool=create-sales-order attempt=1 ms=0 kind=timeout code=3002 effect=unknown
level=DEBUG msg=wait tool=create-sales-order attempt=1 ms=1500 reason="the write may be on its way"
level=DEBUG msg=verify tool=get-orders attempt=1 ms=0
level=DEBUG msg=decide tool=create-sales-order attempt=1 ms=0 kind=timeout code=3002 effect=none reason="the write has not landed"
level=DEBUG msg=decide tool=create-sales-order attempt=1 ms=0 kind=timeout code=3002 effect=none reason="the call did not take effect"
level=DEBUG msg=wait tool=create-sales-order attempt=1 ms=1500 reason="the call did not take effect"
level=DEBUG msg=call tool=create-sales-order attempt=2 ms=0 kind=rate_limited code=3001 effect=none
level=DEBUG msg=decide tool=create-sales-order attempt=2 ms=0 kind=rate_limited code=3001 effect=none reason="the call did not take effect"
level=DEBUG msg=wait tool=create-sales-order attempt=2 ms=40500 reason="the call did not take effect"
level=DEBUG msg=call tool=create-sales-order attempt=3 ms=0
`
		if diff := cmp.Diff(want, log.String()); diff != "" {
			t.Errorf("the log (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(report.Steps, observed, cmpopts.EquateComparable(), cmp.Comparer(func(a, b *recourse.Error) bool { return a == b })); diff != "" {
			t.Errorf("the observer (-report +observer):\n%s", diff)
		}
		if report.Attempts() != 3 || report.Verifications() != 1 || report.Waited() != 43500*time.Millisecond {
			t.Errorf("%d attempts, %d verify calls, waits of %s", report.Attempts(), report.Verifications(), report.Waited())
		}
		raw, err := json.Marshal(report)
		if err != nil || strings.Count(string(raw), `"action"`) != len(report.Steps) {
			t.Errorf("%s, %v", raw, err)
		}
		if strings.Contains(log.String(), "s3cret") {
			t.Error("the log has arguments")
		}
	})
}
