package recourse_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/recoursehq/recourse"
)

// complete returns a record with every field set.
func complete() *recourse.Error {
	reset := time.Date(2026, 3, 1, 12, 30, 5, 0, time.UTC)
	return recourse.New(recourse.KindTimeout, "John Deere did not answer within 20 s.").
		WithCode("fieldmcp", "PROVIDER_TIMEOUT").
		WithHint("Look at the order first.").WithHint("Ask for a shorter period.").
		WithRetry(recourse.RetryReRead).
		WithRetryAfter(30*time.Second).
		WithEffect(recourse.EffectUnknown).
		WithVerify(recourse.Verify{
			Tool: "order_get", Args: recourse.Args{}.With("reference", "A-17").With("full", true), LookAt: "status",
		}).
		WithViolations(recourse.Violation{
			Pointer: "/order/items/0/sku", Param: "order.items.0.sku", Rule: "type", Got: json.RawMessage(`17`),
			Want: "a string", Message: "order.items.0.sku must be a string",
		}).
		WithResource("order", "A-17").
		WithProvider("John Deere").
		WithOrigin(recourse.OriginProvider).
		WithUpstream(recourse.Upstream{Status: 504, Code: "gateway_timeout", RequestID: "up-1"}).
		WithRequestID("req-1").
		WithDetail("attempts", 3).
		With(func(e *recourse.Error) {
			e.MissingScopes = []string{"ag1", "ag2"}
			e.Quotas = []recourse.Quota{{
				Policy: "minute", Limit: 100, Window: time.Minute, Remaining: 0, ResetAt: reset, Partition: "org-1",
			}}
			e.Succeeded = []recourse.SucceededItem{{ID: "1", Value: json.RawMessage(`{"ok":true}`)}}
			e.Failed = []recourse.FailedItem{{ID: "2", Error: recourse.NotFound("field", "2").WithRetry(recourse.RetryAfterFix)}}
			e.Missing = []recourse.MissingData{{What: "yield", Impact: "required", Message: "No harvest is recorded."}}
		}).
		CausedBy(errors.New("dial tcp 10.0.0.1:443: i/o timeout"))
}

