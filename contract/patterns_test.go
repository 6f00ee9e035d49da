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

// asking is a call of a tool that has a format argument.
func asking(format string) contract.Call {
	call := contracttest.ToolCall()
	call.FormatArgument, call.Arguments = true, []byte(`{"format":"`+format+`"}`)
	return call
}

// The code depends on the status if that is known, otherwise on the kind; a wait is part of the sentence.
func TestPatternsCodes(t *testing.T) {
	t.Parallel()
	status := func(status int) *recourse.Error {
		return recourse.FromStatus("the API", status).WithMessage("It broke.")
	}
	const details = `,"details":{"statusCode":`
	tests := map[string]struct {
		from *recourse.Error
		want string // the end, from "code" on
		kind recourse.Kind
	}{
		"400": {status(400), `"CLIENT_ERROR","message":"Invalid request: It broke.","retryable":false` + details + "400}}", recourse.KindClientError},
		"401": {status(401), `"AUTHENTICATION_ERROR","message":"Authentication required: It broke.","retryable":false` + details + "401}}", recourse.KindUnauthenticated},
		"403": {status(403), `"AUTHENTICATION_ERROR","message":"Authentication required: It broke.","retryable":false` + details + "403}}", recourse.KindPermissionDenied},
		"404": {status(404), `"NOT_FOUND","message":"Resource not found: It broke.","retryable":false` + details + "404}}", recourse.KindNotFound},
		"408": {status(408), `"CLIENT_ERROR","message":"Invalid request: It broke.","retryable":false` + details + "408}}", recourse.KindTimeout},
		"409": {status(409), `"CLIENT_ERROR","message":"Invalid request: It broke.","retryable":false` + details + "409}}", recourse.KindConflict},
		"429": {
			status(429).WithRetryAfter(12 * time.Second),
			`"CLIENT_ERROR","message":"Invalid request: It broke. Try again in 12 s.","retryable":false` + details + "429}}", recourse.KindRateLimited,
		},
		"500": {status(500), `"SERVER_ERROR","message":"Internal server error: It broke.","retryable":true` + details + "500}}", recourse.KindServerError},
		"501": {status(501), `"SERVER_ERROR","message":"Internal server error: It broke.","retryable":true` + details + "501}}", recourse.KindNotImplemented},
		"503": {
			status(503).WithRetryAfter(90 * time.Second),
			`"SERVER_ERROR","message":"Internal server error: It broke. Try again in 90 s.","retryable":true` + details + "503}}", recourse.KindUnavailable,
		},
		"504": {status(504), `"SERVER_ERROR","message":"Internal server error: It broke.","retryable":true` + details + "504}}", recourse.KindTimeout},
		"no answer in time": {
			recourse.Timeout("", 0).WithMessage("Request timeout"), `"NETWORK_ERROR","message":"Network error: Request timeout","retryable":true}`, recourse.KindTimeout,
		},
		"no connection": {recourse.Unreachable("the API"), `"NETWORK_ERROR","message":"Network error: the API could not be reached.","retryable":true}`, recourse.KindTimeout},
		"the gateway's own limit": {
			recourse.RateLimited(12 * time.Second).WithOrigin(recourse.OriginGateway),
			`"CLIENT_ERROR","message":"Invalid request: Too many requests. Try again in 12 s.","retryable":false` + details + "429}}", recourse.KindRateLimited,
		},
		"the gateway refuses otherwise": {
			recourse.Unauthenticated().WithOrigin(recourse.OriginGateway),
			`"AUTHENTICATION_ERROR","message":"Authentication required: Valid credentials are required.","retryable":false}`, recourse.KindUnauthenticated,
		},
		"bad arguments": {recourse.Missing("q"), `"CLIENT_ERROR","message":"Invalid request: Parameter q is required.","retryable":false}`, recourse.KindClientError},
		"unknown":       {recourse.New(recourse.KindUnknown, ""), `"UNKNOWN_ERROR","message":"Unknown error occurred","retryable":false}`, recourse.KindUnknown},
		"unknown, with a reason": {
			recourse.New(recourse.KindUnknown, "The disk is full"), `"UNKNOWN_ERROR","message":"Unknown error occurred: The disk is full","retryable":false}`, recourse.KindUnknown,
		},
		"with a detail": {
			status(400).WithDetail("limit", 100), `"CLIENT_ERROR","message":"Invalid request: It broke.","retryable":false` + details + `400,"limit":100}}`, recourse.KindClientError,
		},
	}
	c := contract.MustBuiltin("patterns")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := asking("json")
			a := c.Write(tt.from, &call)
			var result struct{ StructuredContent rawText }
			contracttest.Unmarshal(t, a.Result, &result)
			if diff := cmp.Diff(`{"kind":"toolError:v1","code":`+tt.want, string(result.StructuredContent)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			e := contracttest.ReadBack(t, c, contracttest.WithoutMeta(t, a))
			if e.Kind != tt.kind || e.RetryAfter != tt.from.RetryAfter {
				t.Errorf("read as %s after %s, want %s after %s", e.Kind, e.RetryAfter, tt.kind, tt.from.RetryAfter)
			}
			if again := c.Write(e, &call); string(contracttest.WithoutMeta(t, again).Result) != string(contracttest.WithoutMeta(t, a).Result) {
				t.Errorf("written again:\n%s", again.Result)
			}
		})
	}
}

