package recourse_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/recoursehq/recourse"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func marshal(tb testing.TB, v any) []byte {
	tb.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func unmarshal(tb testing.TB, raw string) *recourse.Error {
	tb.Helper()
	var e recourse.Error
	if err := json.Unmarshal([]byte(raw), &e); err != nil {
		tb.Fatalf("read %s: %v", raw, err)
	}
	return &e
}

func TestGolden(t *testing.T) {
	t.Parallel()

	records := map[string]*recourse.Error{
		"complete":      complete(),
		"least":         recourse.Internal(),
		"rate_limited":  recourse.RateLimited(1500 * time.Microsecond).WithMessage("<b> & c"),
		"missing_param": recourse.Missing("order.customer.email"),
		"truncated":     large(),
	}
	for name, e := range records {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := e.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, raw, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// ignored are the fields that the JSON form does not have unchanged: the cause, and the retry advice, which is
// computed.
var ignored = cmpopts.IgnoreUnexported(recourse.Error{})

func TestReadIsTheInverseOfWrite(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		e := drawError(t, 2, 20)
		raw, err := e.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var got recourse.Error
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("read %s: %v", raw, err)
		}
		if got.Truncated() {
			return
		}
		if diff := cmp.Diff(advised(e), &got, ignored, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("read(write(e)) (-e +got):\n%s", diff)
		}
		again, err := got.MarshalJSON()
		if err != nil || !bytes.Equal(raw, again) {
			t.Fatalf("written again: %v\n%s\n%s", err, raw, again)
		}
	})
}

// advised returns e with the computed retry advice.
func advised(e *recourse.Error) *recourse.Error {
	return e.With(func(c *recourse.Error) {
		c.Retry = e.RetryAdvice()
		c.Failed = nil
		for _, f := range e.Failed {
			c.Failed = append(c.Failed, recourse.FailedItem{ID: f.ID, Error: advised(f.Error)})
		}
	})
}

func TestEveryRecordFits(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		e := drawError(t, 2, rapid.SampledFrom([]int{20, 1_000, 20_000}).Draw(t, "length")).WithEffect("unknown")
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var got recourse.Error
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatalf("read %.200s: %v", raw, err)
		}
		if len(raw) > recourse.MaxJSON {
			t.Fatalf("%d bytes", len(raw))
		}
		if got.Kind != e.Kind || got.Effect != e.Effect || got.RetryAfter != e.RetryAfter || got.RetryAdvice() != e.RetryAdvice() {
			t.Fatalf("the facts for the retry decision are lost: %+v became %s", e, raw)
		}
		if whole := len(got.Details) == len(e.Details) && got.Message == e.Message; !whole && !got.Truncated() {
			t.Fatal("cut without truncated")
		}
	})
}

func TestOrderOfCuts(t *testing.T) {
	t.Parallel()

	long := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n) + `"`) }
	e := recourse.Missing("a").With(func(c *recourse.Error) {
		c.Violations[0].Got = long(6000)
		c.Succeeded = []recourse.SucceededItem{{ID: "1", Value: long(6000)}}
		c.Details = map[string]json.RawMessage{"a": long(6000)}
	})
	first := unmarshal(t, string(marshal(t, e)))
	if first.Details != nil || first.Violations[0].Got == nil || !first.Truncated() {
		t.Errorf("details are not cut first: %d details, got %.10s", len(first.Details), first.Violations[0].Got)
	}
	second := unmarshal(t, string(marshal(t, e.With(func(c *recourse.Error) { c.Message = strings.Repeat("x", 6000) }))))
	if second.Violations[0].Got != nil || second.Succeeded[0].Value == nil || len(second.Message) != 6000 {
		t.Errorf("got values are not cut second: %.20s", second.Violations[0].Got)
	}
	third := unmarshal(t, string(marshal(t, e.With(func(c *recourse.Error) { c.Message = strings.Repeat("x", 12000) }))))
	if third.Succeeded[0].Value != nil || len(third.Message) != 12000 {
		t.Errorf("values of succeeded items are not cut third: %.20s", third.Succeeded[0].Value)
	}
	if e.Details == nil || e.Violations[0].Got == nil {
		t.Error("writing changed the record")
	}
}

