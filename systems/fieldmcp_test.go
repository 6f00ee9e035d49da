package systems_test

import (
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// fieldTools are tools of a FieldMCP server: those that hints name, and one with mutually exclusive parameters.
func fieldTools() testkit.Option {
	return testkit.WithTools(
		testkit.Tool{Name: "deere_list_resources"},
		testkit.Tool{Name: "deere_search_operations"},
		testkit.Tool{
			Name:       "typed",
			Definition: `{"name":"typed","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`,
			Result: func(json.RawMessage) string {
				return protocol.ErrorResult(`{"error":true,"code":"FIELD_NOT_FOUND","message":"x","retryable":false}`)
			},
		},
		testkit.Tool{Name: "search", Definition: `{"name":"search","inputSchema":{"type":"object","properties":{"id":{"type":"string"},` +
			`"limit":{"type":"integer","maximum":100},"from":{"type":"string"},"season":{"type":"string"}},"required":["id"],` +
			`"not":{"required":["from","season"]}}}`},
	)
}

// fieldError returns an error of a FieldMCP server with a code and more members.
func fieldError(code, members string) testkit.Fault {
	return faults.ToolError("", fmt.Sprintf(`{"error":true,"code":%q,"message":"It failed.","retryable":false%s}`, code, members))
}

// Failures are written in the form of fieldmcp: wrong arguments, failures in the server's own form of the contract, and
// failures of a server that does not follow it.
func TestFieldmcp(t *testing.T) {
	t.Parallel()
	const field = `{"id":"f-1"}`
	tests := []struct {
		name, arguments string
		fault           testkit.Fault
		timeout         string // of calls; "": enough for all repetitions, but less than the waits that servers ask for
		want            string
		promises        []string
		readings        []string // promises about reading the server's own form
	}{
		{
			name: "a missing parameter", arguments: `{}`,
			want: `{"error":true,"code":"MISSING_REQUIRED_PARAM","message":"id is required.","retryable":false,` +
				`"suggestedAction":"Check the parameter table of search. Provide id.","requestId":"REQ","param":"id","expectedType":"a string"}`,
			promises: []string{
				"fieldmcp/code-missing-required-param", "fieldmcp/hint-missing-required-param", "fieldmcp/error-in-content", "fieldmcp/is-error",
				"fieldmcp/structured-content", "fieldmcp/field-error", "fieldmcp/field-code", "fieldmcp/field-message", "fieldmcp/field-retryable",
				"fieldmcp/field-suggested-action", "fieldmcp/field-request-id", "fieldmcp/field-param", "fieldmcp/absent-fields",
			},
		},
		{
			name: "a value out of range", arguments: `{"id":"f-1","limit":500}`,
			want: `{"error":true,"code":"INVALID_PARAM_VALUE","message":"limit must be at most 100.","retryable":false,` +
				`"suggestedAction":"Check the allowed values: providedValue and expectedType say what was wrong.","requestId":"REQ",` +
				`"param":"limit","providedValue":500,"expectedType":"at most 100"}`,
			promises: []string{
				"fieldmcp/code-invalid-param-value", "fieldmcp/hint-invalid-param-value", "fieldmcp/field-provided-value", "fieldmcp/field-expected-type",
			},
		},
		{
			name: "a wrong type", arguments: `{"id":"f-1","limit":"ten"}`,
			want: `{"error":true,"code":"INVALID_PARAM_TYPE","message":"limit must be an integer.","retryable":false,` +
				`"suggestedAction":"Fix the type of limit: expected an integer.","requestId":"REQ","param":"limit","providedValue":"ten","expectedType":"an integer"}`,
			promises: []string{"fieldmcp/code-invalid-param-type", "fieldmcp/hint-invalid-param-type"},
		},
		{
			name: "parameters that exclude each other", arguments: `{"id":"f-1","from":"a","season":"b"}`,
			want: `{"error":true,"code":"MUTUALLY_EXCLUSIVE_PARAMS","message":"from and season exclude each other.","retryable":false,` +
				`"suggestedAction":"Remove one of the conflicting parameters.","requestId":"REQ",` +
				`"param":"from","providedValue":"a","expectedType":"only one of from and season"}`,
			promises: []string{
				"fieldmcp/code-mutually-exclusive-params", "fieldmcp/hint-mutually-exclusive-params", "fieldmcp/message-names-both-params",
			},
		},
		{
			name: "an expired token", arguments: field, fault: fieldError("TOKEN_EXPIRED", `,"provider":"John Deere"`),
			want: `{"error":true,"code":"TOKEN_EXPIRED","message":"It failed.","retryable":false,"suggestedAction":"This is the provider's token, not yours. ` +
				`The farmer needs to re-authorize John Deere in the dashboard.","provider":"John Deere"}`,
			readings: []string{"fieldmcp/code-token-expired", "fieldmcp/hint-token-expired", "fieldmcp/field-provider"},
		},
		{
			name: "a revoked token", arguments: field, fault: fieldError("TOKEN_REVOKED", `,"provider":"John Deere"`),
			want: `{"error":true,"code":"TOKEN_REVOKED","message":"It failed.","retryable":false,` +
				`"suggestedAction":"The farmer needs to re-connect John Deere in the dashboard.","provider":"John Deere"}`,
			readings: []string{"fieldmcp/code-token-revoked", "fieldmcp/hint-token-revoked"},
		},
		{
			name: "a missing scope", arguments: field, fault: fieldError("MISSING_SCOPE", `,"missingScopes":["ag1","ag2"]`),
			want: `{"error":true,"code":"MISSING_SCOPE","message":"It failed.","retryable":false,` +
				`"suggestedAction":"The farmer needs to re-authorize with the required scopes, see missingScopes.","missingScopes":["ag1","ag2"]}`,
			readings: []string{"fieldmcp/code-missing-scope", "fieldmcp/hint-missing-scope", "fieldmcp/field-missing-scopes"},
		},
		{
			name: "no connection to the provider yet", arguments: field, fault: fieldError("PROVIDER_NOT_CONNECTED", `,"provider":"John Deere"`),
			want: `{"error":true,"code":"PROVIDER_NOT_CONNECTED","message":"It failed.","retryable":false,` +
				`"suggestedAction":"The farmer needs to connect John Deere in the dashboard first.","provider":"John Deere"}`,
			readings: []string{"fieldmcp/code-provider-not-connected", "fieldmcp/hint-provider-not-connected"},
		},
		{
			name: "the provider's rate limit", arguments: field, fault: fieldError("RATE_LIMIT_PROVIDER", `,"retryAfter":7`),
			want: `{"error":true,"code":"RATE_LIMIT_PROVIDER","message":"It failed.","retryable":true,` +
				`"suggestedAction":"Wait 7 s: the provider limits requests for the moment.","retryAfter":7}`,
			readings: []string{"fieldmcp/hint-rate-limit-provider", "fieldmcp/field-retry-after"},
		},
		{
			name: "429", arguments: field, fault: faults.Status(http.StatusTooManyRequests, faults.Plain).With("Retry-After", "12"),
			want: `{"error":true,"code":"RATE_LIMIT_PROVIDER","message":"farm limits requests at the moment.","retryable":true,` +
				`"suggestedAction":"Wait 12 s: the provider limits requests for the moment.","requestId":"REQ","retryAfter":12,"provider":"farm"}`,
			promises: []string{"fieldmcp/code-rate-limit-provider", "fieldmcp/rate-limit-org-not-over-http"},
		},
		{
			name: "another resource", arguments: field, fault: fieldError("RESOURCE_NOT_FOUND", `,"resourceId":"x","resourceType":"operation"`),
			want: `{"error":true,"code":"RESOURCE_NOT_FOUND","message":"It failed.","retryable":false,` +
				`"suggestedAction":"Use deere_list_resources to discover available resources.","resourceId":"x","resourceType":"operation"}`,
			readings: []string{
				"fieldmcp/code-resource-not-found", "fieldmcp/hint-resource-not-found", "fieldmcp/farm-and-operation", "fieldmcp/field-resource-id",
				"fieldmcp/field-resource-type",
			},
		},
		{
			name: "no such field", arguments: field, fault: fieldError("FIELD_NOT_FOUND", `,"resourceId":"x"`),
			want: `{"error":true,"code":"FIELD_NOT_FOUND","message":"It failed.","retryable":false,` +
				`"suggestedAction":"Use deere_list_resources with resourceType='fields' to find valid field IDs.","resourceId":"x"}`,
			readings: []string{"fieldmcp/code-field-not-found", "fieldmcp/hint-field-not-found"},
		},
		{
			name: "no such organization", arguments: field, fault: fieldError("ORG_NOT_FOUND", `,"resourceId":"x"`),
			want: `{"error":true,"code":"ORG_NOT_FOUND","message":"It failed.","retryable":false,` +
				`"suggestedAction":"Use deere_list_resources with resourceType='organizations' to find valid org IDs.","resourceId":"x"}`,
			readings: []string{"fieldmcp/code-org-not-found", "fieldmcp/hint-org-not-found"},
		},
		{
			name: "no such equipment", arguments: field, fault: fieldError("EQUIPMENT_NOT_FOUND", `,"resourceId":"x"`),
			want: `{"error":true,"code":"EQUIPMENT_NOT_FOUND","message":"It failed.","retryable":false,` +
				`"suggestedAction":"Use deere_list_resources with resourceType='equipment' to find valid equipment IDs.","resourceId":"x"}`,
			readings: []string{"fieldmcp/code-equipment-not-found", "fieldmcp/hint-equipment-not-found"},
		},
		{
			name: "no such boundary", arguments: field, fault: fieldError("BOUNDARY_NOT_FOUND", `,"resourceId":"x"`),
			want: `{"error":true,"code":"BOUNDARY_NOT_FOUND","message":"It failed.","retryable":false,` +
				`"suggestedAction":"Use deere_list_resources with resourceType='boundaries' and the field's orgId to find valid boundary IDs for that field.",` +
				`"resourceId":"x"}`,
			readings: []string{"fieldmcp/code-boundary-not-found", "fieldmcp/hint-boundary-not-found"},
		},
		{
			name: "503", arguments: field, fault: faults.Status(http.StatusServiceUnavailable, faults.Plain),
			want: `{"error":true,"code":"PROVIDER_UNAVAILABLE","message":"farm is not available at the moment.","retryable":true,` +
				`"suggestedAction":"Wait 30 s. The provider may have an outage.","requestId":"REQ","retryAfter":30,"provider":"farm"}`,
			promises: []string{"fieldmcp/code-provider-unavailable", "fieldmcp/provider-unavailable-wait", "fieldmcp/hint-provider-unavailable"},
		},
		{
			name: "a reset connection", arguments: field, fault: faults.ResetBeforeAnswer(),
			want: `{"error":true,"code":"PROVIDER_UNAVAILABLE","message":"The connection to farm broke before the answer was complete.","retryable":true,` +
				`"suggestedAction":"Wait 30 s. The provider may have an outage.","requestId":"REQ","retryAfter":30,"provider":"farm"}`,
		},
		{
			name: "no answer in time", arguments: field, fault: faults.Hang(), timeout: "1s",
			want: `{"error":true,"code":"PROVIDER_TIMEOUT","message":"farm did not answer within 1 s.","retryable":true,` +
				`"suggestedAction":"Retry. Consider requesting less data: a shorter date range, fewer include options.","requestId":"REQ","provider":"farm"}`,
			promises: []string{"fieldmcp/code-provider-timeout", "fieldmcp/hint-provider-timeout"},
		},
		{
			name: "504", arguments: field, fault: faults.Status(http.StatusGatewayTimeout, faults.Plain),
			want: `{"error":true,"code":"PROVIDER_TIMEOUT","message":"farm did not answer in time.","retryable":true,` +
				`"suggestedAction":"Retry. Consider requesting less data: a shorter date range, fewer include options.","requestId":"REQ","provider":"farm"}`,
		},
		{
			name: "another 5xx", arguments: field, fault: faults.Status(http.StatusInternalServerError, faults.Plain),
			want:     `{"error":true,"code":"PROVIDER_ERROR","message":"farm failed (HTTP 500).","retryable":true,"suggestedAction":"Retry shortly.","requestId":"REQ","provider":"farm"}`,
			promises: []string{"fieldmcp/code-provider-error-5xx"},
		},
		{
			name: "another 4xx", arguments: field, fault: faults.Status(http.StatusTeapot, faults.Plain),
			want: `{"error":true,"code":"PROVIDER_ERROR","message":"farm refused the request (HTTP 418).","retryable":false,` +
				`"suggestedAction":"Check the request parameters.","requestId":"REQ","provider":"farm"}`,
			promises: []string{"fieldmcp/code-provider-error-4xx"},
		},
		{
			name: "403 with insufficient_scope: of the gateway's own credentials", arguments: field, fault: faults.InsufficientScope(),
			want: `{"error":true,"code":"PROVIDER_ERROR","message":"farm refused the gateway's own credentials. The operator of the gateway has to renew them.",` +
				`"retryable":false,"suggestedAction":"Nothing in the request can help. A person has to act on what the message says.","requestId":"REQ"}`,
		},
		{
			name: "critical data missing", arguments: field,
			fault: fieldError("INSUFFICIENT_DATA", `,"missingData":[{"what":"yield","impact":"required","message":"No yield."},{"what":"soil","impact":"degraded"}]`),
			want: `{"error":true,"code":"INSUFFICIENT_DATA","message":"It failed.","retryable":false,"suggestedAction":"Check the missingData array.",` +
				`"missingData":[{"what":"yield","impact":"required","message":"No yield."},{"what":"soil","impact":"degraded"}]}`,
			readings: []string{
				"fieldmcp/code-insufficient-data", "fieldmcp/hint-insufficient-data", "fieldmcp/field-missing-data", "fieldmcp/missing-data-impact",
			},
		},
		{
			name: "no data", arguments: field, fault: fieldError("NO_DATA_FOR_PERIOD", ""),
			want: `{"error":true,"code":"NO_DATA_FOR_PERIOD","message":"It failed.","retryable":false,` +
				`"suggestedAction":"Try a different time period. Use deere_search_operations to discover what data is available."}`,
			readings: []string{"fieldmcp/code-no-data-for-period", "fieldmcp/hint-no-data-for-period"},
		},
		{
			name: "a partial success", arguments: field,
			fault: fieldError("PARTIAL_SUCCESS", `,"succeeded":[{"id":"a","data":{"ha":1.5}}],"failed":[{"id":"b","code":"PROVIDER_TIMEOUT","message":"Late.","retryable":true}]`),
			want: `{"error":true,"code":"PARTIAL_SUCCESS","message":"It failed.","retryable":false,` +
				`"suggestedAction":"Use the succeeded array. Repeat only the failed items whose own error is retryable.",` +
				`"succeeded":[{"id":"a","data":{"ha":1.5}}],"failed":[{"id":"b","code":"PROVIDER_TIMEOUT","message":"Late.","retryable":true}]}`,
			readings: []string{
				"fieldmcp/code-partial-success", "fieldmcp/hint-partial-success", "fieldmcp/field-succeeded", "fieldmcp/field-failed",
				"fieldmcp/failed-items-retryable", "fieldmcp/partial-data-usable",
			},
		},
		{
			name: "an internal error", arguments: field, fault: fieldError("INTERNAL_ERROR", ""),
			want: `{"error":true,"code":"INTERNAL_ERROR","message":"It failed.","retryable":false,` +
				`"suggestedAction":"Include requestId REQ when contacting support."}`,
			readings: []string{"fieldmcp/code-internal-error", "fieldmcp/hint-internal-error"},
		},
	}
	for _, tt := range tests {
		testkit.Virtual(t, tt.name, func(t *testing.T) {
			promises.Covers(t, tt.promises...)
			promises.Reads(t, tt.readings...)
			srv := testkit.NewServer(t, testkit.InMemory(), fieldTools())
			srv.Always("search", tt.fault)
			client := gatewaytest.Start(t, srv.URL(), "contract: fieldmcp", "reads: fieldmcp", "timeout: "+stdcmp.Or(tt.timeout, "10s")).Client(t, testkit.Legacy)
			a, err := client.Call(t.Context(), "search", tt.arguments)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
				Structured json.RawMessage `json:"structuredContent"`
				IsError    bool            `json:"isError"`
			}
			if err := json.Unmarshal([]byte(gatewaytest.Shown(t, a)), &got); err != nil || len(got.Content) != 1 || !got.IsError {
				t.Fatalf("got %s", gatewaytest.Shown(t, a))
			}
			for _, object := range []string{got.Content[0].Text, string(got.Structured)} {
				if diff := cmp.Diff(decoded(t, tt.want), decoded(t, object)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			if e := gatewaytest.Record(t, a); e.Contract != "fieldmcp" {
				t.Errorf("got record %v", e)
			}
		})
	}
}

// A success passes unchanged, with the request id in a header; after that, a server that is down is reported by the gateway.
func TestFieldmcpServerAndSuccess(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/server-down", "fieldmcp/success-untouched", "fieldmcp/success-is-no-error", "fieldmcp/success-request-id-header",
		"fieldmcp/tools-read-only", "fieldmcp/no-structured-content-for-output-schema")
	srv := testkit.NewServer(t, fieldTools())
	client := gatewaytest.Start(t, srv.URL(), "contract: fieldmcp", "reads: fieldmcp", "title: The farm", "timeout: 10s").Client(t, testkit.Legacy)
	success := protocol.TextResult(`{"error":false,"data":{"ha":1.5},"dataQuality":"PARTIAL","missingData":[{"what":"soil","impact":"optional"}]}`)
	srv.Next("search", faults.ResetBeforeAnswer(), faults.Result("", success)) // the read is repeated
	a, err := client.Call(t.Context(), "search", `{"id":"f-1"}`)
	if err != nil || string(a.Message.Result) != success || a.Header.Get("X-Request-Id") == "" {
		t.Errorf("got %v %s, %v", a.Header, a.Body, err)
	}
	a, err = client.Call(t.Context(), "typed", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if result, err := a.ToolResult(); err != nil || !result.IsError || result.StructuredContent != nil {
		t.Errorf("a tool with an outputSchema: got %s", a.Body)
	}
	if err := srv.Stop(); err != nil {
		t.Fatal(err)
	}
	if a, err = client.Call(t.Context(), "search", `{"id":"f-1"}`); err != nil {
		t.Fatal(err)
	}
	if e := gatewaytest.Record(t, a); e.Code != "PROVIDER_UNAVAILABLE" || e.Provider != "The farm" || e.Origin != recourse.OriginGateway {
		t.Errorf("got %s of %s, provider %s", e.Code, e.Origin, e.Provider)
	}
}
