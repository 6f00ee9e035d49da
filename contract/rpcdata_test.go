package contract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// A JSON-RPC error is in the form of commerce by its code and its data, whatever else these hold, and whatever its sentence is: a
// missing parameter has the code for that.
func TestCommerceDataOfTheForm(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("commerce")
	r := contract.Reader{Provider: "Shop", Own: c, Contracts: contract.Builtin().All()}
	for said, want := range map[string]string{
		`{"code":-32602,"message":"order.email is required","data":{"field":"order.email","shop":7}}`:                                           `-32602 order.email is required; Provide order.email. {"field":"order.email","shop":7,"error":{"code":2002,`,
		`{"code":-32602,"message":"Bad","data":{"field":"order.email","error":{"code":2002,"message":"x","retryable":false,"own":3},"shop":7}}`: `-32602 Bad; Provide order.email. {"field":"order.email","error":{"code":2002,"message":"x","retryable":false,"own":3,`,
		`{"code":-32602,"message":"Invalid params","data":{"field":"order.email","error":"is required"}}`:                                       `-32602 Invalid params; Correct order.email. {"field":"order.email","error":"is required"}`,
		`{"code":-32602,"message":"Invalid params: note must be a valid email","data":{"field":"note"}}`:                                        `-32602 Invalid params: note must be a valid email; Correct the format of note. {"field":"note","error":{"code":2003,`,
		`{"code":-32602,"message":"Invalid params: a is required; b must be 1","data":{"field":"a"}}`:                                           `-32602 Invalid params: a is required; b must be 1; Provide a. {"field":"a","error":{"code":2002,`,
		`{"code":2001,"message":"order.email is required","data":{"field":"order.email"}}`:                                                      `{"code":2002,"message":"order.email is required"`,
		`{"code":2001,"message":"Validation failed","data":{"field":"order.email","reason":"must not be blank"}}`:                               `{"code":2002,"message":"Validation failed"`,
		`{"code":2001,"message":"Validation failed","data":{"field":"order.email","reason":"too many"}}`:                                        `{"code":2001,"message":"Validation failed"`,
	} {
		reading := r.RPC([]byte(said))
		answer := c.Write(reading.Error(), &contract.Call{
			Method: "tools/call",
			Relay:  contract.Relay{Original: []byte(said), OriginalAt: contract.SurfaceRPC, OriginalContract: reading.Contract},
		})
		got := fmt.Sprint(answer.RPCCode, " ", answer.Message, " ", string(answer.Data))
		if answer.Surface == contract.SurfaceResult {
			got = string(answer.Result)
			got = got[strings.Index(got, `"error":`)+len(`"error":`):]
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", said, got, want)
		}
	}
	if reading := r.RPC([]byte(`{"code":-32602,"message":"Invalid params","data":{"error":"boom"}}`)); reading.Contract != nil {
		t.Errorf("data without anything of the form were read as %s", reading.Sign)
	}
}

// The message tells of each violation, up to five.
func TestCommerceTellsAllViolations(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("commerce")
	for n, want := range map[int]string{
		1: "Invalid params: p1 is required", 2: "Invalid params: p1 is required; p2 is required",
		5: "Invalid params: p1 is required; p2 is required; p3 is required; p4 is required; p5 is required",
		7: "Invalid params: p1 is required; p2 is required; p3 is required; p4 is required; p5 is required",
	} {
		var list []recourse.Violation
		for i := range n {
			name := fmt.Sprintf("p%d", i+1)
			list = append(list, recourse.Violation{Param: name, Rule: "required", Message: name + " is required"})
		}
		e := recourse.New(recourse.KindMissingParam, "No.").WithViolations(list...)
		answer := c.Write(e, &contract.Call{Method: "tools/call", At: contract.AtArguments})
		if answer.Message != want+"; Provide p1." || strings.Count(string(answer.Data), `"reason":"required","message"`) != n {
			t.Errorf("%d: got %s %s", n, answer.Message, answer.Data)
		}
	}
}

// No contract of a server's tools has a word for a failure of the protocol: its record is in our own words then, not in those for an
// unexpected failure of a tool.
func TestProtocolFailuresAreOurs(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		for _, kind := range recourse.Kinds() {
			if kind.Class() != recourse.ClassProtocol {
				continue
			}
			for _, call := range []*contract.Call{{Method: "tools/call", HTTP: true, Protocol: true}, {Status: 400, HTTP: true}, {Status: 404, HTTP: true}} {
				record := c.Write(recourse.New(kind, "").WithOrigin(recourse.OriginCaller), call).Record
				if record.Contract != contract.Default || record.Code != string(kind) || c.Name != contract.Default && len(record.Hints) > 0 {
					t.Errorf("%s, %s, status %d: got %s of %s, %q", c.Name, kind, call.Status, record.Code, record.Contract, record.Hints)
				}
			}
		}
	}
}