func TestInvalidRawValuesAreLeftOut(t *testing.T) {
	t.Parallel()

	broken := json.RawMessage(`{"a":`)
	e := complete().With(func(c *recourse.Error) {
		c.Details = map[string]json.RawMessage{"bad": broken, "good": json.RawMessage(`1`)}
		c.Violations = []recourse.Violation{{Param: "a", Got: broken}}
		c.Succeeded = []recourse.SucceededItem{{ID: "1", Value: broken}}
		c.Verify = &recourse.Verify{Tool: "t", Args: recourse.Args{{Name: "a", Value: broken}, {Name: "b"}}}
	})
	got := unmarshal(t, string(marshal(t, e)))
	want := []any{1, json.RawMessage(nil), "1", "t(a=null, b=null)"}
	have := []any{len(got.Details), got.Violations[0].Got, got.Succeeded[0].ID, got.Verify.String()}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		raw  string
		want string // after writing again
	}{
		"members of another version": {
			`{"v":2,"kind":"timeout","future":{"a":[1.0]},"also":null}`,
			`{"v":1,"kind":"timeout","retry":"same_call","also":null,"future":{"a":[1.0]}}`,
		},
		"a kind of another version": {`{"kind":"sunny"}`, `{"v":1,"kind":"unknown","retry":"never"}`},
		"no kind":                   {`{}`, `{"v":1,"kind":"unknown","retry":"never"}`},
		"an unsafe advice": {
			`{"kind":"timeout","retry":"same_call","effect":"unknown"}`, `{"v":1,"kind":"timeout","retry":"re_read","effect":"unknown"}`,
		},
		"another case": {
			`{"kind":"not_found","KIND":"timeout","Origin":"gateway","ſucceeded":[{"id":"1"}]}`,
			`{"v":1,"kind":"not_found","retry":"after_fix"}`,
		},
		"a negative wait":   {`{"kind":"timeout","afterMs":-5}`, `{"v":1,"kind":"timeout","retry":"same_call"}`},
		"an endless wait":   {`{"kind":"timeout","afterMs":9223372036854775807}`, `{"v":1,"kind":"timeout","retry":"same_call","afterMs":9223372036854}`},
		"nulls":             {`{"kind":"timeout","verify":{"tool":"t","args":null},"hints":null,"quotas":null}`, `{"v":1,"kind":"timeout","retry":"same_call","verify":{"tool":"t"}}`},
		"a broken time":     {`{"kind":"timeout","quotas":[{"resetAt":"soon"}]}`, `{"v":1,"kind":"timeout","retry":"same_call","quotas":[{"remaining":0}]}`},
		"an item with null": {`{"kind":"partial","failed":[{"id":"1","error":null}]}`, `{"v":1,"kind":"partial","retry":"never","failed":[{"id":"1","error":{"v":1,"kind":"unknown","retry":"never"}}]}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, string(marshal(t, unmarshal(t, test.raw)))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, raw := range []string{``, `[]`, `"x"`, `7`, `{"kind":7}`, `{"kind":"timeout"`, `{"verify":{"args":[]}}`, `{"failed":[{"error":7}]}`} {
		var e recourse.Error
		if err := json.Unmarshal([]byte(raw), &e); err == nil {
			t.Errorf("%s was read as a record", raw)
		}
	}
	e := complete()
	if err := json.Unmarshal([]byte(`null`), e); err != nil || e.Code == "" {
		t.Errorf("null changed a record: %v", err)
	}
}

func TestNestingIsBounded(t *testing.T) {
	t.Parallel()

	const levels = 3000
	raw := strings.Repeat(`{"kind":"partial","failed":[{"id":"1","error":`, levels) + `{"kind":"timeout"}` + strings.Repeat(`}]}`, levels)
	start := time.Now()
	e := unmarshal(t, raw)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	depth := 0
	for len(e.Failed) > 0 {
		e = e.Failed[0].Error
		depth++
	}
	if depth != 4 || e.Kind != recourse.KindUnknown { // three levels are read, and the existence of the fourth
		t.Errorf("read %d levels, the last is %s", depth, e.Kind)
	}
}

// A wait is a minimum, so a part of a millisecond is rounded up.
func TestWaitsAreRoundedUp(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{
		time.Millisecond: `"afterMs":1}`, time.Millisecond + 1: `"afterMs":2}`, 1: `"afterMs":1}`, 12 * time.Second: `"afterMs":12000}`,
	} {
		if raw := string(marshal(t, recourse.RateLimited(wait))); !strings.HasSuffix(raw, want) {
			t.Errorf("%s: %s", wait, raw)
		}
	}
}

func TestArgs(t *testing.T) {
	t.Parallel()

	args := recourse.Args{}.With("z", "A-17").With("a", []int{1}).With("f", math.NaN())
	raw := marshal(t, args)
	if want := `{"z":"A-17","a":[1],"f":"float64"}`; string(raw) != want {
		t.Errorf("written as %s, want %s", raw, want)
	}
	var got recourse.Args
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(args, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	if want := `z='A-17', a=[1], f='float64'`; got.String() != want {
		t.Errorf("String() = %s, want %s", got, want)
	}
}

func drawError(t *rapid.T, depth, length int) *recourse.Error {
	text := rapid.OneOf(
		rapid.Just(""),
		rapid.StringN(0, 20, length),
		rapid.Map(rapid.IntRange(0, length), func(n int) string { return strings.Repeat("ä<\x01", n/3) }),
	)
	draw := func(label string) string { return text.Draw(t, label) }
	many := func(add func()) {
		for range rapid.SampledFrom([]int{0, 1, 2, length / 1_000}).Draw(t, "many") {
			add()
		}
	}
	raw := func() json.RawMessage {
		b, err := json.Marshal(draw("raw"))
		if err != nil {
			t.Fatal(err)
		}
		return json.RawMessage(strings.ReplaceAll(string(b), `\u003c`, `<`))
	}
	e := &recourse.Error{
		Kind:       rapid.SampledFrom(recourse.Kinds()).Draw(t, "kind"),
		Code:       draw("code"),
		Contract:   draw("contract"),
		Message:    draw("message"),
		Retry:      rapid.SampledFrom([]recourse.Retry{"", "never", "same_call", "after_auth"}).Draw(t, "retry"),
		RetryAfter: time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "after")) * time.Millisecond,
		Effect:     rapid.SampledFrom([]recourse.Effect{"", "none", "applied", "unknown"}).Draw(t, "effect"),
		Origin:     rapid.SampledFrom([]recourse.Origin{"", "caller", "gateway", "server", "provider"}).Draw(t, "origin"),
		Provider:   draw("provider"),
		Resource:   recourse.Resource{Type: draw("type"), ID: draw("id")},
		Upstream:   recourse.Upstream{Status: rapid.IntRange(0, 599).Draw(t, "status"), Code: draw("upstream"), RequestID: draw("upstream id")},
		RequestID:  draw("request id"),
	}
	if rapid.Bool().Draw(t, "verify") {
		e.Verify = &recourse.Verify{Tool: draw("tool"), Args: recourse.Args{}.With("a", draw("argument")), LookAt: draw("look")}
	}
	many(func() { e.Hints = append(e.Hints, draw("hint")) })
	many(func() { e.MissingScopes = append(e.MissingScopes, draw("scope")) })
	many(func() {
		e.Violations = append(e.Violations, recourse.Violation{
			Pointer: draw("pointer"), Param: draw("param"), Rule: draw("rule"), Got: raw(), Want: draw("want"), Message: draw("fault"),
		})
	})
	many(func() {
		e.Quotas = append(e.Quotas, recourse.Quota{
			Policy: draw("policy"), Limit: 7, Window: time.Hour, Remaining: -1, Partition: draw("partition"),
			ResetAt: time.UnixMilli(rapid.Int64Range(0, 1e12).Draw(t, "reset")).UTC(),
		})
	})
	many(func() { e.Succeeded = append(e.Succeeded, recourse.SucceededItem{ID: draw("succeeded"), Value: raw()}) })
	many(func() {
		e.Missing = append(e.Missing, recourse.MissingData{What: draw("what"), Impact: draw("impact"), Message: draw("why")})
	})
	if depth > 0 {
		many(func() {
			e.Failed = append(e.Failed, recourse.FailedItem{ID: draw("failed"), Error: drawError(t, depth-1, 20)})
		})
	}
	many(func() { e = e.WithDetail(draw("key"), draw("detail")) })
	return e
}

func FuzzRead(f *testing.F) {
	f.Add(marshal(f, complete()))
	f.Add([]byte(`{"kind":"partial","failed":[{"id":"1","error":{"KIND":"x","y":[]}}],"quotas":[{"limit":1e3}],"Kind":1}`))
	f.Add([]byte(`{"verify":{"tool":"t","args":{"a":1,"a":2}},"succeeded":[{"value":null}],"details":{"":null}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var e recourse.Error
		if json.Unmarshal(raw, &e) != nil {
			return
		}
		once, err := json.Marshal(&e)
		if err != nil || len(once) > recourse.MaxJSON {
			t.Fatalf("read %s, written as %d bytes: %v", raw, len(once), err)
		}
		var again recourse.Error
		if err := json.Unmarshal(once, &again); err != nil {
			t.Fatalf("read %s: %v", once, err)
		}
		if twice := marshal(t, &again); !bytes.Equal(once, twice) {
			t.Fatalf("once  %s\ntwice %s", once, twice)
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	e := complete()
	raw := marshal(b, e)
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = e.MarshalJSON()
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var e recourse.Error
			_ = e.UnmarshalJSON(raw)
		}
	})
}
