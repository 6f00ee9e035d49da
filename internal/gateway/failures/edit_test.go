package failures_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// A failure that already has the endpoint's form passes as it is spelled, with all that the contract does not know: with
// `contract` alone, and but for the boolean, the wait, the advice, secrets and the record.
func TestEdit(t *testing.T) {
	t.Parallel()
	text := func(object string) string { return `{"type": "text", "text":` + protocol.Quote(object) + `}` }
	twice := func(object string) string {
		return `{ "isError":true, "own":[1e+25], "content":[` + text(object) + `, {"type":"text","text":"more"}], "structuredContent":` + object + `, "_meta":{"trace":"t-1"} }`
	}
	commerce := func(object string) string {
		return `{"content":[` + text(object) + `],"error":` + object + `,"isError":true,"own":{"a":1}}`
	}
	line := func(text string) string {
		return `{"content":[{"type":"text","text":` + protocol.Quote(text) + `,"own":1}],"isError":true}`
	}
	for _, tt := range []struct {
		name, contract, tool string
		sent, want           string // want "": as it was sent
	}{
		{
			"items of any form", "fieldmcp", testkit.GetField,
			twice(`{ "error": true, "code": "PARTIAL_SUCCESS", "message": "1 of 3", "retryable": false, "suggestedAction": "Go on.",` +
				` "succeeded": ["a", {"id":"b","name":"B","hectares":1e+25}, {"fieldId":"c","result":{"x":1.0}}],` +
				` "failed": [{"fieldId":"d","code":"PROVIDER_ERROR","message":"m","retryable":false,"provider":"JD"}, "e", {"id":"f","error":{"code":"X"},"retryable":false}],` +
				` "missingData": ["rain", {"kind":"soil","severity":3}], "missingScopes": "ag1 ag2", "own": {"b":1,"a":[2, 3]} }`), "",
		},
		{
			"a boolean that the table contradicts, and a wait", "fieldmcp", testkit.GetField,
			twice("{\n  \"error\": true,\n  \"code\": \"PROVIDER_UNAVAILABLE\",\n  \"message\": \"m\",\n  \"retryable\": false,\n  \"own\": 1\n}"),
			twice("{\n  \"error\": true,\n  \"code\": \"PROVIDER_UNAVAILABLE\",\n  \"message\": \"m\",\n  \"retryable\": true,\n  \"own\": 1,\n" +
				"  \"suggestedAction\": \"Wait 30 s. The provider may have an outage.\",\n  \"retryAfter\": 30\n}"),
		},
		{
			"a wait that is a text", "fieldmcp", testkit.GetField,
			twice(`{"error":true,"code":"PROVIDER_UNAVAILABLE","message":"m","suggestedAction":"s","retryable":true,"retryAfter":"120"}`), "",
		},
		{
			"a wait with its unit", "fieldmcp", testkit.GetField,
			twice(`{"error":true,"code":"RATE_LIMIT_PROVIDER","message":"m","retryable":true,"retryAfter":"90s"}`),
			twice(`{"error":true,"code":"RATE_LIMIT_PROVIDER","message":"m","retryable":true,"retryAfter":"90s",` +
				`"suggestedAction":"Wait 1 min 30 s: the provider limits requests for the moment."}`),
		},
		{
			"the server's own request id", "fieldmcp", testkit.GetField,
			twice(`{"error":true,"code":"INTERNAL_ERROR","message":"m","retryable":false,"requestId":"srv-77"}`),
			twice(`{"error":true,"code":"INTERNAL_ERROR","message":"m","retryable":false,"requestId":"srv-77",` +
				`"suggestedAction":"Include requestId srv-77 when contacting support."}`),
		},
		{
			"the other way round", "fieldmcp", testkit.GetField,
			twice(`{"error":true,"code":"TOKEN_EXPIRED","message":"m","suggestedAction":"Ask.","retryable":true,"retryAfter":2.5}`),
			twice(`{"error":true,"code":"TOKEN_EXPIRED","message":"m","suggestedAction":"Ask.","retryable":false,"retryAfter":2.5}`),
		},
		{
			"the boolean of an item", "fieldmcp", testkit.GetField,
			twice(`{"error":true,"code":"PARTIAL_SUCCESS","message":"m","suggestedAction":"s","retryable":false,"failed":[{"id":"a","code":"PROVIDER_TIMEOUT","own":1,"retryable":false}]}`),
			twice(`{"error":true,"code":"PARTIAL_SUCCESS","message":"m","suggestedAction":"s","retryable":false,"failed":[{"id":"a","code":"PROVIDER_TIMEOUT","own":1,"retryable":true}]}`),
		},
		{
			"a number of its own", "commerce", testkit.GetField,
			commerce(`{"code":3500,"message":"m","retryable":false,"own":1,"details":{"field":"a","reason":"b","suggestion":"c","own":2,"context":{"name":"N","list":[1, 2]}}}`), "",
		},
		{"others", "commerce", testkit.GetField, commerce(`{"code":1100,"message":"m","retryable":false,"details":{"reason":"r","suggestion":"c","context":"text"}}`), ""},
		{
			"the page's own example", "commerce", testkit.GetField,
			`{"error":{"code":4001,"message":"Adapter error","retryable":false,"details":{"originalError":"ORDER_NOT_FOUND","suggestion":"Look."}}}`,
			`{"error":{"code":4001,"message":"Adapter error","retryable":false,"details":{"originalError":"ORDER_NOT_FOUND","suggestion":"Look."}},` +
				`"content":[{"type":"text","text":"{\"code\":4001,\"message\":\"Adapter error\",\"retryable\":false,\"details\":{\"originalError\":\"ORDER_NOT_FOUND\",\"suggestion\":\"Look.\"}}"}],"isError":true}`,
		},
		{
			"a write in doubt", "commerce", testkit.OrderCreate,
			commerce(`{"code":3002,"message":"m","retryable":true,"own":1,"details":{"reason":"slow","own":2}}`),
			commerce(`{"code":3002,"message":"m","retryable":false,"own":1,"details":{"reason":"effect_unknown","own":2,` +
				`"suggestion":"It is not known whether the call took effect. Find out before calling again."}}`),
		},
		{"a code of its own", "studies", testkit.GetField, line("[study_locked] It is locked. Suggestions: wait; look  [envelope] {\"error_kind\": \"study_locked\", \"n\": 1e+25}"), ""},
		{"no advice", "studies", testkit.GetField, line("[forbidden] No.\nReally."), line("[forbidden] No.\nReally. Suggestions: Do not retry as it is. Use what the acting identity owns, or get access to it")},
		{
			"a write in doubt, in a line", "studies", testkit.OrderCreate,
			line("[timeout] Late. Suggestions: x [envelope] {\"error_kind\":\"timeout\",\"suggestions\":[\"x\"],\"n\":1.0}"),
			line("[timeout] Late. Suggestions: The write may have landed. Check with the matching _get before calling again; x [envelope] " +
				"{\"error_kind\":\"timeout\",\"suggestions\":[\"The write may have landed. Check with the matching _get before calling again\",\"x\"],\"n\":1.0}"),
		},
		{
			"a sentence and an object", "patterns", testkit.GetField,
			`{"content":[{"type":"text","text":"Internal server error: boom","mimeType":"text/markdown","own":1}],` +
				`"structuredContent":{"kind":"toolError:v1","code":"SERVER_ERROR","message":"Internal server error: boom","retryable":true,"own":1,"details":{"statusCode":501,"own":[1]}},"isError":true}`, "",
		},
		{
			"a sentence alone", "patterns", testkit.GetField,
			`{"content":[{"type":"text","text":"Internal server error: boom"}],"isError":true}`,
			`{"content":[{"type":"text","text":"Internal server error: boom"}],"isError":true,` +
				`"structuredContent":{"kind":"toolError:v1","code":"SERVER_ERROR","message":"Internal server error: boom","retryable":true}}`,
		},
		{
			"a missing boolean means no", "patterns", testkit.GetField,
			`{"content":[{"type":"text","text":"No."}],"structuredContent":{"kind":"toolError:v1","code":"MINE","message":"No."},"isError":true}`,
			`{"content":[{"type":"text","text":"No."}],"structuredContent":{"kind":"toolError:v1","code":"MINE","message":"No.","retryable":false},"isError":true}`,
		},
	} {
		t.Run(tt.contract+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			srv.Always(tt.tool, faults.Result("", tt.sent))
			client := gatewaytest.Start(t, srv.URL(), "contract: "+tt.contract, "tools: {get_field: {read_only: true}, order_create: {read_only: false}}").Client(t, testkit.Legacy)
			a, err := client.Call(t.Context(), tt.tool, map[string]string{testkit.GetField: `{"field_id":"f-1"}`, testkit.OrderCreate: `{"reference":"A-17","amount":5}`}[tt.tool])
			if err != nil || a.Message == nil {
				t.Fatal(err)
			}
			want := tt.want
			if want == "" {
				want = tt.sent
			}
			if diff := cmp.Diff(want, withoutRecord(t, string(a.Message.Result))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A problem document of the server's own passes, with the URL that the client has called: whatever the user in it looks
// like. What the server adds to it stays.
func TestEditProblem(t *testing.T) {
	t.Parallel()
	const user = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
	srv := testkit.NewServer(t)
	srv.Always(testkit.GetField, faults.StatusWith("", http.StatusInternalServerError, "application/problem+json",
		`{ "type":"about:blank","title":"internal server error","instance":"http://10.0.0.7:8080/x","detail":"something went wrong","own":[1e+25] }`))
	client := testkit.NewClient(t, gatewaytest.Start(t, srv.URL(), "contract: terra", "path: /farm/mcp/{user_id}").URL+"/"+user, testkit.Legacy)
	client.Header = http.Header{"Dev-Id": {"d"}, "X-Api-Key": {"k"}}
	client.MustInitialize(t)
	a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"f-1"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := `{ "type":"about:blank","title":"internal server error","instance":` + protocol.Quote(client.URL) + `,"detail":"something went wrong","own":[1e+25] }`
	if diff := cmp.Diff(want, string(a.Body)); diff != "" || a.Status != http.StatusInternalServerError {
		t.Errorf("HTTP %d (-want +got):\n%s", a.Status, diff)
	}
}

// withoutRecord cuts the record out of a result, and the _meta that has nothing else.
func withoutRecord(t *testing.T, result string) string {
	t.Helper()
	const key = `"io.github.recoursehq/error":`
	before, record, ok := strings.Cut(result, key)
	if !ok {
		t.Fatalf("there is no record in %s", result)
	}
	depth, end := 0, 0
	for quoted := false; end == 0 || depth > 0; end++ {
		switch record[end] {
		case '\\':
			end++
		case '"':
			quoted = !quoted
		case '{':
			if !quoted {
				depth++
			}
		case '}':
			if !quoted {
				depth--
			}
		}
	}
	before = strings.TrimSuffix(before, ",")
	if rest, alone := strings.CutSuffix(before, `,"_meta":{`); alone {
		return rest + strings.TrimPrefix(record[end:], "}")
	}
	return before + record[end:]
}