const (
	questionObject = `{"kind":"needsInput:v1","type":"elicitation","message":"No pattern has the id xyz.","needsInput":{"fields":["id"],` +
		`"reason":"not_found","suggestions":{"id":["xy","xyzzy"]}},"options":[{"label":"The xy pattern","value":"xy","description":"Close by","field":"id"}]}`
	questionHuman = `{"type":"text","text":"No pattern has the id xyz.\n\nSuggestions for ` + "`id`: `xy`, `xyzzy`." +
		`\n\n- The xy pattern: ` + "`id` = `xy`" + ` (Close by)","mimeType":"text/markdown"}`
	questionJSON = `{"type":"text","text":"{\n  \"kind\": \"needsInput:v1\",\n  \"type\": \"elicitation\",\n  \"message\": \"No pattern has the id xyz.\",\n` +
		`  \"needsInput\": {\n    \"fields\": [\n      \"id\"\n    ],\n    \"reason\": \"not_found\",\n    \"suggestions\": {\n      \"id\": [\n        \"xy\",\n` +
		`        \"xyzzy\"\n      ]\n    }\n  },\n  \"options\": [\n    {\n      \"label\": \"The xy pattern\",\n      \"value\": \"xy\",\n      \"description\": \"Close by\",\n` +
		`      \"field\": \"id\"\n    }\n  ]\n}","mimeType":"application/json"}`
)

