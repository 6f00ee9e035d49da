package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// An API's body in the form of the endpoint's contract is edited, as it would be behind an MCP server: it keeps its members.
func TestAPIBodiesInTheContractsForm(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		contract string
		status   int
		body     string
		has      []string // in what is shown
		kind     recourse.Kind
	}{
		"commerce, a code of its own": {
			"commerce", 409, `{"code":3500,"message":"The drawer is open.","retryable":false,"till":4,"details":{"reason":"drawer_open","context":{"seal":"R-1"},"by":["ann"]}}`,
			[]string{`"error":{"code":3500,"message":"The drawer is open.","retryable":false,"till":4,"details":{"reason":"drawer_open","context":{"seal":"R-1"},"by":["ann"],"suggestion":"Look up`, `"isError":true`},
			recourse.KindInvalidState,
		},
		"commerce, nested": {
			"commerce", 400, `{"error":{"code":4001,"message":"No.","retryable":true,"details":{"originalError":"PICKED"}},"trace":"t-1"}`,
			[]string{`"error":{"code":4001,"message":"No.","retryable":true,"details":{"originalError":"PICKED",`, `\"trace\":\"t-1\"`},
			recourse.KindClientError,
		},
		"commerce, a JSON-RPC answer": {
			"commerce", 500, `{"jsonrpc":"2.0","id":1,"result":{"error":{"code":5100,"message":"Jammed.","retryable":false,"belt":2}}}`,
			[]string{`"error":{"code":5100,"message":"Jammed.","retryable":false,"belt":2,`},
			recourse.KindServerError,
		},
		"commerce, a JSON-RPC error": {
			"commerce", 400, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params","data":{"field":"order.note","limit":80}}}`,
			[]string{`"error":{"code":-32602,"message":"Invalid params; Correct order.note.","data":{"field":"order.note","limit":80,"error":{"code":2001,`},
			recourse.KindUnknown, // the form has no place for the record
		},
		"commerce, a status as a code": {
			"commerce", 404, `{"code":404,"message":"No such order"}`, []string{`"code":4001`, `No such order`}, recourse.KindNotFound,
		},
		"fieldmcp": {
			"fieldmcp", 404, `{"error":true,"code":"FIELD_NOT_FOUND","message":"No field.","retryable":false,"resourceId":"f-3","county":{"n":[1e+25]}}`,
			[]string{`"structuredContent":{"error":true,"code":"FIELD_NOT_FOUND","message":"No field.","retryable":false,"resourceId":"f-3","county":{"n":[1e+25]},`},
			recourse.KindNotFound,
		},
		"fieldmcp, nested": {
			"fieldmcp", 404, `{"error":{"code":"ORG_NOT_FOUND","message":"No org.","resourceId":"o-3","own":7},"region":"eu"}`,
			[]string{`{"error":true,"code":"ORG_NOT_FOUND","message":"No org.","resourceId":"o-3","own":7,"region":"eu","retryable":false`},
			recourse.KindNotFound,
		},
		"fieldmcp, without its mark": {
			"fieldmcp", 503, `{"code":"PROVIDER_UNAVAILABLE","message":"Down.","retryable":true,"retryAfter":9,"own":7}`,
			[]string{`{"error":true,"code":"PROVIDER_UNAVAILABLE","message":"Down.","retryable":true,"retryAfter":9,"own":7`},
			recourse.KindUnavailable,
		},
		"fieldmcp, in part": {
			"fieldmcp", 422, `{"error":true,"code":"PARTIAL_SUCCESS","message":"m","retryable":false,"succeeded":[{"fieldId":"1","acres":2}],"failed":[{"id":"2","code":"X","own":1}]}`,
			[]string{`"succeeded":[{"fieldId":"1","acres":2}]`, `"failed":[{"id":"2","code":"X","own":1`},
			recourse.KindPartial,
		},
		"fieldmcp, a code that the status contradicts": {
			"fieldmcp", 500, `{"error":true,"code":"NO_DATA_FOR_PERIOD","message":"None.","retryable":false}`, []string{`"code":"NO_DATA_FOR_PERIOD"`}, recourse.KindNoData,
		},
		"fieldmcp, the provider's own error": {
			"fieldmcp", 502, `{"error":true,"code":"PROVIDER_ERROR","message":"Deere said 418.","retryable":false,"provider":"John Deere"}`,
			[]string{`"retryable":false,"provider":"John Deere"`},
			recourse.KindServerError,
		},
		"fieldmcp, an account": {
			"fieldmcp", 401, `{"error":true,"code":"TOKEN_EXPIRED","message":"Expired.","retryable":false,"provider":"John Deere","own":1}`,
			[]string{`"code":"TOKEN_EXPIRED","message":"Expired.","retryable":false,"provider":"John Deere","own":1`},
			recourse.KindTokenExpired,
		},
		"patterns": {
			"patterns", 503, `{"kind":"toolError:v1","code":"SERVER_ERROR","message":"Internal server error: No disk","retryable":true,"shard":3,"details":{"statusCode":507,"disk":"d"}}`,
			[]string{`"text":"Internal server error: No disk","mimeType":"text/markdown"`, `"retryable":true,"shard":3,"details":{"statusCode":507,"disk":"d"}}`},
			recourse.KindServerError,
		},
		"patterns, a whole result": {
			"patterns", 400, `{"content":[{"type":"text","text":"Invalid request: limit","mimeType":"text/markdown"}],"structuredContent":{"kind":"toolError:v1","code":"CLIENT_ERROR","message":"Invalid request: limit","retryable":false,"own":1},"isError":true}`,
			[]string{`"text":"Invalid request: limit"`, `"own":1`},
			recourse.KindClientError,
		},
		"patterns, our own key": {
			"patterns", 401, `{"kind":"toolError:v1","code":"AUTHENTICATION_ERROR","message":"Authentication required: No key","retryable":false,"realm":"x"}`,
			[]string{`AUTHENTICATION_ERROR`, `The operator of the gateway has to renew them`, `"realm":"x"`},
			recourse.KindPermissionDenied,
		},
		"studies, a line": {
			"studies", 422, `[no_audio_track] Silent. Suggestions: Add one [envelope] {"error_kind":"no_audio_track","suggestions":["Add one"],"codec":"x"}`,
			[]string{`"text":"[no_audio_track] Silent. Suggestions: Add one [envelope] {\"error_kind\":\"no_audio_track\",\"suggestions\":[\"Add one\"],\"codec\":\"x\"}"`},
			recourse.KindClientError,
		},
		"studies, a line in a member": {
			"studies", 404, `{"detail":"[forbidden] Not yours.","owner":"u-2"}`, []string{`[forbidden] Not yours.`, `\"owner\":\"u-2\"`}, recourse.KindPermissionDenied,
		},
		"studies, nested, with members of its own": {
			"studies", 422, `{"detail":{"error_code":"too_long","message":"Cut it.","limit":{"s":60}},"trace":"t-1"}`,
			[]string{`[too_long] Cut it. Suggestions: `, `\"limit\":{\"s\":60}`, `\"trace\":\"t-1\"`},
			recourse.KindInvalidValue,
		},
		"terra, a sentence in a problem": {
			"terra", 400, `{"type":"about:blank","title":"bad request","instance":"/x","detail":"fields or select are required","hint":"h"}`,
			[]string{`"text":"fields or select are required"`, `"hint":"h"`},
			recourse.KindMissingParam,
		},
		"terra, a text": {
			"terra", 422, `Error executing tool x: request context is unavailable`, []string{`"text":"request context is unavailable"`}, recourse.KindInternal,
		},
		"recourse": {
			"recourse", 409, `{"v":1,"kind":"conflict","code":"taken","contract":"recourse","message":"Taken.","details":{"by":"ann"}}`,
			[]string{`"code":"taken"`, `"by":"ann"`},
			recourse.KindConflict,
		},
	} {
		testkit.Virtual(t, name, func(t *testing.T) {
			p := gatewaytest.StartProvider(t, func(w http.ResponseWriter, _ *http.Request) {
				media := "application/json"
				if !strings.HasPrefix(tt.body, "{") {
					media = "text/plain"
				}
				w.Header().Set("Content-Type", media)
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			})
			keys := []string{"contract: " + tt.contract}
			if tt.contract == "terra" {
				keys = append(keys, "forward: [dev-id, x-api-key]")
			}
			c := gatewaytest.StartAPI(t, p, gatewaytest.Orders, keys...).Client(t, testkit.Modern)
			c.Header = http.Header{"Dev-Id": {"d"}, "X-Api-Key": {"k"}} // what terra asks for
			a, err := c.Call(t.Context(), "orders_get", `{"id":"7"}`)
			if err != nil {
				t.Fatal(err)
			}
			got := string(a.Body)
			for _, part := range tt.has {
				if !strings.Contains(got, part) {
					t.Errorf("there is no %s in %s", part, got)
				}
			}
			if tt.kind == recourse.KindUnknown && gatewaytest.RecordIn(a) == nil {
				return // the form has no place for it
			}
			if e := gatewaytest.Record(t, a); e.Kind != tt.kind || e.Upstream.Status != tt.status {
				t.Errorf("got %s, HTTP status %d", e.Kind, e.Upstream.Status)
			}
		})
	}
}

