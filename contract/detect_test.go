package contract_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// A said is what a reader makes of a failure, without its texts.
type said struct {
	Kind       recourse.Kind
	Origin     recourse.Origin
	Effect     recourse.Effect
	Retry      recourse.Retry
	After      time.Duration
	Status     int
	Code       string
	Violations []string // "param: rule want"
}

func told(e *recourse.Error) said {
	s := said{
		Kind: e.Kind, Origin: e.Origin, Effect: e.Effect, Retry: e.RetryAdvice(), After: e.RetryAfter,
		Status: e.Upstream.Status, Code: e.Upstream.Code,
	}
	if e.EffectBasis == recourse.BasisStated {
		s.Effect += onWord
	}
	for _, v := range e.Violations {
		s.Violations = append(s.Violations, strings.TrimSpace(v.Param+": "+v.Rule+" "+v.Want))
	}
	return s
}

// argument is a failure because a server has refused arguments.
func argument(kind recourse.Kind, code string, violations ...string) said {
	return said{
		Kind: kind, Origin: recourse.OriginCaller, Effect: recourse.EffectNone, Retry: recourse.RetryAfterFix,
		Code: code, Violations: violations,
	}
}

// onWord marks an effect that rests on the server's word.
const onWord = ", on its word"

// onItsWord is s if only the server says whether the call took effect.
func (s said) onItsWord() said {
	if s.Effect != "" {
		s.Effect += onWord
	}
	return s
}

func reader() *contract.Reader { return &contract.Reader{Contracts: contract.Builtin().All()} }

