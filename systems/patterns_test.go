package systems_test

import (
	"bytes"
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// Tools of a server of patterns: the first one has a format argument, the second one has none.
const (
	searchPatterns = "search_patterns"
	getPattern     = "get_pattern"
	analyzeCode    = "analyze_code"
)

func patternTools() testkit.Option {
	const format = `"format":{"description":"markdown, json or both"}`
	return testkit.WithTools(
		testkit.Tool{Name: searchPatterns, Definition: `{"name":"search_patterns","inputSchema":{"type":"object","properties":{` +
			`"q":{"type":"string"},"limit":{"type":"integer","maximum":100},` + format + `},"required":["q"]}}`},
		testkit.Tool{Name: analyzeCode, Definition: `{"name":"analyze_code","inputSchema":{"type":"object","properties":{"code":{"type":"string"}}}}`},
	)
}

// inPatterns returns a failed call in the form of patterns, with the object and the texts of the format.
func inPatterns(tb testing.TB, format, object string) string {
	tb.Helper()
	var said struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal([]byte(object), &said); err != nil {
		tb.Fatal(err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(object), "", "  "); err != nil {
		tb.Fatal(err)
	}
	human := fmt.Sprintf(`{"type":"text","text":%s,"mimeType":"text/markdown"}`, protocol.Quote(said.Message))
	block := fmt.Sprintf(`{"type":"text","text":%s,"mimeType":"application/json"}`, protocol.Quote(indented.String()))
	content := map[string]string{"markdown": human, "json": block, "both": human + "," + block}[format]
	return `{"content":[` + content + `],"structuredContent":` + object + `,"isError":true}`
}

// Failures of the server, by their status or form, are written in the form of patterns.
func TestPatterns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		fault    testkit.Fault
		timeout  string // of calls; "": enough for all repetitions, but less than the waits that servers ask for
		object   string
		after    time.Duration
		promises []string
		readings []string
	}{
		{
			name: "400", fault: faults.Status(http.StatusBadRequest, faults.Plain),
			object: `{"kind":"toolError:v1","code":"CLIENT_ERROR","message":"Invalid request: farm refused the request (HTTP 400).","retryable":false,"details":{"statusCode":400}}`,
			promises: []string{
				"patterns/code-client-error", "patterns/message-client-error", "patterns/status-code", "patterns/field-kind", "patterns/field-code",
				"patterns/field-message", "patterns/field-retryable", "patterns/field-details", "patterns/member-order", "patterns/is-error", "patterns/structured-content",
			},
		},
		{
			name: "403", fault: faults.Status(http.StatusForbidden, faults.Plain),
			object:   `{"kind":"toolError:v1","code":"AUTHENTICATION_ERROR","message":"Authentication required: farm does not permit this.","retryable":false,"details":{"statusCode":403}}`,
			promises: []string{"patterns/code-authentication-error", "patterns/message-authentication-error"},
		},
		{
			name: "404", fault: faults.Status(http.StatusNotFound, faults.Plain),
			object:   `{"kind":"toolError:v1","code":"NOT_FOUND","message":"Resource not found: farm refused the request (HTTP 404).","retryable":false,"details":{"statusCode":404}}`,
			promises: []string{"patterns/code-not-found", "patterns/message-not-found", "patterns/not-found-elsewhere"},
		},
		{
			name: "408", fault: faults.Status(http.StatusRequestTimeout, faults.Plain),
			object:   `{"kind":"toolError:v1","code":"CLIENT_ERROR","message":"Invalid request: farm did not answer in time.","retryable":false,"details":{"statusCode":408}}`,
			promises: []string{"patterns/status-408"},
		},
		{
			name: "429", fault: faults.Status(http.StatusTooManyRequests, faults.Plain).With("Retry-After", "12"), after: 12 * time.Second,
			object: `{"kind":"toolError:v1","code":"CLIENT_ERROR","message":"Invalid request: farm limits requests at the moment. Try again in 12 s.",` +
				`"retryable":false,"details":{"statusCode":429}}`,
			promises: []string{"patterns/status-429", "patterns/wait-in-message", "patterns/wait-in-meta"},
		},
		{
			name: "500", fault: faults.Status(http.StatusInternalServerError, faults.Plain),
			object:   `{"kind":"toolError:v1","code":"SERVER_ERROR","message":"Internal server error: farm failed (HTTP 500).","retryable":true,"details":{"statusCode":500}}`,
			promises: []string{"patterns/code-server-error", "patterns/message-server-error"},
		},
		{
			name: "501", fault: faults.Status(http.StatusNotImplemented, faults.Plain),
			object:   `{"kind":"toolError:v1","code":"SERVER_ERROR","message":"Internal server error: farm does not implement this.","retryable":true,"details":{"statusCode":501}}`,
			promises: []string{"patterns/status-501"},
		},
		{
			name: "no answer", fault: faults.Hang(), timeout: "1s",
			object:   `{"kind":"toolError:v1","code":"NETWORK_ERROR","message":"Network error: farm did not answer within 1 s.","retryable":true}`,
			promises: []string{"patterns/code-network-error", "patterns/message-network-error", "patterns/status-code-omitted", "patterns/gateway-no-status"},
		},
		{
			name: "a text of an unknown form", fault: faults.ToolError("", "The disk is full"),
			object:   `{"kind":"toolError:v1","code":"UNKNOWN_ERROR","message":"Unknown error occurred: The disk is full","retryable":false}`,
			promises: []string{"patterns/code-unknown-error"},
		},
		{
			name: "no text at all", fault: faults.ToolError("", ""),
			object:   `{"kind":"toolError:v1","code":"UNKNOWN_ERROR","message":"Unknown error occurred","retryable":false}`,
			promises: []string{"patterns/message-unknown-error"},
		},
		{
			name: "the contract's JSON block, without isError", fault: faults.Result("", protocol.TextResult(
				`{"kind":"toolError:v1","code":"NETWORK_ERROR","message":"Network error: Request timeout","retryable":true,"details":{"attempt":2}}`)),
			object:   `{"kind":"toolError:v1","code":"NETWORK_ERROR","message":"Network error: Request timeout","retryable":true,"details":{"attempt":2}}`,
			readings: []string{"patterns/detect-json-block", "patterns/detect-without-is-error"},
		},
		{
			name: "the contract's structuredContent alone", fault: faults.Result("",
				`{"content":[],"structuredContent":{"kind":"toolError:v1","code":"SERVER_ERROR","message":"Internal server error: It broke","retryable":true,"details":{"statusCode":500}}}`),
			object:   `{"kind":"toolError:v1","code":"SERVER_ERROR","message":"Internal server error: It broke","retryable":true,"details":{"statusCode":500}}`,
			readings: []string{"patterns/detect-structured-content"},
		},
		{
			name: "the contract's sentence alone", fault: faults.ToolError("", "Resource not found: /api/patterns/x"),
			object:   `{"kind":"toolError:v1","code":"NOT_FOUND","message":"Resource not found: /api/patterns/x","retryable":false}`,
			readings: []string{"patterns/detect-markdown"},
		},
		{
			name: "an unlisted code, without retryable", fault: faults.ToolError("", `{"kind":"toolError:v1","code":"TEAPOT","message":"Short and stout"}`),
			object:   `{"kind":"toolError:v1","code":"TEAPOT","message":"Short and stout","retryable":false}`,
			readings: []string{"patterns/retryable-absent"},
		},
	}
	for _, tt := range tests {
		testkit.Virtual(t, tt.name, func(t *testing.T) {
			promises.Covers(t, tt.promises...)
			promises.Reads(t, tt.readings...)
			srv := testkit.NewServer(t, testkit.InMemory(), patternTools())
			srv.Always(searchPatterns, tt.fault)
			client := gatewaytest.Start(t, srv.URL(), "contract: patterns", "reads: patterns", "timeout: "+stdcmp.Or(tt.timeout, "10s")).Client(t, testkit.Legacy)
			a, err := client.Call(t.Context(), searchPatterns, `{"q":"x","format":"both"}`)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decoded(t, inPatterns(t, "both", tt.object)), decoded(t, gatewaytest.Shown(t, a))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if e := gatewaytest.Record(t, a); e.RetryAfter != tt.after || e.Contract != "patterns" || e.RetryAdvice() == recourse.RetrySameCall && strings.Contains(tt.object, `"retryable":false`) {
				t.Errorf("got %v after %s, retry %s", e, e.RetryAfter, e.RetryAdvice())
			}
		})
	}
}

