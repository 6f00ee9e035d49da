package contract_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// The contracts in testdata use what the built-in ones do not. Each form is written, byte for byte, and read back.
func TestLanguage(t *testing.T) {
	t.Parallel()
	call := func(change func(*contract.Call)) contract.Call {
		c := contracttest.ToolCall()
		change(&c)
		return c
	}
	format := func(value string) contract.Call {
		return call(func(c *contract.Call) { c.FormatArgument, c.Arguments = true, []byte(`{"format":`+value+`}`) })
	}
	arguments := call(func(c *contract.Call) { c.At = contract.AtArguments })
	plain := contracttest.ToolCall()
	late := recourse.Timeout("", 0).WithMessage("Request timeout").WithUpstream(recourse.Upstream{Status: 504})
	const lateJSON = `{\n  \"kind\": \"toolError:v1\",\n  \"code\": \"NETWORK_ERROR\",\n  \"message\": \"Network error: Request timeout\",\n` +
		`  \"retryable\": true,\n  \"details\": {\n    \"statusCode\": 504\n  }\n}`
	const lateHuman = `{"type":"text","text":"Network error: Request timeout","mimeType":"text/markdown"}`
	const lateRest = `],"structuredContent":{"kind":"toolError:v1","code":"NETWORK_ERROR","message":"Network error: Request timeout","retryable":true,` +
		`"details":{"statusCode":504}},"isError":true}`
	tests := map[string]struct {
		contract string
		from     *recourse.Error
		call     contract.Call
		want     string
		kind     recourse.Kind // expected when read back without _meta; "" means unchanged
	}{
		"object beside the content": {
			"shop", recourse.Unavailable("Warehouse").WithUpstream(recourse.Upstream{Code: "E_DOWN"}).WithDetail("shelf", 7), plain,
			`{"content":[{"type":"text","text":"{\"code\":4002,\"message\":\"Warehouse is not available at the moment.\",\"retryable\":true,\"details\":{\"suggestion\":\"Try later.\",\"originalError\":\"E_DOWN\",\"context\":{\"shelf\":7}}}"}],` +
				`"error":{"code":4002,"message":"Warehouse is not available at the moment.","retryable":true,"details":{"suggestion":"Try later.","originalError":"E_DOWN","context":{"shelf":7}}},"isError":true}`, "",
		},
		"JSON-RPC error with the object inside": {
			"shop", recourse.InvalidValue("order.email", "an address", nil).WithViolations(recourse.Violation{Param: "order.email", Rule: "format"}), arguments,
			`{"code":-32602,"message":"Invalid params: Parameter order.email must be an address. Correct the format of order.email.","data":{"field":"order.email","error":{"code":2003,` +
				`"message":"Parameter order.email must be an address.","retryable":false,"details":{"field":"order.email","reason":"format","suggestion":"Correct the format of order.email."}}}}`, "",
		},
		"found in the tool instead": {
			"shop", recourse.Missing("order.email"), plain,
			`{"content":[{"type":"text","text":"{\"code\":2001,\"message\":\"Parameter order.email is required.\",\"retryable\":false,\"details\":{\"field\":\"order.email\",\"reason\":\"required\",\"suggestion\":\"Correct the parameters.\"}}"}],` +
				`"error":{"code":2001,"message":"Parameter order.email is required.","retryable":false,"details":{"field":"order.email","reason":"required","suggestion":"Correct the parameters."}},"isError":true}`,
			recourse.KindInvalidValue,
		},
		"line with suggestions": {
			"panel", recourse.NotFound("study", "s-1").WithHint("One; two"), plain,
			`{"content":[{"type":"text","text":"[not_found] There is no study \"s-1\". Suggestions: One, two; Look it up with panel_list"}],"isError":true}`, "",
		},
		"line with an envelope, under another's code": {
			"panel", recourse.ClientError("", 422).WithMessage("No audio").WithUpstream(recourse.Upstream{Status: 422, Code: "no_audio_track"}).
				WithHint("Use a video with sound; any").WithDetail("source_url", "https://example.com/a [envelope] b").WithDetail("seconds", 3), plain,
			`{"content":[{"type":"text","text":"[no_audio_track] No audio Suggestions: Use a video with sound, any; Look at the envelope [envelope] ` +
				`{\"error_kind\":\"no_audio_track\",\"suggestions\":[\"Use a video with sound; any\",\"Look at the envelope\"],\"seconds\":3,\"source_url\":\"https://example.com/a \\u005benvelope] b\"}"}],"isError":true}`,
			recourse.KindUnknown,
		},
		"verify call of a write": {
			"panel", recourse.Timeout("Panel", 0).WithEffect(recourse.EffectUnknown),
			call(func(c *contract.Call) {
				c.Tool, c.Arguments = "panel_create", []byte(`{"workspace_id":"w-1","name":"x"}`)
			}),
			`{"content":[{"type":"text","text":"[timeout] Panel did not answer in time. Suggestions: Before calling again run panel_get(workspace_id='w-1', lean=true) and look at the list"}],"isError":true}`, "",
		},
		"format left out": {"library", late, plain, `{"content":[` + lateHuman + lateRest, ""},
		"format markdown": {"library", late, format(`"markdown"`), `{"content":[` + lateHuman + lateRest, ""},
		"format unknown":  {"library", late, format(`"html"`), `{"content":[` + lateHuman + lateRest, ""},
		"format a number": {"library", late, format(`7`), `{"content":[` + lateHuman + lateRest, ""},
		"format json":     {"library", late, format(`"json"`), `{"content":[{"type":"text","text":"` + lateJSON + `","mimeType":"application/json"}` + lateRest, ""},
		"format both":     {"library", late, format(`"both"`), `{"content":[` + lateHuman + `,{"type":"text","text":"` + lateJSON + `","mimeType":"application/json"}` + lateRest, ""},
		"status before kind": {
			"library", recourse.Timeout("", 0).WithMessage("slow").WithUpstream(recourse.Upstream{Status: 408}), plain,
			`{"content":[{"type":"text","text":"Invalid request: slow","mimeType":"text/markdown"}],"structuredContent":{"kind":"toolError:v1","code":"CLIENT_ERROR","message":"Invalid request: slow","retryable":false,"details":{"statusCode":408}},"isError":true}`, "",
		},
		"unknown tool as a result": {
			"library", recourse.UnknownTool("x"), plain,
			`{"content":[{"type":"text","text":"Invalid request: There is no tool named \"x\".","mimeType":"text/markdown"}],"structuredContent":{"kind":"toolError:v1","code":"CLIENT_ERROR","message":"Invalid request: There is no tool named \"x\".","retryable":false},"isError":true}`,
			recourse.KindClientError,
		},
		"problem document": {
			"clinic", recourse.Unauthenticated(), call(func(c *contract.Call) { c.HTTP, c.At = true, contract.AtCredentialsMissing }),
			"401\nContent-Type: application/problem+json\r\n" + `{"type":"about:blank","title":"unauthorized","instance":"https://example.com/mcp","detail":"api-key headers are missing"}`, "",
		},
		"problem document, over stdio": {
			"clinic", recourse.Unauthenticated(), call(func(c *contract.Call) { c.At = contract.AtCredentialsMissing }),
			`{"content":[{"type":"text","text":"api-key headers are missing"}],"isError":true}`, "",
		},
		"empty body": {
			"clinic", recourse.Unreachable("").WithOrigin(recourse.OriginGateway), call(func(c *contract.Call) { c.HTTP = true }),
			"502\nContent-Length: 0\r\n", recourse.KindUnavailable,
		},
		"sentence": {
			"clinic", recourse.Missing("fields", "select"), plain, `{"content":[{"type":"text","text":"fields or select are required"}],"isError":true}`, "",
		},
		"sentence with a value": {
			"clinic", recourse.New(recourse.KindInvalidValue, "").WithViolations(recourse.Violation{Param: "from", Rule: "timestamp", Got: []byte(`"it's soon"`)}), plain,
			`{"content":[{"type":"text","text":"Invalid ISO 8601 timestamp 'it's soon'. Use formats like 2025-11-12T00:00:00Z."}],"isError":true}`, "",
		},
		"unlisted kind": {
			"clinic", recourse.Cancelled(), plain, `{"content":[{"type":"text","text":"The call was cancelled."}],"isError":true}`, "",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := contracttest.Load(t, tt.contract)
			a := contracttest.WithoutMeta(t, c.Write(tt.from, &tt.call))
			if diff := cmp.Diff(tt.want, contracttest.Wire(a)); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
			e := contracttest.ReadBack(t, c, a)
			want := tt.kind
			if want == "" {
				want = tt.from.Kind
			}
			// A sentence that identifies no code is read as plain text.
			if e.Kind != want {
				t.Errorf("read as %s, want %s", e.Kind, want)
			}
			if diff := cmp.Diff(contracttest.Wire(a), contracttest.Wire(contracttest.WithoutMeta(t, c.Write(e, &tt.call)))); diff != "" && tt.from.Effect == "" {
				t.Errorf("written again (-first +again):\n%s", diff)
			}
		})
	}
}