func TestKinds(t *testing.T) {
	t.Parallel()

	want := map[recourse.Class]map[recourse.Retry]string{
		"protocol": {"never": "malformed invalid_request unknown_method unsupported_version missing_capability header_mismatch " +
			"unknown_session refused_origin"},
		"input":      {"after_fix": "missing_param invalid_type invalid_value conflicting_params unknown_param unknown_tool too_large"},
		"auth":       {"after_auth": "unauthenticated token_expired token_revoked missing_scope not_connected"},
		"permission": {"never": "permission_denied"},
		"resource":   {"after_fix": "not_found no_match"},
		"state":      {"re_read": "conflict invalid_state"},
		"allowance":  {"same_call": "rate_limited", "never": "quota_exhausted", "after_fix": "limit_reached"},
		"upstream":   {"same_call": "unreachable unavailable timeout server_error", "never": "client_error bad_response"},
		"data":       {"after_fix": "insufficient_data no_data"},
		"partial":    {"never": "partial"},
		"work":       {"never": "job_failed not_implemented cancelled"},
		"system":     {"never": "internal unknown"},
	}
	got := map[recourse.Class]map[recourse.Retry]string{}
	for _, kind := range recourse.Kinds() {
		if got[kind.Class()] == nil {
			got[kind.Class()] = map[recourse.Retry]string{}
		}
		list := strings.TrimSpace(got[kind.Class()][kind.Retry()] + " " + string(kind))
		got[kind.Class()][kind.Retry()] = list
		if !strings.HasSuffix(kind.Sentence(), ".") {
			t.Errorf("%s: %q is not a sentence", kind, kind.Sentence())
		}
		if parsed, ok := recourse.ParseKind(string(kind)); !ok || parsed != kind {
			t.Errorf("ParseKind(%s) = %s, %v", kind, parsed, ok)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if len(recourse.Classes()) != len(want) {
		t.Errorf("%d classes, want %d", len(recourse.Classes()), len(want))
	}
}

func TestKindOutsideTheSet(t *testing.T) {
	t.Parallel()

	kind, ok := recourse.ParseKind("sunny")
	if ok || kind != recourse.KindUnknown {
		t.Errorf("ParseKind(sunny) = %s, %v", kind, ok)
	}
	for _, kind := range []recourse.Kind{"", "sunny"} {
		if kind.Class() != recourse.ClassSystem || kind.Retry() != recourse.RetryNever || kind.Sentence() == "" {
			t.Errorf("%q: class %s, retry %s, sentence %q", string(kind), kind.Class(), kind.Retry(), kind.Sentence())
		}
	}
}

func TestIsAndAsThroughWraps(t *testing.T) {
	t.Parallel()

	cause := errors.New("why")
	e := recourse.Timeout("Deere", 0).CausedBy(cause)
	wraps := map[string]error{
		"itself":    e,
		"%w":        fmt.Errorf("list fields: %w", e),
		"two of %w": fmt.Errorf("%w and %w", errors.New("other"), fmt.Errorf("inner: %w", e)),
		"joined":    errors.Join(errors.New("other"), e),
		"caused":    recourse.JobFailed("").CausedBy(e),
	}
	for name, err := range wraps {
		for target, want := range map[error]bool{
			recourse.KindTimeout: true, recourse.ClassUpstream: true, cause: true,
			recourse.KindNotFound: false, recourse.ClassInput: false, recourse.KindUnknown: false,
		} {
			if got := errors.Is(err, target); got != want {
				t.Errorf("%s: errors.Is(%v) = %v, want %v", name, target, got, want)
			}
		}
		if found, ok := errors.AsType[*recourse.Error](err); !ok || name != "caused" && found != e {
			t.Errorf("%s: errors.As finds %v", name, found)
		}
	}
	if !errors.Is(fmt.Errorf("x: %w", recourse.KindConflict), recourse.ClassState) {
		t.Error("a wrapped kind does not belong to its class")
	}
}

func TestCauseIsNeverRendered(t *testing.T) {
	t.Parallel()

	const private = "hunter2"
	e := recourse.Internal().CausedBy(errors.New(private))
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{e.Error(), e.Sentence(), string(raw), fmt.Sprint(fmt.Errorf("call: %w", e))}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		texts = append(texts, fmt.Sprintf(verb, e), fmt.Sprintf(verb, struct{ E any }{e}), fmt.Sprintf(verb, []error{e}))
	}
	for _, text := range texts {
		if strings.Contains(text, private) || strings.Contains(text, fmt.Sprintf("%x", private)) {
			t.Errorf("the cause is in %q", text)
		}
	}
	if e.Cause() == nil || e.Cause().Error() != private {
		t.Errorf("Cause() = %v", e.Cause())
	}
}

func TestEffectOverrulesRetry(t *testing.T) {
	t.Parallel()

	for _, kind := range recourse.Kinds() {
		for _, effect := range []recourse.Effect{recourse.EffectUnknown, recourse.EffectApplied} {
			for _, stated := range []recourse.Retry{"", recourse.RetrySameCall, recourse.RetryNever} {
				e := recourse.New(kind, "").WithEffect(effect).WithRetry(stated)
				if e.RetryAdvice() == recourse.RetrySameCall {
					t.Errorf("%s, effect %s, stated %q: advises the same call", kind, effect, stated)
				}
			}
		}
	}
	if got := recourse.RateLimited(0).RetryAdvice(); got != recourse.RetrySameCall {
		t.Errorf("rate_limited without an effect: %s", got)
	}
	if got := recourse.NoData("").WithRetry(recourse.RetrySameCall).RetryAdvice(); got != recourse.RetrySameCall {
		t.Errorf("the stated advice is lost: %s", got)
	}
}

// TestCopiesAreIndependent changes copies of one record, and copies of copies, in every way.
func TestCopiesAreIndependent(t *testing.T) {
	t.Parallel()

	changes := map[string]func(*recourse.Error) *recourse.Error{
		"CausedBy":    func(e *recourse.Error) *recourse.Error { return e.CausedBy(errors.New("other")) },
		"Message":     func(e *recourse.Error) *recourse.Error { return e.WithMessage("%d", 1) },
		"Hint":        func(e *recourse.Error) *recourse.Error { return e.WithHint("new") },
		"Code":        func(e *recourse.Error) *recourse.Error { return e.WithCode("c", "C") },
		"Retry":       func(e *recourse.Error) *recourse.Error { return e.WithRetry("never") },
		"RetryAfter":  func(e *recourse.Error) *recourse.Error { return e.WithRetryAfter(-1) },
		"Effect":      func(e *recourse.Error) *recourse.Error { return e.WithEffect("none") },
		"Verify":      func(e *recourse.Error) *recourse.Error { return e.WithVerify(recourse.Verify{Tool: "t"}) },
		"Origin":      func(e *recourse.Error) *recourse.Error { return e.WithOrigin("caller") },
		"Provider":    func(e *recourse.Error) *recourse.Error { return e.WithProvider("P") },
		"Upstream":    func(e *recourse.Error) *recourse.Error { return e.WithUpstream(recourse.Upstream{}) },
		"Resource":    func(e *recourse.Error) *recourse.Error { return e.WithResource("t", "i") },
		"Violations":  func(e *recourse.Error) *recourse.Error { return e.WithViolations() },
		"RequestID":   func(e *recourse.Error) *recourse.Error { return e.WithRequestID("r") },
		"Detail":      func(e *recourse.Error) *recourse.Error { return e.WithDetail("attempts", "new") },
		"Extra":       func(e *recourse.Error) *recourse.Error { return e.WithExtra(nil) },
		"Args":        func(e *recourse.Error) *recourse.Error { e.Verify.Args.With("more", 1); return e },
		"MarshalJSON": func(e *recourse.Error) *recourse.Error { _, _ = e.MarshalJSON(); return e },
	}
	names := make([]string, 0, len(changes))
	for name := range changes {
		names = append(names, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		records := []*recourse.Error{complete(), recourse.Internal(), large()}
		before := make([]string, 0, len(records))
		for _, e := range records {
			before = append(before, state(e))
		}
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			i := rapid.IntRange(0, len(records)-1).Draw(t, "record")
			name := rapid.SampledFrom(names).Draw(t, "change")
			if name == "Args" && records[i].Verify == nil {
				continue
			}
			changed := changes[name](records[i])
			records, before = append(records, changed), append(before, state(changed))
		}
		for i, e := range records {
			if diff := cmp.Diff(before[i], state(e)); diff != "" {
				t.Fatalf("record %d was changed (-before +after):\n%s", i, diff)
			}
		}
	})
}

