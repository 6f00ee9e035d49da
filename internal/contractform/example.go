package contractform

import (
	stdjson "encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Everything returns a record of that kind with every member set.
func Everything(kind recourse.Kind) *recourse.Error {
	raw := func(text string) stdjson.RawMessage { return stdjson.RawMessage(text) }
	item := func(id string) recourse.FailedItem {
		return recourse.FailedItem{ID: id, Error: recourse.Timeout("the provider", 0).WithHint("Try again later.").
			WithOrigin(recourse.OriginProvider).WithRetryAfter(3 * time.Second)}
	}
	e := recourse.New(kind, "A sentence about what happened.").
		WithHint("What to do first.").WithHint("What to do then.").
		WithRetryAfter(12*time.Second).WithEffect(recourse.EffectNone).WithEffectBasis(recourse.BasisKnown).
		WithVerify(recourse.Verify{Tool: "item_get", Args: recourse.Args{}.With("id", "A-17"), LookAt: "state"}).
		WithViolations(
			recourse.Violation{
				Pointer: "/range/from", Param: "range.from", Rule: "format", Got: raw(`"soon"`), Want: "a date", Message: "must be a date",
			},
			recourse.Violation{
				Pointer: "/limit", Param: "limit", Rule: "maximum", Got: raw(`500`), Want: "at most 100", Message: "must be at most 100",
			}).
		WithResource("item", "A-17").WithProvider("the provider").WithOrigin(recourse.OriginProvider).
		WithUpstream(recourse.Upstream{Code: "teapot", RequestID: "up-1"}).WithRequestID("req-1").
		WithDetail("note", "anything else")
	e.MissingScopes = []string{"read", "write"}
	e.Quotas = []recourse.Quota{
		{Policy: "minute", Limit: 100, Window: time.Minute, ResetAt: ExampleTime().Add(12 * time.Second), Partition: "org-1"},
		{Policy: "month", Limit: 17000, Window: 30 * 24 * time.Hour, Remaining: 4200, ResetAt: ExampleTime().Add(72 * time.Hour)},
	}
	e.Succeeded = []recourse.SucceededItem{{ID: "a", Value: raw(`{"done":true}`)}, {ID: "b", Value: raw(`{"done":true}`)}}
	e.Failed = []recourse.FailedItem{item("c"), item("d")}
	e.Missing = []recourse.MissingData{
		{What: "yield", Impact: "required", Message: "There is no yield data."},
		{What: "soil", Impact: "optional", Message: "There is no soil data."},
	}
	return e
}

// ExampleTime is the time at which examples take place.
func ExampleTime() time.Time { return time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC) }

// A Leaf is a value of the record's JSON form that is neither an object nor a list.
type Leaf struct{ Path, Value string }

// Leaves returns the leaves of a record's JSON form, in their order.
func Leaves(e *recourse.Error) []Leaf {
	raw, err := e.MarshalJSON()
	if err != nil {
		return nil
	}
	var list []Leaf
	var walk func(path string, raw []byte)
	walk = func(path string, raw []byte) {
		below := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
		if members := json.MembersOf(raw); members != nil {
			for _, m := range members {
				walk(below(m.Name), m.Value)
			}
			return
		}
		var items []stdjson.RawMessage
		if json.UnmarshalLenient(raw, &items) == nil && items != nil {
			for i, item := range items {
				walk(below(strconv.Itoa(i)), item)
			}
			return
		}
		list = append(list, Leaf{path, string(raw)})
	}
	walk("", raw)
	return list
}