// A server's failures are understood even if a runtime has added a prefix or dropped a part.
func TestLanguageReadsThroughRuntimes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		contract, text string
		kind           recourse.Kind
		message        string
	}{
		"sentence behind a prefix": {"clinic", "Error executing tool x: request context is unavailable", recourse.KindInternal, "request context is unavailable"},
		"sentence with a value behind a prefix": {
			"clinic", "Error: Invalid ISO 8601 timestamp 'x'. Use formats like 2025-11-12T00:00:00Z. (tool x)",
			recourse.KindInvalidValue, "Invalid ISO 8601 timestamp 'x'. Use formats like 2025-11-12T00:00:00Z.",
		},
		"sentence twice": {"clinic", "request context is unavailable: request context is unavailable", recourse.KindInternal, "request context is unavailable"},
		"sentence of an HTTP answer, inside prose": {"clinic", "You are unauthorized to do this", recourse.KindUnauthenticated, "You are unauthorized to do this"},
		"prefix alone, without structuredContent":  {"library", "Resource not found: /x", recourse.KindNotFound, "/x"},
		"unlisted word in brackets":                {"panel", "[tunnel_failed] No tunnel", recourse.KindUnknown, "No tunnel"},
		"envelope of invalid JSON":                 {"panel", "[timeout] late [envelope] {", recourse.KindTimeout, "late [envelope] {"},
		"unlisted number":                          {"shop", `{"code":3999,"message":"odd","retryable":true}`, recourse.KindUnknown, "odd"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := contracttest.Load(t, tt.contract)
			r := contract.Reader{Contracts: []*contract.Contract{c}, Weak: c}
			reading, ok := r.Result(textResult(t, tt.text, true))
			if !ok {
				t.Fatal("not read as a failure")
			}
			e := reading.Error()
			if e.Kind != tt.kind || e.Message != tt.message {
				t.Errorf("by %s: %s %q, want %s %q", reading.Sign, e.Kind, e.Message, tt.kind, tt.message)
			}
		})
	}
}