// state renders every field of a record.
func state(e *recourse.Error) string {
	c := *e
	var b strings.Builder
	for i := range reflect.TypeFor[recourse.Error]().NumField() {
		if field := reflect.TypeFor[recourse.Error]().Field(i); field.IsExported() {
			text, err := json.Marshal(reflect.ValueOf(c).Field(i).Interface())
			fmt.Fprintf(&b, "%s: %s %v\n", field.Name, text, err)
		}
	}
	fmt.Fprintf(&b, "%v %v %v", c.Cause(), c.Extra(), c.Truncated())
	return b.String()
}

// large returns a record whose JSON form must be cut.
func large() *recourse.Error {
	e := complete().WithDetail("long", strings.Repeat("x", recourse.MaxJSON))
	for range 100 {
		e = e.WithHint(strings.Repeat("y", 1000))
	}
	return e
}

func TestCallersSliceIsNotShared(t *testing.T) {
	t.Parallel()

	violations := []recourse.Violation{{Param: "a"}}
	e := recourse.New(recourse.KindInvalidType, "").WithViolations(violations...)
	violations[0].Param = "b"
	if e.Violations[0].Param != "a" {
		t.Error("the record shares its slice with the caller")
	}
}

func TestConstructors(t *testing.T) {
	t.Parallel()

	tests := []struct {
		got     *recourse.Error
		kind    recourse.Kind
		message string
	}{
		{recourse.Missing("orgId"), "missing_param", "Parameter orgId is required."},
		{recourse.Missing("a", "b", "c"), "missing_param", "Parameters a, b and c are required."},
		{recourse.InvalidType("limit", "an integer", "7"), "invalid_type", "Parameter limit must be an integer."},
		{recourse.InvalidValue("limit", "at most 100", nil), "invalid_value", "Parameter limit must be at most 100."},
		{recourse.Conflicting("from", "last"), "conflicting_params", "Parameters from and last cannot be used together."},
		{recourse.UnknownTool("x\n"), "unknown_tool", `There is no tool named "x\n".`},
		{recourse.TooLarge(4 << 20), "too_large", "The request is larger than the 4194304 bytes that are allowed."},
		{recourse.Unauthenticated(), "unauthenticated", "Valid credentials are required."},
		{recourse.TokenExpired("Deere"), "token_expired", "The access to Deere has expired."},
		{recourse.TokenRevoked("Deere"), "token_revoked", "The access to Deere was revoked."},
		{recourse.MissingScope("Deere", "ag1"), "missing_scope", "The access to Deere lacks the scope ag1."},
		{recourse.MissingScope("Deere", "ag1", "ag2"), "missing_scope", "The access to Deere lacks the scopes ag1 and ag2."},
		{recourse.NotConnected("Deere"), "not_connected", "No Deere account is connected."},
		{recourse.PermissionDenied(), "permission_denied", "This is not permitted."},
		{recourse.NotFound("field", "17"), "not_found", `There is no field "17".`},
		{recourse.NoMatch("field"), "no_match", "No field matched."},
		{recourse.Conflict("Taken."), "conflict", "Taken."},
		{recourse.InvalidState("Closed."), "invalid_state", "Closed."},
		{recourse.RateLimited(time.Second), "rate_limited", "Too many requests."},
		{recourse.QuotaExhausted("month"), "quota_exhausted", `The quota "month" is used up.`},
		{recourse.LimitReached("study"), "limit_reached", `No more of type "study" may be created.`},
		{recourse.Unreachable(""), "unreachable", "The server could not be reached."},
		{recourse.Unavailable("Deere"), "unavailable", "Deere is not available at the moment."},
		{recourse.Timeout("Deere", 20*time.Second), "timeout", "Deere did not answer within 20 s."},
		{recourse.Timeout("", 0), "timeout", "The server did not answer in time."},
		{recourse.ServerError("Deere", 502), "server_error", "Deere failed (HTTP 502)."},
		{recourse.ClientError("Deere", 0), "client_error", "Deere refused the request."},
		{recourse.BadResponse("Deere"), "bad_response", "Deere sent an invalid response."},
		{recourse.InsufficientData(recourse.MissingData{What: "yield"}), "insufficient_data", "There is not enough data for this."},
		{recourse.NoData("None in March."), "no_data", "None in March."},
		{recourse.Partial([]recourse.SucceededItem{{ID: "1"}}, []recourse.FailedItem{{ID: "2"}}), "partial", "1 of 2 items failed."},
		{recourse.JobFailed("Too short."), "job_failed", "Too short."},
		{recourse.NotImplemented("export"), "not_implemented", "export is not implemented."},
		{recourse.Cancelled(), "cancelled", "The call was cancelled."},
		{recourse.Internal(), "internal", "An internal error occurred."},
	}
	for _, test := range tests {
		if test.got.Kind != test.kind || test.got.Sentence() != test.message {
			t.Errorf("%s %q, want %s %q", test.got.Kind, test.got.Sentence(), test.kind, test.message)
		}
	}
}