// SDKs' texts in tool results.
func TestReadTextsOfSDKs(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want said
	}{
		"TypeScript 1.x, unknown tool": {
			"MCP error -32602: Tool get_feild not found", argument(recourse.KindUnknownTool, "-32602"),
		},
		"TypeScript 1.x, disabled tool": {
			"MCP error -32602: Tool get_field disabled", argument(recourse.KindUnknownTool, "-32602"),
		},
		"TypeScript 1.x, arguments as JSON": {
			`MCP error -32602: Input validation error: Invalid arguments for tool get_field: [
  {
    "code": "invalid_type",
    "expected": "string",
    "received": "undefined",
    "path": [
      "id"
    ],
    "message": "Required"
  },
  {
    "code": "invalid_type",
    "expected": "number",
    "received": "string",
    "path": [
      "range",
      0
    ],
    "message": "Expected number, received string"
  },
  {"code": "unrecognized_keys", "keys": ["a", "b"], "path": [], "message": "Unrecognized key(s) in object: 'a', 'b'"}
]`,
			argument(recourse.KindMissingParam, "-32602", "id: required string", "range.0: type number", "a: additionalProperties", "b: additionalProperties"),
		},
		"TypeScript 1.32, a line for each issue": {
			"MCP error -32602: Input validation error: Invalid arguments for tool get_field: Invalid input: expected number, received string at limit\n" +
				"Invalid option: expected one of \"a\"|\"b\" at mode\nInvalid input: expected string, received number at tags[1]\nUnrecognized keys: \"zz\", \"yy\"",
			argument(recourse.KindInvalidType, "-32602", "limit: type number", "tags.1: type string", `mode: enum one of "a"|"b"`, "zz: additionalProperties", "yy: additionalProperties"),
		},
		"TypeScript 2.4, all issues in one line": {
			"Input validation error: Invalid arguments for tool get_field: id: Invalid input: expected string, received undefined, limit: Too big: expected number to be <=100, range.from: Invalid ISO datetime",
			argument(recourse.KindMissingParam, "", "id: required string", "limit: maximum number to be <=100", "range.from: format"),
		},
		"TypeScript, another failure": {
			"MCP error -32603: connect ECONNREFUSED 10.0.0.1:5432",
			said{Kind: recourse.KindUnreachable, Origin: recourse.OriginServer, Effect: recourse.EffectNone, Retry: recourse.RetrySameCall, Code: "ECONNREFUSED"},
		},
		"TypeScript, wrapped twice": {
			"MCP error -32000: MCP error -32602: Tool x not found", argument(recourse.KindUnknownTool, "-32000"),
		},
		"Go SDK, missing": {
			`validating "arguments": validating root: required: missing properties: ["id" "org"]`,
			argument(recourse.KindMissingParam, "", "id: required", "org: required"),
		},
		"Go SDK, type": {
			`validating "arguments": validating root: validating /properties/o: validating /properties/o/properties/p: type: 1 has type "integer", want one of "string, null"`,
			argument(recourse.KindInvalidType, "", "o.p: type one of string, null"),
		},
		"Go SDK, maximum": {
			`validating "arguments": validating root: validating /properties/limit: maximum: 500/1 is greater than 100.000000`,
			argument(recourse.KindInvalidValue, "", "limit: maximum"),
		},
		"Go SDK, enum with a colon in it": {
			`validating "arguments": validating root: validating /properties/e: enum: z: y does not equal any of: [a b]`,
			argument(recourse.KindInvalidValue, "", "e: enum"),
		},
		"Go SDK, unknown": {
			`validating "arguments": validating root: unexpected additional properties ["zz" "yy"]`,
			argument(recourse.KindUnknownParam, "", "zz: additionalProperties", "yy: additionalProperties"),
		},
		"Go SDK, the arguments as a whole": {
			`validating "arguments": validating root: type: [] has type "array", want "object"`, argument(recourse.KindInvalidValue, ""),
		},
		"Python, unknown tool": {"Unknown tool: get_feild", argument(recourse.KindUnknownTool, "")},
		"Python, arguments": {
			"Error executing tool get_field: 2 validation errors for get_fieldArguments\nid\n  Field required [type=missing, input_value={'limit': 'x'}, input_type=dict]\n" +
				"    For further information visit https://errors.pydantic.dev/2.11/v/missing\nrange.0\n  Input should be a valid integer, unable to parse string as an integer [type=int_parsing, input_value='x', input_type=str]\n",
			argument(recourse.KindMissingParam, "", "id: required", "range.0: type integer"),
		},
		"Go, with the name of the JSON-RPC error": {
			`invalid params: validating "arguments": validating root: required: missing properties: ["org"]`,
			argument(recourse.KindMissingParam, "", "org: required"),
		},
		"Ajv, what is missing is told first": {
			"Validation failed: data/orgs/0/id must be string, data must have required property 'from'",
			argument(recourse.KindMissingParam, "", "from: required", "orgs.0.id: type string"),
		},
		"Python, a tool that raises": {
			"Error executing tool get_field: it broke", said{Kind: recourse.KindUnknown, Origin: recourse.OriginServer, Retry: recourse.RetryReRead},
		},
		"a prefix in bold": {
			"**Error:** it broke", said{Kind: recourse.KindUnknown, Origin: recourse.OriginServer, Retry: recourse.RetryReRead},
		},
		"prose": {
			"The tool validating \"arguments\": x stopped", said{Kind: recourse.KindUnknown, Origin: recourse.OriginServer, Retry: recourse.RetryReRead},
		},
		"nothing": {"", said{Kind: recourse.KindUnknown, Origin: recourse.OriginServer, Retry: recourse.RetryReRead}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reading, ok := reader().Result(textResult(t, tt.text, true))
			if !ok {
				t.Fatal("not read as a failure")
			}
			if diff := cmp.Diff(tt.want.onItsWord(), told(reading.Error())); diff != "" {
				t.Errorf("by %s (-want +got):\n%s", reading.Sign, diff)
			}
			if _, ok := reader().Result(textResult(t, tt.text, false)); ok {
				t.Error("a success is read as a failure")
			}
		})
	}
}

// At most twenty violations are taken from a server's text, in every form.
func TestViolationsOfTextsAreBounded(t *testing.T) {
	t.Parallel()
	var issues, places []string
	for i := range 30 {
		issues = append(issues, fmt.Sprintf(`{"code":"invalid_type","expected":"string","received":"undefined","path":["p%d"],"message":"Required"}`, i))
		places = append(places, fmt.Sprintf("Invalid input: expected number, received string at p%d", i))
	}
	for name, text := range map[string]string{"JSON": "[" + strings.Join(issues, ",") + "]", "lines": strings.Join(places, "\n")} {
		said := "MCP error -32602: Input validation error: Invalid arguments for tool x: " + text
		reading, ok := reader().Result(textResult(t, said, true))
		if !ok || len(reading.Error().Violations) != 20 {
			t.Errorf("%s: %+v", name, reading.Error())
		}
	}
}

