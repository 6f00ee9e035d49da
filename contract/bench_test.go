package contract_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// kilobyte returns a record of about 1 KB, like that of a failed call to a provider.
func kilobyte() *recourse.Error {
	return recourse.Unavailable("John Deere").WithRetryAfter(12*time.Second).WithOrigin(recourse.OriginProvider).
		WithEffect(recourse.EffectNone).WithRequestID("req-0123456789abcdef").
		WithUpstream(recourse.Upstream{Status: 503, Code: "maintenance", RequestID: "up-1"}).
		WithResource("field", "f-4711").
		WithViolations(recourse.Violation{
			Pointer: "/range/from", Param: "range.from", Rule: "format", Got: json.RawMessage(`"yesterday"`), Want: "a date",
			Message: "range.from must be a date",
		}).
		WithDetail("maintenance", map[string]string{"window": "02:00-04:00", "page": strings.Repeat("status ", 60)})
}

func BenchmarkWrite(b *testing.B) {
	for _, c := range contract.Builtin().All() {
		b.Run(c.Name, func(b *testing.B) {
			e := kilobyte()
			call := contract.Call{Method: "tools/call", Tool: "get_field"}
			b.ReportAllocs()
			for b.Loop() {
				c.Write(e, &call)
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, c := range contract.Builtin().All() {
		b.Run(c.Name, func(b *testing.B) {
			result := c.Write(kilobyte(), &contract.Call{Method: "tools/call", Tool: "get_field"}).Result
			reader := contract.Reader{Contracts: contract.Builtin().All()}
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := reader.Result(result); !ok {
					b.Fatal("not read as a failure")
				}
			}
		})
	}
}

// BenchmarkReadWild reads failures of about 1 KB that no contract defines: two that a family recognises, and one that
// is plain text.
func BenchmarkReadWild(b *testing.B) {
	rest := strings.Repeat(" The rest of the sentence says nothing of interest to anybody.", 14)
	for name, text := range map[string]string{
		"family": "An error occurred (ThrottlingException) when calling the Query operation: Rate exceeded" + rest,
		"object": `{"error":{"code":429,"message":"Busy.` + rest + `","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"12s"}]}}`,
		"prose":  "The silo on the north side is full." + rest,
	} {
		b.Run(name, func(b *testing.B) {
			quoted, err := json.Marshal(text)
			if err != nil {
				b.Fatal(err)
			}
			result := []byte(`{"content":[{"type":"text","text":` + string(quoted) + `}],"isError":true}`)
			reader := contract.Reader{Contracts: contract.Builtin().All()}
			reader.Result(result) // reads the families
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := reader.Result(result); !ok {
					b.Fatal("not read as a failure")
				}
			}
		})
	}
}