// The argument that selects the form of failures works at an API as behind an MCP server, and the provider does not get it.
func TestAPIFormatArgument(t *testing.T) {
	t.Parallel()
	const description = `
openapi: 3.1.0
info: {title: Patterns, version: "1"}
paths:
  /patterns/{id}:
    get:
      operationId: get_pattern
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: fine}}
  /patterns:
    get:
      operationId: search_patterns
      parameters: [{name: q, in: query, schema: {type: string}}, {name: format, in: query, schema: {enum: [csv, json]}}]
      responses: {"200": {description: fine}}
    post: {operationId: analyze_code, requestBody: {content: {application/json: {schema: {type: object, properties: {code: {type: string}}}}}}, responses: {"200": {description: fine}}}
`
	p := gatewaytest.StartProvider(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/missing") {
			testkit.WriteJSON(w, 400, `{"kind":"toolError:v1","code":"NOT_FOUND","message":"Resource not found: it","retryable":false}`)
			return
		}
		testkit.WriteJSON(w, 418, `{"kind":"toolError:v1","code":"CLIENT_ERROR","message":"Invalid request: a teapot","retryable":false,"own":1}`)
	})
	c := gatewaytest.StartAPI(t, p, description, "contract: patterns").Client(t, testkit.Modern)
	for call, want := range map[[2]string]string{
		{"get_pattern", `{"id":"a"}`}:                       "Invalid request: a teapot",
		{"get_pattern", `{"id":"b","format":"markdown"}`}:   "Invalid request: a teapot",
		{"get_pattern", `{"id":"c","format":"json"}`}:       "toolError:v1",
		{"get_pattern", `{"id":"d","format":"both"}`}:       "Invalid request: a teapot + toolError:v1",
		{"get_pattern", `{"id":"e","format":"xml"}`}:        "format must be one of",
		{"get_pattern", `{"id":"missing","format":"json"}`}: `"kind": "needsInput:v1"`, // never NOT_FOUND, whatever the status
		{"search_patterns", `{"q":"a","format":"json"}`}:    "toolError:v1",
		{"analyze_code", `{"code":"x","format":"json"}`}:    "format is not a known parameter",
	} {
		result, _ := callAPI(t, c, call[0], call[1])
		var texts []string
		for _, block := range result.Content {
			text := block.Text
			if strings.HasPrefix(text, "{") && strings.Contains(text, `"own"`) {
				text = "toolError:v1"
			}
			texts = append(texts, text)
		}
		if got := strings.Join(texts, " + "); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", call, got, want)
		}
	}
	sent := p.Requests()
	slices.Sort(sent)
	want := []string{"GET /v1/patterns/a", "GET /v1/patterns/b", "GET /v1/patterns/c", "GET /v1/patterns/d", "GET /v1/patterns/missing", "GET /v1/patterns?q=a&format=json"}
	if !slices.Equal(sent, want) {
		t.Errorf("the provider got %q, want %q", sent, want)
	}
}