// JSON-RPC errors by code, text and data.
func TestReadRPC(t *testing.T) {
	t.Parallel()
	server := func(kind recourse.Kind, effect recourse.Effect, code string) said {
		return said{Kind: kind, Origin: recourse.OriginServer, Effect: effect, Retry: kind.Retry(), Code: code}
	}
	tests := map[string]struct {
		raw  string
		want said
	}{
		"parse error": {`{"code":-32700,"message":"Parse error"}`, server(recourse.KindMalformed, recourse.EffectNone, "-32700")},
		"thrown by a tool": {
			`{"code":-32600,"message":"MCP error -32600: Failed to create the order: the shop's API timed out"}`,
			server(recourse.KindTimeout, "", "-32600"),
		},
		"its state": {
			`{"code":-32600,"message":"No active project. Call open_project first."}`,
			server(recourse.KindInvalidState, recourse.EffectNone, "-32600"),
		},
		"invalid request":  {`{"code":-32600,"message":"Invalid Request"}`, server(recourse.KindInvalidRequest, recourse.EffectNone, "-32600")},
		"unknown method":   {`{"code":-32601,"message":"Method x not found"}`, server(recourse.KindUnknownMethod, recourse.EffectNone, "-32601")},
		"bad params":       {`{"code":-32602,"message":"orgId has to be a number"}`, server(recourse.KindInvalidValue, recourse.EffectNone, "-32602")},
		"internal":         {`{"code":-32603,"message":"it broke"}`, server(recourse.KindInternal, "", "-32603")},
		"resource":         {`{"code":-32002,"message":"Resource not found"}`, server(recourse.KindNotFound, "", "-32002")},
		"header mismatch":  {`{"code":-32020,"message":"x"}`, server(recourse.KindHeaderMismatch, recourse.EffectNone, "-32020")},
		"capability":       {`{"code":-32021,"message":"x"}`, server(recourse.KindMissingCapability, recourse.EffectNone, "-32021")},
		"version":          {`{"code":-32022,"message":"x","data":{"supported":["2025-11-25"]}}`, server(recourse.KindUnsupportedVersion, recourse.EffectNone, "-32022")},
		"a server's code":  {`{"code":2001,"message":"bad argument"}`, server(recourse.KindUnknown, "", "2001")},
		"code 0":           {`{"code":0,"message":"it broke"}`, server(recourse.KindUnknown, "", "0")},
		"code as a text":   {`{"code":"E1","message":"it broke"}`, server(recourse.KindUnknown, "", "E1")},
		"message of JSON":  {`{"code":-32603,"message":{"a":1}}`, server(recourse.KindInternal, "", "-32603")},
		"nothing":          {`{}`, server(recourse.KindBadResponse, "", "")},
		"an array":         {`[1]`, server(recourse.KindBadResponse, "", "")},
		"Go SDK, tool":     {`{"code":-32602,"message":"unknown tool \"x\""}`, argument(recourse.KindUnknownTool, "-32602")},
		"mcp-go, tool":     {`{"code":-32602,"message":"tool 'x' not found: tool not found"}`, argument(recourse.KindUnknownTool, "-32602")},
		"TypeScript, tool": {`{"code":-32602,"message":"Tool x not found"}`, argument(recourse.KindUnknownTool, "-32602")},
		"old github server, arguments": {
			`{"code":-32603,"message":"[\n  {\n    \"code\": \"invalid_type\",\n    \"expected\": \"string\",\n    \"received\": \"undefined\",\n    \"path\": [\n      \"owner\"\n    ],\n    \"message\": \"Required\"\n  }\n]"}`,
			argument(recourse.KindMissingParam, "-32603", "owner: required string").onItsWord(),
		},
		"data with a wait": {
			`{"code":-32000,"message":"busy","data":{"retryable":true,"retryAfterMs":7000}}`,
			said{Kind: recourse.KindUnknown, Origin: recourse.OriginServer, Retry: recourse.RetrySameCall, After: 7 * time.Second, Code: "-32000"},
		},
		"data with a status and seconds": {
			`{"code":-32603,"message":"busy","data":{"httpStatus":429,"retryAfter":7}}`,
			said{Kind: recourse.KindRateLimited, Origin: recourse.OriginServer, Effect: recourse.EffectNone + onWord, Retry: recourse.RetrySameCall, After: 7 * time.Second, Status: 429, Code: "-32603"},
		},
		"data that forbids": {
			`{"code":-32603,"message":"down","data":{"status":503,"retryable":false}}`,
			said{Kind: recourse.KindUnavailable, Origin: recourse.OriginServer, Retry: recourse.RetryNever, Status: 503, Code: "-32603"},
		},
		"data with an absurd wait": {
			`{"code":-32000,"message":"busy","data":{"retryAfterMs":1e300}}`,
			said{Kind: recourse.KindUnknown, Origin: recourse.OriginServer, Retry: recourse.RetryNever, After: recourse.MaxWait, Code: "-32000"},
		},
		"data with a negative wait and wrong types": {
			`{"code":-32000,"message":"busy","data":{"retryAfterMs":-1,"retryable":"yes","status":"429","requestId":7}}`,
			said{Kind: recourse.KindRateLimited, Origin: recourse.OriginServer, Effect: "none, on its word", Retry: recourse.RetrySameCall, Status: 429, Code: "-32000"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reading := reader().RPC([]byte(tt.raw))
			if diff := cmp.Diff(tt.want, told(reading.Error())); diff != "" {
				t.Errorf("by %s (-want +got):\n%s", reading.Sign, diff)
			}
		})
	}
}