// A question is written where a failure would be, by the same format, but not as a failure.
func TestPatternsQuestions(t *testing.T) {
	t.Parallel()
	question := &recourse.NeedsInput{
		Message: "No pattern has the id xyz.", Reason: "not_found", Fields: []string{"id"},
		Suggestions: map[string][]string{"id": {"xy", "xyzzy"}},
		Options:     []recourse.Option{{Label: "The xy pattern", Value: "xy", Description: "Close by", Field: "id"}},
	}
	none := contracttest.ToolCall()
	none.Arguments = []byte(`{"format":"json"}`) // the tool has no such argument
	modern := asking("markdown")
	modern.ResultType, modern.OutputSchema = true, true
	tests := map[string]struct {
		call contract.Call
		want string
	}{
		"markdown":              {asking("markdown"), `{"content":[` + questionHuman + `],"structuredContent":` + questionObject + `}`},
		"json":                  {asking("json"), `{"content":[` + questionJSON + `],"structuredContent":` + questionObject + `}`},
		"both":                  {asking("both"), `{"content":[` + questionHuman + `,` + questionJSON + `],"structuredContent":` + questionObject + `}`},
		"another":               {asking("html"), `{"content":[` + questionHuman + `],"structuredContent":` + questionObject + `}`},
		"no such argument":      {none, `{"content":[` + questionHuman + `],"structuredContent":` + questionObject + `}`},
		"with an output schema": {modern, `{"content":[` + questionHuman + `],"resultType":"complete"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := contract.MustBuiltin("patterns").Ask(question, &tt.call)
			if diff := cmp.Diff(tt.want, string(a.Result)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !strings.Contains(tt.want, "elicitation") {
				return
			}
			reading, ok := reader().Result(a.Result)
			if diff := cmp.Diff(recourse.Failure(question), reading.Failure); !ok || diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
		})
	}
}

// Other contracts write a question as a failure, for a caller that cannot be asked.
func TestQuestionsElsewhere(t *testing.T) {
	t.Parallel()
	call := contracttest.ToolCall()
	a := contract.MustBuiltin("fieldmcp").Ask(&recourse.NeedsInput{Message: "Which field?", Fields: []string{"fieldId"}}, &call)
	if got := toolError(t, a); got.Code != "MISSING_REQUIRED_PARAM" || got.Message != "Which field?" {
		t.Errorf("%s", a.Result)
	}
}

// Answers are recognised even if transports have dropped parts.
func TestPatternsReads(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("patterns")
	call := asking("both")
	whole := string(contracttest.WithoutMeta(t, c.Write(recourse.FromStatus("", 429).WithMessage("Slow down.").WithRetryAfter(12*time.Second), &call)).Result)
	_, structured, _ := strings.Cut(whole, `"structuredContent":`)
	object := strings.TrimSuffix(structured, `,"isError":true}`)
	want := said{Kind: recourse.KindRateLimited, Origin: recourse.OriginServer, Retry: recourse.RetryNever, After: 12 * time.Second, Status: 429}
	markdown := said{Kind: recourse.KindClientError, Origin: recourse.OriginServer, Retry: recourse.RetryNever, After: 12 * time.Second}
	const human = `{"type":"text","text":"Invalid request: Slow down. Try again in 12 s."}`
	tests := map[string]struct {
		result string
		want   said
		known  bool // only if the server is known to follow this contract
	}{
		"everything":             {result: whole, want: want},
		"without isError":        {result: strings.Replace(whole, `,"isError":true`, "", 1), want: want},
		"structuredContent only": {result: `{"content":[],"structuredContent":` + object + `}`, want: want},
		"JSON block only":        {result: string(textResult(t, object, false)), want: want},
		"JSON block second":      {result: `{"content":[` + human + `,{"type":"text","text":` + quote(t, object) + `}]}`, want: want},
		"markdown only":          {result: `{"content":[` + human + `],"isError":true}`, want: markdown, known: true},
		"the sentence of another code": {
			result: `{"content":[{"type":"text","text":"Resource not found: It is gone."}],"isError":true}`, known: true,
			want: said{Kind: recourse.KindNotFound, Origin: recourse.OriginServer, Retry: recourse.RetryAfterFix},
		},
		"an unlisted code without retryable": {
			result: string(textResult(t, `{"kind":"toolError:v1","code":"TEAPOT","message":"x"}`, false)),
			want:   said{Kind: recourse.KindUnknown, Origin: recourse.OriginServer, Retry: recourse.RetryNever, Code: "TEAPOT"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reader()
			if tt.known {
				r.Weak = c
			}
			reading, ok := r.Result([]byte(tt.result))
			if !ok || reading.Contract != c {
				t.Fatalf("not read: %t, by %s", ok, reading.Sign)
			}
			if diff := cmp.Diff(tt.want, told(reading.Error())); diff != "" {
				t.Errorf("by %s (-want +got):\n%s", reading.Sign, diff)
			}
		})
	}
}

// The public reference server's failures of an API without a readable answer: the details are more specific than the
// code, and are kept.
func TestPatternsPublicServer(t *testing.T) {
	t.Parallel()
	const never, same = recourse.RetryNever, recourse.RetrySameCall
	for _, tt := range []struct {
		code, message, details string
		retryable              bool
		kind                   recourse.Kind
		retry                  recourse.Retry
	}{
		{"NETWORK_ERROR", "fetch failed", `{"cause":"connect ECONNREFUSED","errorName":"TypeError","errorType":"fetch_error"}`, true, recourse.KindUnreachable, same},
		{"NETWORK_ERROR", "request failed", `{"errorName":"Error","errorType":"connection_refused"}`, true, recourse.KindUnreachable, same},
		{"NETWORK_ERROR", "request failed", `{"errorName":"Error","errorType":"connection_reset"}`, true, recourse.KindUnreachable, same},
		{"NETWORK_ERROR", "request failed", `{"errorName":"Error","errorType":"dns_error"}`, true, recourse.KindUnreachable, same},
		{"NETWORK_ERROR", "request failed", `{"errorName":"Error","errorType":"network"}`, true, recourse.KindUnreachable, same},
		{"NETWORK_ERROR", "certificate has expired", `{"errorName":"Error","errorType":"tls_error"}`, false, recourse.KindUnreachable, never},
		{"NETWORK_ERROR", "Request timeout after 10000ms", `{"errorName":"AbortError","errorType":"timeout"}`, true, recourse.KindTimeout, same},
		{"NETWORK_ERROR", "Request timeout", `{"attempt":2}`, true, recourse.KindTimeout, same},
		{"NETWORK_ERROR", "Unexpected token '<' is not valid JSON", `{"errorName":"SyntaxError","errorType":"network"}`, true, recourse.KindBadResponse, same},
		{"CLIENT_ERROR", "HTTP 429", `{"statusCode":429}`, false, recourse.KindRateLimited, never},
		{"CLIENT_ERROR", "Request timeout after 10000ms", `{"statusCode":408}`, false, recourse.KindTimeout, never},
		{"CLIENT_ERROR", "HTTP 400", `{"statusCode":400}`, false, recourse.KindClientError, never},
		{"SERVER_ERROR", "HTTP 503", `{"statusCode":503}`, true, recourse.KindUnavailable, same},
	} {
		for _, known := range []bool{true, false} {
			r, c := reader(), contract.MustBuiltin("patterns")
			if known {
				r.Weak = c
			}
			object := fmt.Sprintf(`{"kind":"toolError:v1","code":%q,"message":%q,"retryable":%t,"details":%s}`, tt.code, tt.message, tt.retryable, tt.details)
			reading, ok := r.Result([]byte(`{"content":[{"type":"text","text":` + quote(t, "**Error:** "+tt.message) + `}],"structuredContent":` + object + `,"isError":true}`))
			if e := reading.Error(); !ok || reading.Contract != c || e.Kind != tt.kind || e.RetryAdvice() != tt.retry || e.Code != tt.code {
				t.Errorf("%s, known %t: %v of %s, retry %s", object, known, e, e.Code, e.RetryAdvice())
				continue
			}
			call := asking("json")
			var result struct{ StructuredContent rawText }
			contracttest.Unmarshal(t, c.Write(reading.Error(), &call).Result, &result)
			if got := string(result.StructuredContent); !strings.HasSuffix(got, fmt.Sprintf(`"retryable":%t,"details":%s}`, tt.retryable, tt.details)) {
				t.Errorf("%s is written again as %s", object, got)
			}
		}
	}
}

// A pattern that does not exist is a question, however the server says so.
func TestPatternsQuestionForEveryWayToSayMissing(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("patterns")
	for _, e := range []*recourse.Error{
		recourse.New(recourse.KindNotFound, "No."),
		recourse.New(recourse.KindNoMatch, "Pattern not found"),
		recourse.New(recourse.KindClientError, "No.").WithUpstream(recourse.Upstream{Status: 404}),
		recourse.New(recourse.KindInvalidValue, "No.").WithUpstream(recourse.Upstream{Status: 404}).With(func(e *recourse.Error) { e.Code = "CLIENT_ERROR" }),
		recourse.New(recourse.KindNotFound, "Gone.").WithUpstream(recourse.Upstream{Status: 410}),
		recourse.New(recourse.KindInvalidValue, "Unknown pattern: xyz"),
	} {
		for tool, want := range map[string]bool{"get_pattern": true, "analyze_code": false} {
			call := contracttest.ToolCall()
			call.Tool, call.Arguments = tool, []byte(`{"id":"xyz"}`)
			if got := string(c.Write(e, &call).Result); strings.Contains(got, "needsInput:v1") != want {
				t.Errorf("%s, %s: %s", tool, e.Kind, got)
			}
		}
	}
}

// A code that says less than its sentence does hides no pattern that does not exist, and no other failure becomes a question.
func TestPatternsQuestionInItsOwnForm(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("patterns")
	object := func(code, message, details string) string {
		return fmt.Sprintf(`{"kind":"toolError:v1","code":%q,"message":%q,"retryable":false%s}`, code, message, details)
	}
	for _, tt := range []struct {
		said string
		want bool
	}{
		{"Invalid request: Pattern not found", true},
		{"Invalid request: There is no pattern with the id xyz.", true},
		{"Invalid request: Unknown pattern: xyz", true},
		{object("CLIENT_ERROR", "Invalid request: Pattern not found", `,"details":{"statusCode":400}`), true},
		{object("CLIENT_ERROR", "Invalid request: Pattern not found", ""), true},
		{object("UNKNOWN_ERROR", "Pattern not found", ""), true},
		{"Invalid request: limit must be between 1 and 100", false},
		{"Invalid request: Unknown argument: colour", false},
		{"Internal server error: index file not found", false},
		{object("CLIENT_ERROR", "Invalid request: format must be json", `,"details":{"statusCode":400}`), false},
	} {
		r := contract.NewReader(c)
		reading, ok := r.Result(textResult(t, tt.said, true))
		if !ok {
			t.Errorf("%s is not read as a failure", tt.said)
			continue
		}
		call := contracttest.ToolCall()
		call.Tool, call.Arguments = "get_pattern", []byte(`{"id":"xyz"}`)
		if got := string(c.Write(reading.Error(), &call).Result); strings.Contains(got, "needsInput:v1") != tt.want {
			t.Errorf("%s: %s", tt.said, got)
		}
	}
}

// A status is read wherever a server puts it, as a number or a text.
func TestPatternsStatusInEveryForm(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("patterns")
	for _, said := range []string{
		`{"error":{"code":404,"message":"nope"}}`, `{"error": {"code": "404", "message": "nope"}}`, `{"error":"nope","code": 404}`,
		`{"status":"404","message":"nope"}`, `{"statusCode": "404", "message": "nope"}`, `{"http_status":404,"error":"nope"}`,
		`{"error_code": 404, "message": "nope"}`, `{"errorCode":404,"errorMessage":"nope"}`, `{"error":{"code":404}}`, `{"error": 404}`,
		"404: nope", "[404] nope", "Error 404: nope",
	} {
		reader := contract.Reader{Contracts: contract.Builtin().All(), Own: c}
		reading, ok := reader.Result(textResult(t, said, true))
		if e := reading.Error(); !ok || e.Kind != recourse.KindNotFound || e.Upstream.Status != 404 || e.Message == "" {
			t.Errorf("%s: read as %v", said, e)
			continue
		}
		call := contracttest.ToolCall()
		call.Tool, call.Arguments = "get_pattern", []byte(`{"id":"xyz"}`)
		if got := string(c.Write(reading.Error(), &call).Result); !strings.Contains(got, "needsInput:v1") {
			t.Errorf("%s: written as %s", said, got)
		}
	}
}
