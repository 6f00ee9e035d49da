package mcptool_test

import (
	stdcmp "cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/mcptool"
)

// The answers of a FieldMCP server's provider become the codes that its page lists.
func TestFieldmcpProvider(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name     string
		answer   http.HandlerFunc // nil means that nobody listens
		timeout  time.Duration
		code     string
		promises []string
	}{
		{name: "no connection", code: "PROVIDER_UNAVAILABLE", promises: []string{"fieldmcp/upstream-unreachable"}},
		{
			name: "no answer in time", code: "PROVIDER_TIMEOUT", promises: []string{"fieldmcp/upstream-deadline"},
			answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, timeout: 50 * time.Millisecond,
		},
		{name: "502", answer: answers(502, ""), code: "PROVIDER_UNAVAILABLE", promises: []string{"fieldmcp/upstream-502-503"}},
		{name: "503", answer: answers(503, ""), code: "PROVIDER_UNAVAILABLE", promises: []string{"fieldmcp/upstream-502-503"}},
		{name: "408", answer: answers(408, ""), code: "PROVIDER_TIMEOUT", promises: []string{"fieldmcp/upstream-408-504"}},
		{name: "504", answer: answers(504, ""), code: "PROVIDER_TIMEOUT", promises: []string{"fieldmcp/upstream-408-504"}},
		{name: "429", answer: answers(429, ""), code: "RATE_LIMIT_PROVIDER", promises: []string{"fieldmcp/upstream-429"}},
		{name: "401", answer: answers(401, `{"error":"invalid_token"}`), code: "TOKEN_EXPIRED", promises: []string{"fieldmcp/upstream-401"}},
		{name: "401, revoked", answer: answers(401, `{"error":"invalid_grant"}`), code: "TOKEN_REVOKED", promises: []string{"fieldmcp/upstream-invalid-grant"}},
		{
			name: "403 for a scope", answer: answers(403, `{"error":"insufficient_scope"}`), code: "MISSING_SCOPE",
			promises: []string{"fieldmcp/upstream-insufficient-scope"},
		},
		{name: "418", answer: answers(418, ""), code: "PROVIDER_ERROR", promises: []string{"fieldmcp/upstream-other"}},
		{name: "500", answer: answers(500, ""), code: "PROVIDER_ERROR", promises: []string{"fieldmcp/upstream-other"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			promises.Covers(t, test.promises...)
			provider := httptest.NewServer(test.answer)
			t.Cleanup(provider.Close)
			if test.answer == nil {
				provider.Close()
			}
			client := &http.Client{Transport: mcptool.Transport(&http.Transport{DisableKeepAlives: true}, "John Deere")}
			server := newServer()
			mcp.AddTool(server, &mcp.Tool{Name: "get_field"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
				ctx, cancel := context.WithTimeout(ctx, stdcmp.Or(test.timeout, time.Minute))
				defer cancel()
				_, err := fetch(ctx, client, http.MethodGet, provider.URL)
				return nil, nil, err
			})
			mcptool.Use(server, builtin(t, "fieldmcp"), quiet)
			e := dialStdio(t, server).call(t, "get_field", `{}`).record(t)
			if e.Code != test.code || e.Provider != "John Deere" || e.Origin != recourse.OriginProvider {
				t.Errorf("%v (%s) of %s, provider %q", e, e.Code, e.Origin, e.Provider)
			}
			if limited := test.code == "RATE_LIMIT_PROVIDER"; limited != (e.RetryAfter.Seconds() == 7) {
				t.Errorf("got wait %s", e.RetryAfter)
			}
		})
	}
}

// answers returns a handler that answers with a status and a body; 429 states a wait.
func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", strconv.Itoa(7))
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// A missing resource has the code of its type, if there is one.
func TestFieldmcpResources(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/farm-and-operation", "fieldmcp/field-resource-type")

	codes := map[string]string{
		"field": "FIELD_NOT_FOUND", "organization": "ORG_NOT_FOUND", "equipment": "EQUIPMENT_NOT_FOUND", "boundary": "BOUNDARY_NOT_FOUND",
		"farm": "RESOURCE_NOT_FOUND", "operation": "RESOURCE_NOT_FOUND",
	}
	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "get"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Type string `json:"type"`
	},
	) (*mcp.CallToolResult, any, error) {
		return nil, nil, recourse.NotFound(in.Type, "X-9")
	})
	mcptool.Use(server, builtin(t, "fieldmcp"), quiet)
	client := dialStdio(t, server)
	for resource, code := range codes {
		type object struct {
			Code, ResourceType, ResourceID string
			Retryable                      *bool
		}
		var got object
		unmarshal(t, []byte(client.call(t, "get", `{"type":"`+resource+`"}`).result(t).Text()), &got)
		if diff := cmp.Diff(object{code, resource, "X-9", new(false)}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", resource, diff)
		}
	}
}

