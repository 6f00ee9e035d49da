package contract_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// A list of zod issues is reported as violations, wherever a server has put it; no client sees the list itself.
func TestIssues(t *testing.T) {
	t.Parallel()
	const updates = "[\n  {\n    \"code\": \"custom\",\n    \"message\": \"At least one field must be updated\",\n    \"path\": [\n      \"updates\"\n    ]\n  }\n]"
	const several = `[{"code":"invalid_type","expected":"string","received":"undefined","path":["updates","items",0,"sku"],"message":"Required"},` +
		`{"code":"too_small","minimum":1,"path":["updates","quantity"],"message":"Number must be greater than or equal to 1"}]`
	c := contract.MustBuiltin("commerce")
	known := contract.Reader{Contracts: []*contract.Contract{c}, Weak: c, Provider: "shop"}
	result := func(object string, isError bool) func(string) contract.Reading {
		return func(issues string) contract.Reading {
			reading, _ := known.Result(textResult(t, strings.Replace(object, "ISSUES", quote(t, issues), 1), isError))
			return reading
		}
	}
	for name, read := range map[string]func(issues string) contract.Reading{
		"text": func(issues string) contract.Reading {
			reading, _ := known.Result(textResult(t, issues, true))
			return reading
		},
		"success: false":          result(`{"success":false,"error":ISSUES}`, false),
		"success: false, message": result(`{"success":false,"error":{"code":"VALIDATION_ERROR","message":ISSUES}}`, false),
		"error 2001":              result(`{"code":2001,"message":ISSUES,"retryable":false}`, true),
		"JSON-RPC error 2001": func(issues string) contract.Reading {
			return known.RPC([]byte(`{"code":2001,"message":` + quote(t, issues) + `}`))
		},
		"JSON-RPC error -32602": func(issues string) contract.Reading {
			return known.RPC([]byte(`{"code":-32602,"message":` + quote(t, issues) + `}`))
		},
		"JSON-RPC error -32603": func(issues string) contract.Reading {
			return known.RPC([]byte(`{"code":-32603,"message":` + quote(t, issues) + `}`))
		},
		"JSON-RPC error -32000": func(issues string) contract.Reading {
			return known.RPC([]byte(`{"code":-32000,"message":` + quote(t, issues) + `}`))
		},
	} {
		for issues, want := range map[string][]string{
			updates: {"updates: At least one field must be updated.", "updates"},
			several: {"updates.items.0.sku: Required; updates.quantity: Number must be greater than or equal to 1.", "updates.items.0.sku", "updates.quantity"},
		} {
			e := read(issues).Error()
			if e == nil {
				t.Errorf("%s: %s is not read as a failure", name, issues)
				continue
			}
			got := []string{e.Message}
			for _, v := range e.Violations {
				got = append(got, v.Param)
			}
			if diff := cmp.Diff(want, got); diff != "" || e.Kind.Class() != recourse.ClassInput {
				t.Errorf("%s: %s, (-want +got):\n%s", name, e.Kind, diff)
			}
			call := contracttest.ToolCall()
			if a := c.Write(e, &call); strings.Contains(string(a.Result)+a.Message, "path") || !strings.Contains(string(a.Result), `"code":200`) {
				t.Errorf("%s: %s becomes %s%s", name, issues, a.Result, a.Message)
			}
		}
	}
}
