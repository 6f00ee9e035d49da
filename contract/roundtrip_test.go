package contract_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// present is the clock of the tests.
func present() time.Time { return time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC) }

// records returns a record of every kind, origin and upstream status, with the
// members filled in that come with the kind.
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
		e = e.WithAfter(12 * time.Second)
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

func eachSurface(t *testing.T, test func(t *testing.T, c *contract.Contract, call contract.Call)) {
	t.Helper()
	for _, c := range contract.Builtin().All() {
		for name, call := range map[string]contract.Call{
			"result": {Method: "tools/call", Tool: "get_field"},
			"http":   {Method: "tools/call", Tool: "get_field", HTTP: true},
			"rpc":    {Method: "prompts/get"},
		} {
			call.Now = present
			t.Run(c.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				test(t, c, call)
			})
		}
	}
}

// read reads an answer back as a client would.
func read(t *testing.T, c *contract.Contract, a contract.Answer) *recourse.Error {
	t.Helper()
	r := contract.Reader{Contracts: []*contract.Contract{c}, Trusted: true}
	var reading contract.Reading
	switch a.Surface {
	case contract.SurfaceResult:
		var ok bool
		if reading, ok = r.Result(a.Result); !ok {
			t.Fatalf("not read as a failure: %s", a.Result)
		}
	case contract.SurfaceRPC:
		reading = r.RPC(fmt.Appendf(nil, `{"code":%d,"message":%q,"data":%s}`, a.Code, a.Message, a.Data))
	case contract.SurfaceHTTP:
		reading = r.HTTP(a.Status, a.Header, a.Body)
	}
	e := reading.Error()
	if e == nil {
		t.Fatalf("no record in %+v", reading)
	}
	return e
}

func wire(a contract.Answer) string {
	return fmt.Sprintf("%d %v\n%s%s\n%d %s %s", a.Status, a.Header, a.Result, a.Body, a.Code, a.Message, a.Data)
}

// What was written, read and written again is the same, byte for byte.
func TestWriteReadWrite(t *testing.T) {
	t.Parallel()
	eachSurface(t, func(t *testing.T, c *contract.Contract, call contract.Call) {
		for _, e := range records() {
			first := c.Write(e, &call)
			again := c.Write(read(t, c, first), &call)
			if diff := cmp.Diff(wire(first), wire(again)); diff != "" {
				t.Fatalf("%s %s %d %s:\n%s", e.Kind, e.Origin, e.Upstream.Status, e.Effect, diff)
			}
		}
	})
}

// So it is without the record in _meta, which some clients drop.
func TestWriteReadWriteWithoutMeta(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			call := contract.Call{Method: "tools/call", Tool: "get_field", Now: present}
			for _, e := range records() {
				first := c.Write(e, &call)
				if first.Surface != contract.SurfaceResult {
					continue
				}
				first.Result = withoutMeta(t, first.Result)
				again := c.Write(read(t, c, first), &call)
				if diff := cmp.Diff(string(first.Result), string(withoutMeta(t, again.Result))); diff != "" {
					t.Fatalf("%s %s %d %s:\n%s", e.Kind, e.Origin, e.Upstream.Status, e.Effect, diff)
				}
			}
		})
	}
}

func withoutMeta(t *testing.T, result []byte) []byte {
	t.Helper()
	var m struct {
		Content           any `json:"content"`
		StructuredContent any `json:"structuredContent,omitempty"`
		IsError           any `json:"isError"`
	}
	unmarshal(t, result, &m)
	return marshal(t, m)
}

var _ = http.StatusOK
