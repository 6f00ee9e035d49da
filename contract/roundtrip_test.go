package contract_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// each is the size of the sample for one form: one record in 13. Every kind, status, effect and origin still occurs,
// and each form gets other records.
const each = 13

// Writing, reading and writing again gives the same bytes.
func TestWriteReadWrite(t *testing.T) {
	t.Parallel()
	testWriteReadWrite(t)
}

// The remaining records.
func TestLongWriteReadWrite(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testWriteReadWrite(t)
}

func testWriteReadWrite(t *testing.T) {
	t.Helper()
	ways := contracttest.Calls()
	for row, c := range contracttest.Every(t) {
		for column, name := range slices.Sorted(maps.Keys(ways)) {
			call := ways[name]
			t.Run(c.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				for i, e := range contracttest.Records() {
					if !testkit.Sampled(t, i+row+column, each) {
						continue
					}
					first := c.Write(e, &call)
					again := c.Write(contracttest.ReadBack(t, c, first), &call)
					if diff := cmp.Diff(contracttest.Wire(first), contracttest.Wire(again)); diff != "" {
						t.Fatalf("%s %s %d %s:\n%s", e.Kind, e.Origin, e.Upstream.Status, e.Effect, diff)
					}
				}
			})
		}
	}
}

// The same holds without _meta, which some clients drop, in the forms whose own words say everything.
func TestWriteReadWriteWithoutMeta(t *testing.T) {
	t.Parallel()
	testWithoutMeta(t)
}

// The remaining records.
func TestLongWriteReadWriteWithoutMeta(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testWithoutMeta(t)
}

func testWithoutMeta(t *testing.T) {
	t.Helper()
	for row, c := range contracttest.Every(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			call := contracttest.ToolCall()
			for i, e := range contracttest.Records() {
				if !testkit.Sampled(t, i+row, each) {
					continue
				}
				first := contracttest.WithoutMeta(t, c.Write(e, &call))
				if len(first.Record.Hints) == 0 { // it says too little of the call for any advice, until it is read as another kind
					continue
				}
				again := contracttest.WithoutMeta(t, c.Write(contracttest.ReadBack(t, c, first), &call))
				if diff := cmp.Diff(contracttest.Wire(first), contracttest.Wire(again)); diff != "" {
					t.Fatalf("%s %s %d %s:\n%s", e.Kind, e.Origin, e.Upstream.Status, e.Effect, diff)
				}
			}
		})
	}
}

