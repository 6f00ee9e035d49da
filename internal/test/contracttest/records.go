package contracttest

import (
	"fmt"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// Records returns a record for every kind, origin, upstream status and effect, with the members that belong to the
// kind.
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

// Record returns a record of that kind with every member that it can have.
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
		e.Succeeded = []recourse.SucceededItem{{ID: "a", Value: []byte(`{"x":1}`)}}
		e.Failed = []recourse.FailedItem{{ID: "b", Error: recourse.Timeout("John Deere", 0)}, {ID: "c", Error: recourse.NotFound("field", "c")}}
	default:
	}
	return e
}

// Calls are calls whose failures are written differently.
func Calls() map[string]contract.Call {
	result, http, rpc, arguments, returned := ToolCall(), ToolCall(), ToolCall(), ToolCall(), ToolCall()
	http.HTTP = true
	rpc.Method = "prompts/get"
	arguments.At = contract.AtArguments
	returned.Tool = "chatbot_setup"
	return map[string]contract.Call{"result": result, "http": http, "rpc": rpc, "arguments": arguments, "returned": returned}
}

// Batch returns a batch of n items, of which every second one failed; the values and ids have about a kilobyte each.
func Batch(n int) *recourse.Error {
	var succeeded []recourse.SucceededItem
	var failed []recourse.FailedItem
	for i := range n {
		if i%2 == 0 {
			value := fmt.Appendf(nil, `{"n":%d,"note":%q}`, i, strings.Repeat("yield ", 170))
			succeeded = append(succeeded, recourse.SucceededItem{ID: fmt.Sprint("FLD-", i), Value: value})
			continue
		}
		id := fmt.Sprint("FLD-", i, "-", strings.Repeat("x", 1500))
		item := recourse.NotFound("field", id)
		if i%4 == 1 {
			item = recourse.Timeout("John Deere", 0).WithOrigin(recourse.OriginProvider)
		}
		failed = append(failed, recourse.FailedItem{ID: id, Error: item})
	}
	return recourse.Partial(succeeded, failed)
}

// Items describes a batch in one line per item.
func Items(e *recourse.Error) []string {
	var items []string
	for _, s := range e.Succeeded {
		items = append(items, s.ID+" "+string(s.Value))
	}
	for _, f := range e.Failed {
		items = append(items, fmt.Sprintf("%s %s %t", f.ID, f.Error.Kind, f.Error.RetryAdvice() == recourse.RetrySameCall))
	}
	return items
}