// An empty answer is read in a contract's form only if that contract comes first.
func TestEmptyAnswerTellsNoContract(t *testing.T) {
	t.Parallel()
	c := contracttest.Load(t, "clinic")
	for _, known := range [][]*contract.Contract{{c, contract.MustBuiltin("terra")}, {contract.MustBuiltin("recourse"), c}} {
		r := contract.Reader{Contracts: known}
		if reading := r.HTTP(http.StatusInternalServerError, http.Header{}, nil); (reading.Contract == c) != (known[0] == c) {
			t.Errorf("%s first: by %s", known[0].Name, reading.Sign)
		}
	}
	r := contract.Reader{Contracts: []*contract.Contract{c}, Weak: c}
	body := []byte(`{"type":"about:blank","title":"unauthorized","detail":"token expired"}`)
	if reading := r.HTTP(http.StatusUnauthorized, http.Header{"Content-Type": {"application/problem+json"}}, body); reading.Contract != nil {
		t.Errorf("another sentence: by %s", reading.Sign)
	}
}

// Hints come in this order: a warning, the author's hints, the code's. A record in the contract's own words stays as it
// is.
func TestHints(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("recourse")
	call := contracttest.ToolCall()
	const advice = "Safe to repeat: wait 3 s, then make the same call again."
	own := recourse.RateLimited(3 * time.Second).WithHint("Ask for ten fields at most.")
	for _, tt := range []struct {
		from *recourse.Error
		want []string
	}{
		{recourse.RateLimited(3 * time.Second), []string{advice}},
		{own, []string{"Ask for ten fields at most.", advice}},
		{own.WithCode("recourse", "rate_limited"), []string{"Ask for ten fields at most."}},
		{own.WithRetry(recourse.RetryNever), []string{"Ask for ten fields at most.", "Do not repeat the call."}},
		{
			recourse.Timeout("", 0).WithEffect(recourse.EffectUnknown).WithHint("Be patient."),
			[]string{"It is not known whether the call took effect, and nothing here can settle it. Do not repeat it before you have found out.", "Be patient."},
		},
	} {
		if diff := cmp.Diff(tt.want, c.Write(tt.from, &call).Record.Hints); diff != "" {
			t.Errorf("%s %v (-want +got):\n%s", tt.from.Kind, tt.from.Hints, diff)
		}
	}
}

