package contracttest

import (
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// Records returns a record of every kind, origin, upstream status and effect, with
// the members filled in that come with the kind.
func Records() []*recourse.Error {
	var list []*recourse.Error
	for _, kind := range recourse.Kinds() {
		for _, origin := range []recourse.Origin{recourse.OriginCaller, recourse.OriginGateway, recourse.OriginServer, recourse.OriginProvider} {
			for _, status := range []int{0, 408, 418, 429, 501, 503} {
				for _, effect := range []recourse.Effect{"", recourse.EffectNone, recourse.EffectUnknown} {
					e := Record(kind).WithOrigin(origin).WithUpstream(recourse.Upstream{Status: status}).WithEffect(effect)
					list = append(list, e)
				}
			}
		}
	}
	return list
}

// Record returns a record of that kind with every member that may come with it.
func Record(kind recourse.Kind) *recourse.Error {
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
		e.Quotas = []recourse.Quota{{Policy: "minute", Remaining: 0}, {Policy: "month", Remaining: 4200, ResetAt: Present().Add(72 * time.Hour)}}
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

// Calls are the ways in which an answer can be given.
func Calls() map[string]contract.Call {
	result, http, rpc, arguments, returned := ToolCall(), ToolCall(), ToolCall(), ToolCall(), ToolCall()
	http.HTTP = true
	rpc.Method = "prompts/get"
	arguments.At = contract.AtArguments
	returned.Tool = "chatbot_setup"
	return map[string]contract.Call{"result": result, "http": http, "rpc": rpc, "arguments": arguments, "returned": returned}
}