// Objects that identify themselves as a failure or a question.
func TestReadObjects(t *testing.T) {
	t.Parallel()
	const toolError = `{"kind":"toolError:v1","code":"NETWORK_ERROR","message":"Request timeout","retryable":true,"details":{"statusCode":504}}`
	timedOut := said{Kind: recourse.KindTimeout, Origin: recourse.OriginServer, Retry: recourse.RetrySameCall, Status: 504}
	commerce := said{Kind: recourse.KindUnavailable, Origin: recourse.OriginServer, Retry: recourse.RetrySameCall}
	tests := map[string]struct {
		result string
		want   said
	}{
		"toolError:v1 in the text":             {string(textResult(t, toolError, false)), timedOut},
		"toolError:v1 in the second text":      {`{"content":[{"type":"text","text":"Request timeout"},{"type":"text","text":` + quote(t, toolError) + `}]}`, timedOut},
		"toolError:v1 in structuredContent":    {`{"content":[],"structuredContent":` + toolError + `}`, timedOut},
		"result.error":                         {`{"error":{"code":4002,"message":"down","retryable":true}}`, commerce},
		"result.error beside odd members":      {`{"content":"none","isError":"no","error":{"code":4002,"message":"down","retryable":true}}`, commerce},
		"result.error with the last one valid": {`{"error":null,"error":{"code":4002,"message":"down","retryable":true}}`, commerce},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reading, ok := reader().Result([]byte(tt.result))
			if !ok {
				t.Fatal("not read as a failure")
			}
			if diff := cmp.Diff(tt.want, told(reading.Error())); diff != "" {
				t.Errorf("by %s (-want +got):\n%s", reading.Sign, diff)
			}
		})
	}
}

func quote(t *testing.T, text string) string {
	t.Helper()
	return string(contracttest.Marshal(t, text))
}

func TestReadNeedsInput(t *testing.T) {
	t.Parallel()
	const question = `{"kind":"needsInput:v1","type":"elicitation","message":"Which one?","needsInput":{"fields":["id"],"reason":"ambiguous","suggestions":{"id":["a","b"]}},` +
		`"options":[{"label":"A","value":"a","field":"id"}]}`
	want := &recourse.NeedsInput{
		Message: "Which one?", Reason: "ambiguous", Fields: []string{"id"},
		Suggestions: map[string][]string{"id": {"a", "b"}}, Options: []recourse.Option{{Label: "A", Value: "a", Field: "id"}},
	}
	for _, isError := range []bool{false, true} {
		reading, ok := reader().Result(textResult(t, question, isError))
		if !ok || reading.Error() != nil {
			t.Fatalf("not read as a question: %+v", reading)
		}
		if diff := cmp.Diff(want, reading.Failure); diff != "" {
			t.Errorf("question (-want +got):\n%s", diff)
		}
	}
	reading, ok := reader().Result(textResult(t, `{"kind":"needsInput:v1","message":7,"needsInput":[],"options":3}`, false))
	if !ok || reading.Failure.Error() != "7" {
		t.Errorf("a question with odd members: %+v", reading)
	}
}

