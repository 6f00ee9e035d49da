package systems_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// What the public reference server says, beside the contract's own object, is read with `contract: commerce` alone: as specific
// as it is, with the wait in its own unit, and with one verdict.
func TestCommerceOtherForms(t *testing.T) {
	t.Parallel()
	adapter := func(fault string) testkit.Fault {
		return faults.ToolError("", `{"success":false,"error":`+fault+`}`)
	}
	for name, tt := range map[string]struct {
		fault  testkit.Fault
		shows  []string
		kind   recourse.Kind
		effect recourse.Effect
		retry  recourse.Retry
		after  time.Duration
	}{
		"a missing field": {
			faults.RPCError("", 2001, "Validation failed for field order.customer: must have required property 'email'", `{"field":"order.customer","reason":"must have required property 'email'"}`),
			[]string{`"code":2002`, `"field":"order.customer.email"`},
			recourse.KindMissingParam, recourse.EffectNone, recourse.RetryAfterFix, 0,
		},
		"a format, in a text": {
			faults.ToolError("", `Validation failed for field order/lineItems/0/sku: must match format "uuid"`),
			[]string{`"code":2003`, `"field":"order.lineItems.0.sku"`, `"reason":"format"`},
			recourse.KindInvalidValue, recourse.EffectNone, recourse.RetryAfterFix, 0,
		},
		"a limit of the adapter": {
			adapter(`{"code":"RATE_LIMITED","message":"Rate limit exceeded","details":{"retryAfter":9000}}`),
			[]string{`"code":3001`, `"originalError":"RATE_LIMITED"`, "Wait 9 s"},
			recourse.KindRateLimited, recourse.EffectNone, recourse.RetrySameCall, 9 * time.Second,
		},
		"a name of the table": {
			adapter(`{"code":"NOT_IMPLEMENTED","message":"No returns here"}`),
			[]string{`"code":5001`},
			recourse.KindNotImplemented, recourse.EffectNone, recourse.RetryNever, 0,
		},
		"an adapter that vouches": {
			faults.Result("", `{"error":{"code":4001,"message":"Locked","retryable":true}}`),
			[]string{`"retryable":true`, "Repeat the call"},
			recourse.KindServerError, recourse.EffectNone, recourse.RetrySameCall, 0,
		},
		"an adapter that does not": {
			faults.Result("", `{"error":{"code":4001,"message":"Broken","retryable":false}}`),
			[]string{`"retryable":false`, `"reason":"effect_unknown"`},
			recourse.KindServerError, recourse.EffectUnknown, recourse.RetryReRead, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithTools(testkit.Tool{Name: "create-sales-order"}))
			srv.Always("create-sales-order", tt.fault)
			a, err := gatewaytest.Start(t, srv.URL(), "contract: commerce").Client(t, testkit.Modern).Call(t.Context(), "create-sales-order", `{"order":{"externalId":"A-17"}}`)
			if err != nil {
				t.Fatal(err)
			}
			result, err := a.ToolResult()
			if err != nil {
				t.Fatal(err)
			}
			text := result.Content[0].Text
			for _, want := range tt.shows {
				if !strings.Contains(text, want) {
					t.Errorf("no %s in %s", want, text)
				}
			}
			if strings.Contains(text, `"retryable":true`) == strings.Contains(text, "effect_unknown") && tt.effect != recourse.EffectNone {
				t.Errorf("two verdicts: %s", text)
			}
			e := gatewaytest.Record(t, a)
			if e.Kind != tt.kind || e.Effect != tt.effect || e.RetryAdvice() != tt.retry || e.RetryAfter != tt.after {
				t.Errorf("got %s, effect %s, retry %s after %s", e.Kind, e.Effect, e.RetryAdvice(), e.RetryAfter)
			}
		})
	}
}
