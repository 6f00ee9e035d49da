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
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/testkit"
)

// records returns a record of every kind, origin, upstream status and effect, with
// the members filled in that come with the kind.
func records() []*recourse.Error {
	var list []*recourse.Error
	for _, kind := range recourse.Kinds() {
		for _, origin := range []recourse.Origin{recourse.OriginCaller, recourse.OriginGateway, recourse.OriginServer, recourse.OriginProvider} {
			for _, status := range []int{0, 408, 418, 429, 501, 503} {
				for _, effect := range []recourse.Effect{"", recourse.EffectNone, recourse.EffectUnknown} {
					e := full(kind).WithOrigin(origin).WithUpstream(recourse.Upstream{Status: status}).WithEffect(effect)
					list = append(list, e)
				}
			}
		}
	}
	return list
}

// full returns a record of that kind with every member that may come with it.
func full(kind recourse.Kind) *recourse.Error {
	e := recourse.New(kind, "").WithRequestID("req-1")
	switch kind.Class() {
	case recourse.ClassInput:
		e = e.WithViolations(recourse.Violation{
			Pointer: "/limit", Param: "limit", Rule: "maximum", Got: []byte("500"), Want: "at most 100", Message: "limit must be at most 100",
		})
	case recourse.ClassResource:
		e = e.WithResource("field", "xyz")
	case recourse.ClassAuth:
		e = e.WithProvider("John Deere")
		e.MissingScopes = []string{"ag1", "ag2"}
	case recourse.ClassAllowance:
		e = e.WithRetryAfter(12 * time.Second)
		e.Quotas = []recourse.Quota{{Policy: "minute", Remaining: 0}, {Policy: "month", Remaining: 4200, ResetAt: present().Add(72 * time.Hour)}}
	case recourse.ClassUpstream:
		e = e.WithProvider("John Deere").WithVerify(recourse.Verify{Tool: "order_get", Args: recourse.Args{}.With("reference", "A-17"), LookAt: "status"})
	case recourse.ClassData:
		e.Missing = []recourse.MissingData{{What: "yield", Impact: "required", Message: "No yield data for 2025."}}
	case recourse.ClassPartial:
		e.Succeeded = []recourse.Succeeded{{ID: "a", Value: []byte(`{"x":1}`)}}
		e.Failed = []recourse.Failed{{ID: "b", Error: recourse.Timeout("John Deere", 0)}, {ID: "c", Error: recourse.NotFound("field", "c")}}
	default:
	}
	return e
}

// calls are the ways in which an answer can be given.
func calls() map[string]contract.Call {
	result, http, rpc, arguments, returned := toolCall(), toolCall(), toolCall(), toolCall(), toolCall()
	http.HTTP = true
	rpc.Method = "prompts/get"
	arguments.At = contract.AtArguments
	returned.Tool = "chatbot_setup"
	return map[string]contract.Call{"result": result, "http": http, "rpc": rpc, "arguments": arguments, "returned": returned}
}

// each is one of how many records and ways to write one that make test runs: each status,
// effect and origin comes up with many kinds still.
const each = 5

// What was written, read and written again is the same, byte for byte.
func TestWriteReadWrite(t *testing.T) {
	t.Parallel()
	testWriteReadWrite(t)
}

// The same of all other records.
func TestLongWriteReadWrite(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testWriteReadWrite(t)
}

func testWriteReadWrite(t *testing.T) {
	t.Helper()
	for _, c := range everyContract(t) {
		for name, call := range calls() {
			t.Run(c.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				for i, e := range records() {
					if !testkit.Sampled(t, i, each) {
						continue
					}
					first := c.Write(e, &call)
					again := c.Write(readBack(t, c, first), &call)
					if diff := cmp.Diff(wire(first), wire(again)); diff != "" {
						t.Fatalf("%s %s %d %s:\n%s", e.Kind, e.Origin, e.Upstream.Status, e.Effect, diff)
					}
				}
			})
		}
	}
}

// So it is without the record in _meta, which some clients drop, in the forms that
// say all of what they say in their own words.
func TestWriteReadWriteWithoutMeta(t *testing.T) {
	t.Parallel()
	testWithoutMeta(t)
}

// The same of all other records.
func TestLongWriteReadWriteWithoutMeta(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testWithoutMeta(t)
}

func testWithoutMeta(t *testing.T) {
	t.Helper()
	for _, c := range everyContract(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			call := toolCall()
			for i, e := range records() {
				if !testkit.Sampled(t, i, each) {
					continue
				}
				first := withoutMeta(t, c.Write(e, &call))
				again := withoutMeta(t, c.Write(readBack(t, c, first), &call))
				if diff := cmp.Diff(wire(first), wire(again)); diff != "" {
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
			e.Succeeded = append(e.Succeeded, recourse.Succeeded{ID: text.Draw(t, "item"), Value: raw.Draw(t, "value")})
			e.Failed = append(e.Failed, recourse.Failed{ID: text.Draw(t, "item"), Error: recourse.New(rapid.SampledFrom(recourse.Kinds()).Draw(t, "item kind"), text.Draw(t, "item message"))})
			e.Missing = append(e.Missing, recourse.MissingData{What: text.Draw(t, "what"), Message: text.Draw(t, "missing")})
		}
		if name := text.Draw(t, "detail"); name != "" {
			e.Details = map[string]json.RawMessage{name: raw.Draw(t, "details")}
		}
		return e
	})
}

// The same holds whatever stands in a record, and what is written is JSON on one
// line.
func TestWriteReadWriteAnything(t *testing.T) {
	t.Parallel()
	testAnything(t)
}

// The same of the other ways to write it.
func TestLongWriteReadWriteAnything(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testAnything(t)
}

func testAnything(t *testing.T) {
	t.Helper()
	ways := calls()
	for row, c := range everyContract(t) {
		for column, name := range slices.Sorted(maps.Keys(ways)) {
			if !testkit.Sampled(t, row+column, each) {
				continue
			}
			call := ways[name]
			t.Run(c.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(rt *rapid.T) {
					e := anyRecord().Draw(rt, "record")
					if e.Effect == recourse.EffectUnknown && e.Retry == recourse.RetrySameCall {
						e.Retry = "" // the record then says re_read, whatever the wire's boolean is
					}
					first := c.Write(e, &call)
					for _, raw := range [][]byte{first.Result, first.Data, first.Body} {
						if len(raw) > 0 && (!json.Valid(raw) || bytes.ContainsAny(raw, "\r\n")) {
							rt.Fatalf("not JSON on one line: %s", raw)
						}
					}
					again := c.Write(readBack(t, c, first), &call)
					if cut := strings.Contains(wire(first), `"truncated":true`); cut {
						first, again = again, c.Write(readBack(t, c, again), &call)
					}
					if diff := cmp.Diff(wire(first), wire(again)); diff != "" {
						rt.Fatalf("again (-first +again):\n%s", diff)
					}
					bare := withoutMeta(t, first)
					second := withoutMeta(t, c.Write(readBack(t, c, bare), &call))
					third := withoutMeta(t, c.Write(readBack(t, c, second), &call))
					if diff := cmp.Diff(wire(second), wire(third)); diff != "" {
						rt.Fatalf("without _meta (-second +third):\n%s", diff)
					}
				})
			})
		}
	}
}