// If the contract that clients see says that all tools only read, that holds, except for tools that either contract
// knows to write. The contract in reads does not make tools readers: it only says how failures are written.
func TestPatternsOnlyReadAsTheContract(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		contract, reads, tool string
		effect                recourse.Effect
	}{
		{"recourse", "patterns", searchPatterns, recourse.EffectUnknown},
		{"patterns", "recourse", searchPatterns, recourse.EffectNone},
		{"patterns", "patterns", searchPatterns, recourse.EffectNone},
		{"recourse", "studies", searchPatterns, recourse.EffectUnknown},
		{"studies", "patterns", "person_delete", recourse.EffectUnknown},
		{"patterns", "studies", "person_delete", recourse.EffectUnknown},
	} {
		srv := testkit.NewServer(t, testkit.WithTools(testkit.Tool{Name: tt.tool}))
		srv.Always(tt.tool, faults.ToolError("", "The disk is full"))
		client := gatewaytest.Start(t, srv.URL(), "contract: "+tt.contract, "reads: "+tt.reads, "trust_annotations: false").Client(t, testkit.Legacy)
		a, err := client.Call(t.Context(), tt.tool, `{}`)
		if err != nil {
			t.Fatal(err)
		}
		if e := gatewaytest.Record(t, a); e.Effect != tt.effect {
			t.Errorf("contract %s, reads %s, %s: got effect %q, want %q: %s", tt.contract, tt.reads, tt.tool, e.Effect, tt.effect, a.Body)
		}
	}
}

