package contract_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// The default contract writes a line with the code in brackets and what to do, with the record beside it.
func TestDefaultContract(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("recourse")
	lost := recourse.Timeout("", 0).WithEffect(recourse.EffectUnknown)
	verify := recourse.Verify{Tool: "order_get", Args: recourse.Args{}.With("reference", "A"), LookAt: "its status"}
	for _, tt := range []struct {
		from *recourse.Error
		code string
		want []string
	}{
		{recourse.Missing("a"), "missing_param", []string{"Nothing was done. Add a, then call again."}},
		{recourse.InvalidType("a", "string", nil), "invalid_type", []string{"Nothing was done. Correct a (expected: string), then call again."}},
		{recourse.Unauthenticated(), "unauthenticated", []string{"Do not repeat the call before somebody has signed in."}},
		{recourse.NotFound("field", "F"), "not_found", []string{"Nothing was changed. Look for a valid identifier, then call again with it."}},
		{recourse.Conflict(""), "conflict", []string{"Read the present state, then decide again."}},
		{recourse.RateLimited(0), "rate_limited", []string{"Safe to repeat: make the same call again, a few times at most."}},
		{recourse.RateLimited(0).WithRetry(recourse.RetryReRead), "rate_limited", []string{"Read the present state before calling again."}},
		{recourse.New(recourse.KindQuotaExhausted, "").WithRetryAfter(time.Hour), "quota_exhausted", []string{"Do not repeat the call before 1 h have passed."}},
		{recourse.Partial(nil, nil), "partial", []string{"Keep what succeeded. Repeat only the failed items that say so."}},
		{recourse.Internal().With(func(e *recourse.Error) { e.RequestID = "req-1" }), "internal", []string{"Do not repeat the call. Report request req-1."}},
		{
			lost.WithVerify(verify), "timeout",
			[]string{`It is not known whether the call took effect. Before calling again: order_get(reference='A'), and look at its status.`},
		},
		{
			recourse.JobFailed("").WithEffect(recourse.EffectUnknown), "job_failed",
			[]string{"The call may have taken effect. Check before calling again."},
		},
	} {
		call := contracttest.ToolCall()
		a := c.Write(tt.from, &call)
		var result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
			Structured json.RawMessage            `json:"structuredContent"`
			Meta       map[string]json.RawMessage `json:"_meta"`
			IsError    bool                       `json:"isError"`
		}
		if err := json.Unmarshal(a.Result, &result); err != nil || a.Surface != contract.SurfaceResult || len(result.Content) != 1 {
			t.Fatalf("%s: %v, %s", tt.code, err, a.Result)
		}
		record := string(result.Meta[recourse.MetaKey])
		if !result.IsError || !strings.Contains(record, `"kind":"`+tt.code+`"`) || result.Structured != nil {
			t.Errorf("%s: isError %t, %s", tt.code, result.IsError, a.Result)
		}
		lines := strings.Split(result.Content[0].Text, "\n")
		if diff := cmp.Diff(tt.want, lines[1:]); diff != "" || !strings.HasPrefix(lines[0], "["+tt.code+"] ") {
			t.Errorf("%s (-want +got):\n%s", lines[0], diff)
		}
	}
	want := contract.RetryRule{Retries: 3, Start: time.Second, Factor: 2, JitterMax: time.Second, JitterFrom: 1}
	if diff := cmp.Diff(want, c.Retry); diff != "" {
		t.Errorf("the retry rule (-want +got):\n%s", diff)
	}
}