// A violation's rule, from the tool's own check, selects the number.
func TestCommerceRules(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/format-rules", "commerce/code-2001", "commerce/code-2002", "commerce/code-2003", "commerce/reason-rule")

	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "check"}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Rule string `json:"rule"`
	},
	) (*mcp.CallToolResult, any, error) {
		kind := recourse.KindInvalidValue
		if in.Rule == "required" {
			kind = recourse.KindMissingParam
		}
		return nil, nil, recourse.New(kind, "The date is wrong.").
			WithViolations(recourse.Violation{Pointer: "/order/date", Param: "order.date", Rule: in.Rule})
	})
	mcptool.Use(server, builtin(t, "commerce"), quiet)
	client := dialStdio(t, server)
	for rule, code := range map[string]int{"required": 2002, "format": 2003, "pattern": 2003, "minimum": 2001, "enum": 2001, "maxLength": 2001} {
		var got struct {
			Code    int
			Details struct{ Field, Reason string }
		}
		unmarshal(t, []byte(client.call(t, "check", `{"rule":"`+rule+`"}`).result(t).Text()), &got)
		if got.Code != code || got.Details.Field != "order.date" || got.Details.Reason != rule {
			t.Errorf("%s: %+v, want %d", rule, got, code)
		}
	}
}

// A whole question of a server that follows patterns.
func TestPatternsQuestion(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "patterns/question-kind", "patterns/question-message", "patterns/question-needs-input", "patterns/question-options",
		"patterns/question-no-error", "patterns/question-format")

	question := &recourse.NeedsInput{
		Message: "No pattern has the id singelton.", Reason: "not_found", Fields: []string{"id"},
		Suggestions: map[string][]string{"id": {"singleton", "simpleton"}},
		Options:     []recourse.Option{{Label: "Singleton", Value: "singleton", Description: "One instance", Field: "id"}},
	}
	const object = `{"kind":"needsInput:v1","type":"elicitation","message":"No pattern has the id singelton.","needsInput":{"fields":["id"],` +
		`"reason":"not_found","suggestions":{"id":["singleton","simpleton"]}},"options":[{"label":"Singleton","value":"singleton",` +
		`"description":"One instance","field":"id"}]}`
	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "get_pattern"}, func(context.Context, *mcp.CallToolRequest, searchArgs) (*mcp.CallToolResult, any, error) {
		return nil, nil, question
	})
	mcptool.Use(server, builtin(t, "patterns"), quiet)
	client := dialStdio(t, server)
	for format, texts := range map[string]int{"markdown": 1, "json": 1, "both": 2} {
		r := client.call(t, "get_pattern", `{"q":"singelton","format":"`+format+`"}`)
		result := r.result(t)
		if diff := cmp.Diff(object, string(result.StructuredContent)); diff != "" || result.IsError || len(result.Content) != texts {
			t.Errorf("%s: isError %t, %d texts (-want +got):\n%s", format, result.IsError, len(result.Content), diff)
		}
		inText := json.Valid([]byte(result.Content[len(result.Content)-1].Text))
		if inText != (format != "markdown") {
			t.Errorf("%s: %s", format, r.Result)
		}
	}
}

// A tool that a contract names in verify calls counts as reading, whatever the author's annotations leave out.
func TestReadToolsOfContracts(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "commerce/read-tools")

	for _, tool := range []struct{ contract, name string }{
		{"commerce", "get-orders"}, {"commerce", "get-inventory"}, {"studies", "study_get"}, {"patterns", "anything"},
	} {
		server := newServer()
		mcp.AddTool(server, &mcp.Tool{Name: tool.name}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return nil, nil, recourse.Timeout("the warehouse", 0)
		})
		mcptool.Use(server, builtin(t, tool.contract), quiet)
		if e := dialStdio(t, server).call(t, tool.name, `{}`).record(t); e.Effect != recourse.EffectNone || e.RetryAdvice() != recourse.RetrySameCall {
			t.Errorf("%s: effect %s, %s", tool.name, e.Effect, e.RetryAdvice())
		}
	}
}