// A contract that extends another adds and replaces codes; over three levels, the nearest definition counts.
func TestExtends(t *testing.T) {
	t.Parallel()
	set := contract.Builtin()
	for _, src := range []string{
		`{form: 1, name: middle, extends: fieldmcp, title: Middle, hint_tools: [order_get], retry: {retries: 1, start: 5s},
		  codes: [
		  {code: SOLD_OUT, kind: conflict, for: [{kind: conflict}], retryable: false, hint: [Look with order_get., Look again.]},
		  {code: PROVIDER_TIMEOUT, kind: timeout, retryable: false, hint: Give up.}]}`,
		`{form: 1, name: last, extends: middle, default: SOLD_OUT, hint_tools: [item_get],
		  verify: {order_make: {tool: order_see, from: {id: /id}}},
		  hints: [{for: {effect: unknown}, text: "Look with order_see, or with item_get."}],
		  codes: [{code: LAST, kind: no_match, retryable: true, hint: Search again.}]}`,
	} {
		if _, err := set.Load("test.yaml", []byte(src)); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := set.Get("last")
	if c.Title != "" {
		t.Errorf("got the parent's title %q", c.Title)
	}
	if c.Retry.Retries != 1 || !c.Reads("get_it") {
		t.Errorf("inherited: %+v, %t", c.Retry, c.Reads("get_it"))
	}
	call := contracttest.ToolCall()
	call.HasTool = func(name string) bool { return !strings.HasPrefix(name, "order_") }
	for _, tt := range []struct {
		from         *recourse.Error
		code, action string
	}{
		{recourse.NoMatch("field"), "LAST", "Search again."},
		{recourse.Conflict("gone"), "SOLD_OUT", "Look again."},
		{recourse.Timeout("", 0), "PROVIDER_TIMEOUT", "Give up."},
		{recourse.NotFound("field", "x"), "FIELD_NOT_FOUND", "Use deere_list_resources with resourceType='fields' to find valid field IDs."},
		{recourse.New(recourse.KindUnknown, ""), "SOLD_OUT", "Look again."},
		// The contract's own warning names an unknown tool, and still replaces the inherited ones.
		{recourse.Timeout("", 0).WithEffect(recourse.EffectUnknown), "PROVIDER_TIMEOUT", "Give up."},
	} {
		got := toolError(t, c.Write(tt.from, &call))
		if got.Code != tt.code || got.SuggestedAction != tt.action {
			t.Errorf("%s: %s %q, want %s %q", tt.from.Kind, got.Code, got.SuggestedAction, tt.code, tt.action)
		}
	}
	// The extended contract is unchanged.
	parent, _ := set.Get("fieldmcp")
	if got := toolError(t, parent.Write(recourse.Timeout("", 0), &call)); !*got.Retryable {
		t.Error("fieldmcp's timeout is no longer retryable")
	}
	if diff := cmp.Diff(append(contract.Builtin().Names(), "middle", "last"), set.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// A contract's codes are chosen by the record's author: a listed code is kept, whatever else the record says, and an
// unlisted one is written as it is.
func TestChoosing(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("fieldmcp")
	call := contracttest.ToolCall()
	for _, tt := range []struct {
		from *recourse.Error
		want string
	}{
		{recourse.Timeout("", 0).WithCode("fieldmcp", "FIELD_NOT_FOUND"), "FIELD_NOT_FOUND"},
		{recourse.Timeout("", 0).WithCode("fieldmcp", "SOMETHING_NEW"), "SOMETHING_NEW"},
		{recourse.Timeout("", 0).WithCode("fieldmcp", ""), "PROVIDER_TIMEOUT"},
		{recourse.Timeout("", 0).WithCode("recourse", "FIELD_NOT_FOUND"), "PROVIDER_TIMEOUT"},
		{recourse.New("no such kind", ""), "INTERNAL_ERROR"},
		{&recourse.Error{}, "INTERNAL_ERROR"},
	} {
		if got := toolError(t, c.Write(tt.from, &call)); got.Code != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.from.Contract, tt.from.Code, got.Code, tt.want)
		}
	}
}