// The texts follow the call's format, if the tool has that argument.
func TestPatternsFormats(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/format-markdown", "patterns/format-json", "patterns/format-both", "patterns/format-default", "patterns/format-unknown",
		"patterns/format-tools", "patterns/format-other-tools", "patterns/human-mime-type", "patterns/json-mime-type", "patterns/json-indent",
		"patterns/bad-arguments", "patterns/unknown-tool")
	const (
		down     = `{"kind":"toolError:v1","code":"SERVER_ERROR","message":"Internal server error: farm failed (HTTP 500).","retryable":true,"details":{"statusCode":500}}`
		missing  = `{"kind":"toolError:v1","code":"CLIENT_ERROR","message":"Invalid request: q is required.","retryable":false,"details":{"tool":"search_patterns"}}`
		markdown = "markdown"
	)
	srv := testkit.NewServer(t, patternTools())
	for _, tool := range []string{searchPatterns, analyzeCode} {
		srv.Always(tool, faults.Status(http.StatusInternalServerError, faults.Plain))
	}
	client := gatewaytest.Start(t, srv.URL(), "contract: patterns", "timeout: 10s").Client(t, testkit.Legacy)
	for _, tt := range []struct{ tool, arguments, format, object string }{
		{searchPatterns, `{"q":"x"}`, markdown, down},
		{searchPatterns, `{"q":"x","format":"markdown"}`, markdown, down},
		{searchPatterns, `{"q":"x","format":"json"}`, "json", down},
		{searchPatterns, `{"q":"x","format":"both"}`, "both", down},
		{searchPatterns, `{"q":"x","format":"html"}`, markdown, down},
		{searchPatterns, `{"q":"x","format":7}`, markdown, down},
		{searchPatterns, `{"format":"json"}`, "json", missing},
		{searchPatterns, `{}`, markdown, missing},
		{analyzeCode, `{"code":"x","format":"json"}`, markdown, down},
	} {
		a, err := client.Call(t.Context(), tt.tool, tt.arguments)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(inPatterns(t, tt.format, tt.object), gatewaytest.Shown(t, a)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.tool, tt.arguments, diff)
		}
	}
	a, err := client.Call(t.Context(), "search_pattern", `{"q":"x","format":"json"}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := gatewaytest.Shown(t, a); !strings.HasPrefix(got, `{"content":[{"type":"text","text":"Invalid request: There is no tool named \"search_pattern\"`) ||
		!strings.Contains(got, `"code":"CLIENT_ERROR"`) {
		t.Errorf("unknown tool: got %s", got)
	}
}

// The tools that the contract knows to take a format are believed to, even if the server does not say so or cannot be
// asked.
func TestPatternsFormatIsBelieved(t *testing.T) {
	t.Parallel()
	noSchema := testkit.WithTools(testkit.Tool{Name: searchPatterns}, testkit.Tool{Name: getPattern}, testkit.Tool{Name: analyzeCode})
	for _, tt := range []struct {
		name  string
		serve func(srv *testkit.Server)
	}{
		{"a schema without it", func(srv *testkit.Server) {
			for _, tool := range []string{searchPatterns, getPattern, analyzeCode} {
				srv.Always(tool, faults.Status(http.StatusInternalServerError, faults.Plain))
			}
		}},
		{"a server that is down", func(srv *testkit.Server) { _ = srv.Close() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, noSchema)
			tt.serve(srv)
			client := gatewaytest.Start(t, srv.URL(), "contract: patterns", "timeout: 500ms").Client(t, testkit.Modern)
			for _, call := range []struct {
				tool, format string
				json         bool
			}{
				{searchPatterns, "json", true},
				{getPattern, "json", true},
				{getPattern, "both", false},
				{analyzeCode, "json", false},
			} {
				a, err := client.Call(t.Context(), call.tool, `{"q":"x","id":"x","format":"`+call.format+`"}`)
				if err != nil {
					t.Fatal(err)
				}
				got := gatewaytest.Shown(t, a)
				if strings.HasPrefix(got, `{"content":[{"type":"text","text":"{\n`) != call.json || strings.Contains(got, "application/json") != (call.tool != analyzeCode) {
					t.Errorf("%s as %s: got %s", call.tool, call.format, got)
				}
			}
		})
	}
}

// A pattern that does not exist is a question, however the server says so.
func TestPatternsAsks(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/question-not-found")
	const object = `{"kind":"toolError:v1","code":"NOT_FOUND","message":"Resource not found: no such pattern","retryable":false,"details":{"statusCode":404}}`
	const question = `{"kind":"needsInput:v1","type":"elicitation","message":"There is no pattern \"adaptor\". Which one is meant?",` +
		`"needsInput":{"fields":["id"],"reason":"not_found"}}`
	for name, fault := range map[string]testkit.Fault{
		"its own form":      faults.Result("", inPatterns(t, "both", object)),
		"its sentence":      faults.ToolError("", "Resource not found: /api/patterns/adaptor"),
		"an HTTP status":    faults.Status(http.StatusNotFound, faults.Plain),
		"a text":            faults.ToolError("", "Error: pattern 'adaptor' was not found"),
		"another's object":  faults.ToolError("", `{"error":{"code":"PATTERN_NOT_FOUND","message":"There is no such pattern","status":404}}`),
		"our record":        faults.Result("", `{"content":[],"isError":true,"structuredContent":{"v":1,"kind":"not_found","message":"No such pattern."}}`),
		"structure alone":   faults.Result("", `{"content":[],"isError":true,"structuredContent":`+object+`}`),
		"a text of an HTTP": faults.ToolError("", "Request failed with status code 404"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithTools(testkit.Tool{Name: getPattern}, testkit.Tool{Name: searchPatterns}))
			srv.Always(getPattern, fault)
			srv.Always(searchPatterns, fault)
			client := gatewaytest.Start(t, srv.URL(), "contract: patterns", "timeout: 1s").Client(t, testkit.Modern)
			a, err := client.Call(t.Context(), getPattern, `{"id":"adaptor","format":"json"}`)
			if err != nil {
				t.Fatal(err)
			}
			result, err := a.ToolResult()
			if err != nil {
				t.Fatal(err)
			}
			var told bytes.Buffer
			if err := json.Compact(&told, []byte(result.Content[0].Text)); err != nil || result.IsError || told.String() != question {
				t.Errorf("got %s (%v)", a.Body, err)
			}
			if a, err = client.Call(t.Context(), searchPatterns, `{"q":"adaptor"}`); err != nil || !strings.Contains(gatewaytest.Shown(t, a), `"isError":true`) {
				t.Errorf("another tool: %s (%v)", a.Body, err)
			}
		})
	}
}

