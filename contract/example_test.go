package contract_test

import (
	"fmt"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// Write a failure as a tool result in the form of a contract.
func ExampleContract_Write() {
	c := contract.MustBuiltin("fieldmcp")
	answer := c.Write(recourse.NotFound("field", "F-7"), &contract.Call{Method: "tools/call", Tool: "get_field"})
	fmt.Println(answer.Surface == contract.SurfaceResult)
	fmt.Println(answer.Record.Code, "-", answer.Record.Message)
	fmt.Println(answer.Record.Hints[0])
	// Output:
	// true
	// FIELD_NOT_FOUND - There is no field "F-7".
	// Use deere_list_resources with resourceType='fields' to find valid field IDs.
}

// Read a server's failure as a record.
func ExampleReader_Result() {
	reader := contract.Reader{Contracts: contract.Builtin().All(), Provider: "The farm"}
	reading, ok := reader.Result([]byte(`{
		"content": [{"type": "text", "text": "{\"error\":true,\"code\":\"FIELD_NOT_FOUND\",\"message\":\"No such field.\",\"retryable\":false}"}],
		"isError": true
	}`))
	fmt.Println(ok, reading.Contract.Name, reading.Error().Kind)
	fmt.Println(reading.Sign)
	// Output:
	// true fieldmcp not_found
	// JSON in the form of fieldmcp, code FIELD_NOT_FOUND
}

// Load a contract that extends another one.
func ExampleSet_Load() {
	shop, err := contract.Builtin().Load("shop.yaml", []byte(`
form: 1
name: shop
extends: recourse
codes:
- code: out_of_stock
  kind: conflict
  for: [{kind: conflict, upstream_code: OUT_OF_STOCK}]
  hint: Offer the customer another size, then call again.
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	failure := recourse.Conflict("There are no boots in size 43.").WithUpstream(recourse.Upstream{Code: "OUT_OF_STOCK"})
	answer := shop.Write(failure, &contract.Call{Method: "tools/call"})
	fmt.Println(answer.Record.Code)
	fmt.Println(answer.Record.Hints)
	// Output:
	// out_of_stock
	// [Offer the customer another size, then call again.]
}
