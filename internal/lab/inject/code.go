package inject

import (
	"fmt"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/retry"
)

// inForm writes the failure as the contract does; number is one that was drawn for the call.
func (f *Fault) inForm(c *intercept, number uint64) contract.Answer {
	described := &contract.Call{
		Method: c.method, Tool: c.tool, Arguments: []byte(c.arguments), At: contract.AtTool, HTTP: c.http, ResultType: c.modern,
	}
	return f.contract.Write(f.record(described, number), described)
}

// record returns the failure, with what belongs to its kind.
func (f *Fault) record(c *contract.Call, number uint64) *recourse.Error {
	form := contractform.Of(f.contract).Words[string(f.Code)]
	e := withConstants(recourse.New(form.Kind, f.Message), form.Set).WithCode(f.contract.Name, string(f.Code)).
		WithRequestID(fmt.Sprintf("req-%016x", number))
	if e.Origin == "" {
		e = e.WithOrigin(recourse.OriginServer)
	}
	e = withParticulars(e)
	if f.Wait > 0 {
		e = e.WithRetryAfter(f.Wait)
	}
	nature := retry.Writes
	if f.contract.Reads(c.Tool) {
		nature = retry.Reads
	}
	e = e.WithEffect(retry.Effect(e, nature))
	if verify := f.contract.VerifyFor(c); verify != nil && e.Effect == recourse.EffectUnknown {
		e = e.WithVerify(*verify)
	}
	return e
}

// withParticulars fills in what a failure of that kind says in most contracts.
func withParticulars(e *recourse.Error) *recourse.Error {
	const provider = "the provider"
	switch e.Kind.Class() {
	case recourse.ClassInput:
		e = e.WithViolations(recourse.Violation{Pointer: "/id", Param: "id", Rule: "required", Message: "id is required"})
	case recourse.ClassResource:
		e = e.WithResource("item", "A-17")
	case recourse.ClassAuth:
		e = e.WithProvider(provider)
	case recourse.ClassAllowance:
		e = e.WithRetryAfter(2 * time.Second)
	case recourse.ClassUpstream:
		e = e.WithProvider(provider).WithOrigin(recourse.OriginProvider)
	case recourse.ClassData:
		e = e.With(func(e *recourse.Error) {
			e.Missing = []recourse.MissingData{{What: "data", Impact: "required", Message: "There is no data."}}
		})
	case recourse.ClassPartial:
		e = e.With(func(e *recourse.Error) {
			e.Succeeded = []recourse.SucceededItem{{ID: "a", Value: []byte(`{}`)}}
			e.Failed = []recourse.FailedItem{{ID: "b", Error: recourse.Timeout(provider, 0)}}
		})
	default:
	}
	return e
}

// withConstants sets what the code says beyond its kind, by paths into the record's JSON form.
func withConstants(e *recourse.Error, constants []contractform.Constant) *recourse.Error {
	if len(constants) == 0 {
		return e
	}
	raw, err := e.MarshalJSON()
	if err != nil {
		return e
	}
	for _, k := range constants {
		raw = put(raw, strings.Split(k.Path, "."), k.Value)
	}
	set := new(recourse.Error)
	if set.UnmarshalJSON(raw) != nil {
		return e
	}
	return set
}

// put sets a member of an object, or of an object in it.
func put(object json.Value, path []string, value json.Value) json.Value {
	members := json.MembersOf(object)
	if len(path) > 1 {
		value = put(json.Lookup(object, json.Pointer("/"+path[0])), path[1:], value)
	}
	for i := range members {
		if members[i].Name == path[0] {
			members[i].Value = value
			return members.AppendTo(nil)
		}
	}
	members.Add(path[0], value)
	return members.AppendTo(nil)
}