// A result that claims success is a success, unless the server is known to follow a contract in which it is a failure.
func TestReadWeakSigns(t *testing.T) {
	t.Parallel()
	fieldmcp, ours := contract.MustBuiltin("fieldmcp"), contract.MustBuiltin("recourse")
	const fieldError = `{"error":true,"code":"FIELD_NOT_FOUND","message":"field 'xyz' not found","retryable":false}`
	tests := map[string]struct {
		text string
		weak *contract.Contract
		want recourse.Kind // empty: a success
	}{
		"success false":                        {`{"success":false,"reason":"declined"}`, nil, ""},
		"success false, of another contract":   {`{"success":false,"reason":"declined"}`, fieldmcp, ""},
		"error true":                           {fieldError, nil, ""},
		"error true, known":                    {fieldError, fieldmcp, recourse.KindNotFound},
		"error true, of another contract":      {fieldError, ours, ""},
		"error false, known":                   {`{"error":false,"data":1}`, fieldmcp, ""},
		"a code in brackets":                   {"[timeout] too late", nil, ""},
		"a code in brackets, known":            {"[timeout] too late", ours, recourse.KindTimeout},
		"an unlisted code in brackets, known":  {"[note] too late", ours, ""},
		"a sentence, known":                    {"Sorry: request context is unavailable", contracttest.Load(t, "clinic"), recourse.KindInternal},
		"a prefix, known":                      {"Network error: none today", contracttest.Load(t, "library"), ""},
		"a number and a message, known":        {`{"code":200,"message":"done"}`, contracttest.Load(t, "shop"), ""},
		"a listed number and a message, known": {`{"code":3001,"message":"slow down"}`, contracttest.Load(t, "shop"), recourse.KindRateLimited},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reader()
			if r.Weak = tt.weak; tt.weak != nil {
				r.Contracts = append([]*contract.Contract{tt.weak}, r.Contracts...)
			}
			reading, ok := r.Result(textResult(t, tt.text, false))
			switch {
			case ok != (tt.want != ""):
				t.Errorf("a failure: %t (%s)", ok, reading.Sign)
			case ok && reading.Error().Kind != tt.want:
				t.Errorf("kind %s, want %s", reading.Error().Kind, tt.want)
			case ok && !strings.HasPrefix(reading.Sign, "weak sign: "):
				t.Errorf("sign %q", reading.Sign)
			}
		})
	}
}

// A server's own record is trusted about what happened; about whose fault it is and what changed only if the server is
// trusted.
func TestReadRecordOfServer(t *testing.T) {
	t.Parallel()
	const record = `{"v":1,"kind":"timeout","code":"timeout","contract":"recourse","message":"late","retry":"same_call","afterMs":9000000000000,` +
		`"effect":"none","origin":"gateway","failed":[{"id":"a","error":{"v":1,"kind":"timeout","effect":"none","origin":"gateway"}}]}`
	for name, answer := range map[string]string{
		"meta":       `{"content":[],"isError":true,"_meta":{"io.github.recoursehq/error":` + record + `}}`,
		"structured": `{"content":[{"type":"text","text":"[timeout] late"}],"structuredContent":` + record + `,"isError":true}`,
	} {
		for _, trusted := range []bool{false, true} {
			r := reader()
			r.Trusted = trusted
			reading, ok := r.Result([]byte(answer))
			if !ok {
				t.Fatal("not read")
			}
			want := said{Kind: recourse.KindTimeout, Origin: recourse.OriginServer, Retry: recourse.RetrySameCall, After: recourse.MaxWait}
			inner := recourse.Origin("")
			if trusted {
				want.Origin, want.Effect, inner = recourse.OriginGateway, recourse.EffectNone, recourse.OriginGateway
			}
			e := reading.Error()
			if diff := cmp.Diff(want, told(e)); diff != "" {
				t.Errorf("%s, trusted %t (-want +got):\n%s", name, trusted, diff)
			}
			if e.Failed[0].Error.Origin != inner {
				t.Errorf("%s, trusted %t: the item's origin is %q", name, trusted, e.Failed[0].Error.Origin)
			}
		}
	}
	if _, ok := reader().Result([]byte(`{"content":[],"_meta":{"io.github.recoursehq/error":` + record + `}}`)); ok {
		t.Error("a success with a record in _meta is read as a failure")
	}
}
