package systems_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// A failure in any contract, written in any other, keeps the record's members except for those that each contract words
// itself. This is a sample: a third of the records for each pair.
func TestEveryContractInEveryOther(t *testing.T) {
	t.Parallel()
	testContractsInOthers(t)
}

// The other records.
func TestLongEveryContractInEveryOther(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testContractsInOthers(t)
}

func testContractsInOthers(t *testing.T) {
	t.Helper()
	all := contract.Builtin().All()
	for i, to := range all {
		t.Run("in "+to.Name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			entry := []string{"contract: " + to.Name, "trusted: true", "timeout: 30s", "tools: {order_create: {read_only: false}}"}
			user := ""
			if to.Session.UserHeader != "" {
				entry, user = append(entry, "path: /farm/mcp/{user_id}"), "/u-1"
			}
			client := testkit.NewClient(t, gatewaytest.Start(t, srv.URL(), entry...).URL+user, testkit.Legacy)
			client.Header = http.Header{}
			for _, name := range to.Session.Credentials {
				client.Header.Set(name, "one-1")
			}
			client.MustInitialize(t)
			for k, from := range all {
				for n, e := range richRecords() {
					if !testkit.Sampled(t, i+k+n, 6) {
						continue
					}
					sent := from.Write(e, &contract.Call{Method: "tools/call", Tool: testkit.OrderCreate})
					if sent.Surface != contract.SurfaceResult {
						t.Fatalf("%s does not write %s in a result", from.Name, e.Kind)
					}
					srv.Next(testkit.OrderCreate, faults.Result("", string(sent.Result)))
					a, err := client.Call(t.Context(), testkit.OrderCreate, `{"reference":"A-17","amount":5}`)
					if err != nil {
						t.Fatal(err)
					}
					got := gatewaytest.Record(t, a)
					if to.Name == contract.Default && !waits(got) {
						sent.Record.RetryAfter = 0
					}
					if diff := cmp.Diff(besidesWords(t, sent.Record), besidesWords(t, got)); diff != "" {
						t.Errorf("%s, effect %s, from %s (-sent +received):\n%s", e.Kind, e.Effect, from.Name, diff)
					}
					if got.Contract != to.Name || !containsAll(got.Hints, e.Hints) {
						t.Errorf("%s from %s: got contract %s, hints %q", e.Kind, from.Name, got.Contract, got.Hints)
					}
					if to.Name == "fieldmcp" && given(got) != given(sent.Record) { // fieldmcp shows values
						t.Errorf("%s from %s: got value %q, want %q", e.Kind, from.Name, given(got), given(sent.Record))
					}
					if said, want := retryableIn(a.Message.Result), got.RetryAdvice() == recourse.RetrySameCall; said != nil && *said != want {
						t.Errorf("%s, effect %s, from %s: got retryable %t, and advice %s", e.Kind, e.Effect, from.Name, *said, got.RetryAdvice())
					}
				}
			}
		})
	}
}

// waits reports whether a wait helps after a failure: the contract recourse leaves out one that does not.
func waits(e *recourse.Error) bool {
	switch e.RetryAdvice() {
	case recourse.RetrySameCall, recourse.RetryReRead:
		return true
	default:
		return e.Kind.Class() == recourse.ClassAllowance || e.Kind == recourse.KindPartial
	}
}

// richRecords returns records with every member set: one of each class that every contract writes in a tool result, and
// one of each kind that may pass by itself. Some have an unknown effect.
func richRecords() []*recourse.Error {
	var list []*recourse.Error
	classes := map[recourse.Class]bool{recourse.ClassProtocol: true} // never in a tool result
	for _, kind := range recourse.Kinds() {
		passes := kind.Class() == recourse.ClassUpstream || kind.Class() == recourse.ClassAllowance
		if classes[kind.Class()] && !passes {
			continue
		}
		classes[kind.Class()] = true
		e := recourse.New(kind, "A sentence about what happened.").
			WithHint("What to do first.").WithHint("What to do then.").
			WithRetryAfter(12*time.Second).WithEffect(recourse.EffectNone).
			WithVerify(recourse.Verify{Tool: "order_get", Args: recourse.Args{}.With("reference", "A-17"), LookAt: "state"}).
			WithViolations(
				recourse.Violation{Pointer: "/range/from", Param: "range.from", Rule: "format", Got: json.RawMessage(`"soon"`), Want: "a date", Message: "must be a date"},
				recourse.Violation{Pointer: "/limit", Param: "limit", Rule: "maximum", Got: json.RawMessage(`500`), Want: "at most 100", Message: "must be at most 100"},
			).
			WithResource("item", "A-17").WithProvider("the provider").WithOrigin(recourse.OriginProvider).
			WithUpstream(recourse.Upstream{Code: "teapot", RequestID: "up-1"}).WithRequestID("req-1").
			WithDetail("note", map[string]any{"n": 1})
		e.MissingScopes = []string{"read", "write"}
		reset := time.Date(2126, 7, 28, 12, 0, 0, 0, time.UTC)
		e.Quotas = []recourse.Quota{
			{Policy: "minute", Limit: 100, Window: time.Minute, ResetAt: reset, Partition: "org-1"},
			{Policy: "month", Limit: 17000, Window: 30 * 24 * time.Hour, Remaining: 4200, ResetAt: reset},
		}
		e.Succeeded = []recourse.SucceededItem{{ID: "a", Value: json.RawMessage(`{"done":true}`)}}
		e.Failed = []recourse.FailedItem{{ID: "c", Error: recourse.Timeout("the provider", 0).WithHint("Try again later.").WithOrigin(recourse.OriginProvider).WithRetryAfter(3 * time.Second)}}
		e.Missing = []recourse.MissingData{{What: "yield", Impact: "required", Message: "There is no yield data."}}
		list = append(list, e.WithExtra(map[string]json.RawMessage{"novel": json.RawMessage(`[1]`)}))
		if kind.Class() == recourse.ClassUpstream {
			list = append(list, e.WithEffect(recourse.EffectUnknown))
		}
	}
	return list
}

// besidesWords returns a record without the members that a contract words itself, and without the values that not every
// contract may show.
func besidesWords(t *testing.T, e *recourse.Error) map[string]any {
	t.Helper()
	e = e.With(func(c *recourse.Error) {
		c.Violations = slices.Clone(c.Violations)
		for i := range c.Violations {
			c.Violations[i].Got = nil
		}
	})
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"code", "contract", "hints", "retry", "requestId", "effectBasis"} { // the last two are the gateway's
		delete(members, word)
	}
	var inner []any
	for _, item := range e.Failed {
		inner = append(inner, item.ID, besidesWords(t, item.Error))
	}
	members["failed"] = inner
	return members
}

// given returns the value of the first violation.
func given(e *recourse.Error) string {
	if len(e.Violations) == 0 {
		return ""
	}
	return string(e.Violations[0].Got)
}

func containsAll(list, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(list, w) })
}

// retryableIn returns the retryable member of a result, in any contract's place, or nil.
func retryableIn(result []byte) *bool {
	type object struct {
		Retryable *bool `json:"retryable"`
	}
	var r struct {
		Structured object `json:"structuredContent"`
		Error      object `json:"error"`
	}
	if json.Unmarshal(result, &r) != nil {
		return nil
	}
	if r.Error.Retryable != nil {
		return r.Error.Retryable
	}
	return r.Structured.Retryable
}