// Log lines of a program between its messages do no harm.
func TestPatternsOverNoise(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/stdout-noise")
	program := child.NewProgram(t)
	client := gatewaytest.StartProgram(t, program, "contract: patterns").Client(t, testkit.Legacy)
	program.Next(testkit.GetField, "leak-environ") // writes its environment to stdout, then answers
	a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"f-1"}`)
	if err != nil {
		t.Fatal(err)
	}
	if e := gatewaytest.Record(t, a); e.Code != "UNKNOWN_ERROR" || !strings.HasPrefix(e.Message, "cannot log in: ") {
		t.Errorf("got %s %q", e.Code, e.Message)
	}
}

// A question of the server is not a failure: it passes unchanged, including media types of texts.
func TestPatternsQuestion(t *testing.T) {
	t.Parallel()
	const question = `{"content":[{"type":"text","text":"Which one?","mimeType":"text/markdown"}],` +
		`"structuredContent":{"kind":"needsInput:v1","type":"elicitation","message":"Which one?"}}`
	for _, entry := range []string{"contract: patterns", "contract: recourse"} {
		for _, era := range testkit.Eras {
			for _, form := range []testkit.AnswerForm{testkit.JSON, testkit.SSE} {
				srv := testkit.NewServer(t, patternTools(), testkit.WithForm(form))
				srv.Next(searchPatterns, faults.Result("", question))
				a, err := gatewaytest.Start(t, srv.URL(), entry, "reads: patterns").Client(t, era).Call(t.Context(), searchPatterns, `{"q":"x"}`)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(question, string(a.Message.Result)); diff != "" {
					t.Errorf("%s, %s, %s (-want +got):\n%s", entry, era, form, diff)
				}
			}
		}
	}
}

// Failures of the public reference server are read as what they are, and written in every contract. In its own contract they
// keep all details.
func TestPatternsPublicServer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		object string
		kind   recourse.Kind
		retry  recourse.Retry
	}{
		{`{"kind":"toolError:v1","code":"NETWORK_ERROR","message":"fetch failed","retryable":true,"details":{"errorName":"TypeError","errorType":"fetch_error","hasApiKey":false}}`, recourse.KindUnreachable, recourse.RetrySameCall},
		{`{"kind":"toolError:v1","code":"NETWORK_ERROR","message":"It is not valid JSON","retryable":true,"details":{"errorName":"SyntaxError","errorType":"network"}}`, recourse.KindBadResponse, recourse.RetrySameCall},
		{`{"kind":"toolError:v1","code":"CLIENT_ERROR","message":"HTTP 429","retryable":false,"details":{"statusCode":429}}`, recourse.KindRateLimited, recourse.RetryNever},
	} {
		for _, contract := range []string{"patterns", "recourse"} {
			srv := testkit.NewServer(t, patternTools())
			srv.Next(searchPatterns, faults.Result("", inPatterns(t, "both", tt.object)))
			client := gatewaytest.Start(t, srv.URL(), "contract: "+contract, "reads: patterns", "tools: {'*': {read_only: true}}").Client(t, testkit.Modern)
			a, err := client.Call(t.Context(), searchPatterns, `{"q":"x","format":"both"}`)
			if err != nil {
				t.Fatal(err)
			}
			if e := gatewaytest.Record(t, a); e.Kind != tt.kind || e.RetryAdvice() != tt.retry || e.Effect != recourse.EffectNone {
				t.Errorf("%s in %s: got %s, retry %s, effect %s", tt.object, contract, e.Kind, e.RetryAdvice(), e.Effect)
			}
			_, details, _ := strings.Cut(tt.object, `"details":`)
			if contract == "patterns" && (!strings.Contains(gatewaytest.Shown(t, a), details) || strings.Count(gatewaytest.Shown(t, a), `"mimeType"`) != 2) {
				t.Errorf("%s: got %s", tt.object, gatewaytest.Shown(t, a))
			}
		}
	}
}

// decoded decodes a JSON text.
func decoded(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}