// anyRecord draws a record with members of any content.
func anyRecord() *rapid.Generator[*recourse.Error] {
	text := rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`[a-z "'\[\]{}|;:,.\\]{0,40}`),
		rapid.SampledFrom([]string{
			"", "line\nbreak\r\n", "a Suggestions: b; c", "x [envelope] {\"a\":1}", "[timeout] no", "{message}", "\u2028 ü \U0001F600",
			"\x00\xff", strings.Repeat("long ", 1000),
		}))
	raw := rapid.SampledFrom([]json.RawMessage{nil, []byte(`1`), []byte(` {"a" : [1, "x\n"]} `), []byte(`"ü"`), []byte(`{`), []byte("\"\xff\""), []byte(`1e999`)})
	words := rapid.SliceOfN(text, 0, 3)
	return rapid.Custom(func(t *rapid.T) *recourse.Error {
		e := recourse.New(rapid.SampledFrom(recourse.Kinds()).Draw(t, "kind"), text.Draw(t, "message"))
		e.Hints, e.MissingScopes = words.Draw(t, "hints"), words.Draw(t, "scopes")
		e.Provider, e.RequestID = text.Draw(t, "provider"), text.Draw(t, "request")
		e.Resource = recourse.Resource{Type: text.Draw(t, "type"), ID: text.Draw(t, "id")}
		e.RetryAfter = time.Duration(rapid.Int64Range(0, int64(recourse.MaxWait)).Draw(t, "after"))
		e.Origin = rapid.SampledFrom([]recourse.Origin{"", recourse.OriginGateway, recourse.OriginServer, recourse.OriginProvider}).Draw(t, "origin")
		e.Effect = rapid.SampledFrom([]recourse.Effect{"", recourse.EffectNone, recourse.EffectApplied, recourse.EffectUnknown}).Draw(t, "effect")
		e.Retry = rapid.SampledFrom([]recourse.Retry{"", recourse.RetrySameCall, recourse.RetryNever, recourse.RetryAfterFix}).Draw(t, "retry")
		e.Upstream = recourse.Upstream{Status: rapid.SampledFrom([]int{0, 404, 429, 500}).Draw(t, "status"), Code: text.Draw(t, "code")}
		for range rapid.IntRange(0, 2).Draw(t, "violations") {
			e.Violations = append(e.Violations, recourse.Violation{Param: text.Draw(t, "param"), Rule: text.Draw(t, "rule"), Got: raw.Draw(t, "got"), Want: text.Draw(t, "want")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "items") {
			e.Succeeded = append(e.Succeeded, recourse.SucceededItem{ID: text.Draw(t, "item"), Value: raw.Draw(t, "value")})
			e.Failed = append(e.Failed, recourse.FailedItem{ID: text.Draw(t, "item"), Error: recourse.New(rapid.SampledFrom(recourse.Kinds()).Draw(t, "item kind"), text.Draw(t, "item message"))})
			e.Missing = append(e.Missing, recourse.MissingData{What: text.Draw(t, "what"), Message: text.Draw(t, "missing")})
		}
		if name := text.Draw(t, "detail"); name != "" {
			e.Details = map[string]json.RawMessage{name: raw.Draw(t, "details")}
		}
		return e
	})
}

// The same holds for records with any content, and the result is JSON on one line.
func TestWriteReadWriteAnything(t *testing.T) {
	t.Parallel()
	testAnything(t)
}

// The remaining forms.
func TestLongWriteReadWriteAnything(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testAnything(t)
}

func testAnything(t *testing.T) {
	t.Helper()
	ways := contracttest.Calls()
	for row, c := range contracttest.Every(t) {
		for column, name := range slices.Sorted(maps.Keys(ways)) {
			if !testkit.Sampled(t, row+column, len(ways)) {
				continue
			}
			call := ways[name]
			t.Run(c.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(rt *rapid.T) {
					e := anyRecord().Draw(rt, "record")
					if e.Effect == recourse.EffectUnknown && e.Retry == recourse.RetrySameCall {
						e.Retry = "" // then the record says re_read, whatever the boolean on the wire
					}
					first := c.Write(e, &call)
					for _, raw := range [][]byte{first.Result, first.Data, first.Body} {
						if len(raw) > 0 && (!json.Valid(raw) || bytes.ContainsAny(raw, "\r\n")) {
							rt.Fatalf("not JSON on one line: %s", raw)
						}
					}
					again := c.Write(contracttest.ReadBack(t, c, first), &call)
					if cut := strings.Contains(contracttest.Wire(first), `"truncated":true`); cut {
						first, again = again, c.Write(contracttest.ReadBack(t, c, again), &call)
					}
					if diff := cmp.Diff(contracttest.Wire(first), contracttest.Wire(again)); diff != "" {
						rt.Fatalf("again (-first +again):\n%s", diff)
					}
					bare := contracttest.WithoutMeta(t, first)
					second := contracttest.WithoutMeta(t, c.Write(contracttest.ReadBack(t, c, bare), &call))
					third := contracttest.WithoutMeta(t, c.Write(contracttest.ReadBack(t, c, second), &call))
					if diff := cmp.Diff(contracttest.Wire(second), contracttest.Wire(third)); diff != "" {
						rt.Fatalf("without _meta (-second +third):\n%s", diff)
					}
				})
			})
		}
	}
}
