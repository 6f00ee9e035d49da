package contract_test

import (
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// SDKs check what a tool has returned, in the words in which they reject arguments: but then the tool has run.
func TestReturnedValueDoesNotMatch(t *testing.T) {
	t.Parallel()
	const issues = `[{"expected":"number","code":"invalid_type","path":["sum"],"message":"Invalid input: expected number, received string"}]`
	for _, text := range []string{
		"MCP error -32602: Output validation error: Invalid structured content for tool get_sum: " + issues,
		"MCP error -32602: Output validation error: Tool get_sum has an output schema but no structured content was provided",
		"Output validation error: 'sum' is a required property",
		"Error executing tool hset: 1 validation error for hsetOutput\nresult\n  Input should be a valid boolean [type=bool_parsing, " +
			"input_value='x', input_type=str]\n    For further information visit https://errors.pydantic.dev/2.14/v/bool_parsing",
		"MCP error -32602: Structured content does not match the tool's output schema: data must have required property 'sum'",
		"MCP error -32602: Tool get_sum has an output schema but did not return structured content",
		"Invalid structured content returned by tool get_sum: 'sum' is a required property",
		"Tool 'typed' structured output validation failed: n: Invalid input: expected number, received string. Please check the result " +
			"matches the tool's outputSchema.",
		"Tool typed returned invalid structured content: " + issues,
		"output schema validation failed: at '/sum': got string, want number",
		"Tool (get_sum) output validation failed: Validation failed: JSON schema validation errors: [/sum: string found, number expected]",
		"Tool call result validation failed: JSON schema validation errors: [/sum: string found, number expected]",
		"Response missing structured content which is expected when calling tool with non-empty outputSchema",
		"Error calling tool 'get_sum': Could not serialize the return value of tool 'get_sum' for its output schema: Unable to serialize " +
			"unknown type: <class 'object'>. If this is unexpected, set the tool's output_schema to None to disable automatic serialization.",
		"validating tool output: validating root: required: missing properties: [\"sum\"]",
	} {
		result, ok := (&contract.Reader{}).Result([]byte(`{"isError":true,"content":[{"type":"text","text":` + quote(t, text) + `}]}`))
		if !ok {
			t.Errorf("%q is read as a success", text)
			continue
		}
		for _, e := range []*recourse.Error{
			result.Error(), (&contract.Reader{}).RPC([]byte(`{"code":-32602,"message":` + quote(t, text) + `}`)).Error(),
		} {
			if e.Kind != recourse.KindBadResponse || e.Effect == recourse.EffectNone || len(e.Violations) > 0 {
				t.Errorf("%.70q is read as %s with effect %q and %v", text, e.Kind, e.Effect, e.Violations)
			}
		}
	}
}