func TestViolationsOfConstructors(t *testing.T) {
	t.Parallel()

	got := slicesOf(recourse.Missing("order.a/b", "x~y"), recourse.InvalidType("n", "a number", "7"), recourse.Conflicting("a", "b"))
	want := []recourse.Violation{
		{Pointer: "/order/a~1b", Param: "order.a/b", Rule: "required", Message: "order.a/b is required"},
		{Pointer: "/x~0y", Param: "x~y", Rule: "required", Message: "x~y is required"},
		{Pointer: "/n", Param: "n", Rule: "type", Got: json.RawMessage(`"7"`), Want: "a number", Message: "n must be a number"},
		{Pointer: "/a", Param: "a", Rule: "not", Message: "a and b exclude each other"},
		{Pointer: "/b", Param: "b", Rule: "not", Message: "a and b exclude each other"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

func slicesOf(records ...*recourse.Error) []recourse.Violation {
	var all []recourse.Violation
	for _, e := range records {
		all = append(all, e.Violations...)
	}
	return all
}

func TestWait(t *testing.T) {
	t.Parallel()

	tests := map[time.Duration]string{
		0: "0 ms", 250 * time.Millisecond: "250 ms", 1500 * time.Millisecond: "1.5 s", 12 * time.Second: "12 s",
		3 * time.Minute: "3 min", 90 * time.Second: "1 min 30 s", 2 * time.Hour: "2 h", 150 * time.Minute: "2 h 30 min",
		48 * time.Hour: "2 d", 49 * time.Hour: "2 d 1 h",
		// A wait is a minimum, so it is rounded up.
		59*time.Minute + 59*time.Second + time.Millisecond: "1 h", 2*time.Hour + time.Second: "2 h 1 min",
		24*time.Hour - time.Second: "1 d", 30*24*time.Hour - time.Second: "30 d",
	}
	for d, want := range tests {
		if got := recourse.FormatWait(d); got != want {
			t.Errorf("FormatWait(%d) = %q, want %q", d, got, want)
		}
	}
}
