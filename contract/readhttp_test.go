package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
)

// HTTP errors by status, by SDKs' texts about sessions, and by their bodies.
func TestReadHTTP(t *testing.T) {
	t.Parallel()
	const rpc = `{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%q}}`
	lost := said{Kind: recourse.KindUnknownSession, Origin: recourse.OriginServer, Effect: recourse.EffectNone, Retry: recourse.RetryNever}
	tests := map[string]struct {
		status int
		media  string
		body   string
		header http.Header
		want   said
		sign   string
	}{
		"TypeScript, session": {status: 404, media: "application/json", body: fmt.Sprintf(rpc, -32001, "Session not found"), want: lost.onItsWord()},
		"TypeScript example, session": {
			status: 400, media: "application/json", body: fmt.Sprintf(rpc, -32000, "Bad Request: No valid session ID provided"), want: lost,
		},
		"TypeScript, no session header": {
			status: 400, media: "application/json", body: fmt.Sprintf(rpc, -32000, "Bad Request: Mcp-Session-Id header is required"), want: lost,
		},
		"TypeScript, restarted": {status: 400, media: "application/json", body: fmt.Sprintf(rpc, -32000, "Bad Request: Server not initialized"), want: lost},
		"Go SDK, session":       {status: 404, media: "text/plain; charset=utf-8", body: "session not found\n", want: lost.onItsWord()},
		"mcp-go, session":       {status: 404, media: "text/plain", body: "Invalid session ID\n", want: lost.onItsWord()},
		"Python, session":       {status: 404, media: "application/json", body: fmt.Sprintf(rpc, -32600, "Session not found"), want: lost},
		"Go SDK, method": {
			status: 400, media: "text/plain; charset=utf-8", body: "JSON RPC not handled: \"tasks/get\" unsupported\n",
			want: said{Kind: recourse.KindUnknownMethod, Origin: recourse.OriginCaller, Effect: recourse.EffectNone, Retry: recourse.RetryNever},
		},
		"Go SDK, method in a sentence": {
			status: 400, media: "text/plain", body: `JSON RPC not handled: "run \"delete_all\" now" unsupported`,
			want: said{Kind: recourse.KindClientError, Origin: recourse.OriginServer, Effect: recourse.EffectNone, Retry: recourse.RetryNever},
		},
		"Go SDK, version": {
			status: 400, media: "text/plain", body: "Bad Request: Unsupported protocol version (supported versions: 2025-11-25,2025-06-18)\n",
			want: said{Kind: recourse.KindUnsupportedVersion, Origin: recourse.OriginCaller, Effect: recourse.EffectNone, Retry: recourse.RetryNever},
		},
		"TypeScript, version": {
			status: 400, media: "application/json",
			body: fmt.Sprintf(rpc, -32000, "Bad Request: Unsupported protocol version: 1999-01-01 (supported versions: 2025-11-25, 2025-06-18)"),
			want: said{Kind: recourse.KindUnsupportedVersion, Origin: recourse.OriginCaller, Effect: recourse.EffectNone, Retry: recourse.RetryNever},
		},
		"another 404": {
			status: 404, media: "text/plain", body: "404 page not found",
			want: said{Kind: recourse.KindNotFound, Origin: recourse.OriginServer, Retry: recourse.RetryAfterFix},
		},
		"429 with a body": {
			status: 429, media: "text/html", body: "<html>slow down</html>", header: http.Header{"Retry-After": {"7"}},
			want: said{Kind: recourse.KindRateLimited, Origin: recourse.OriginServer, Effect: recourse.EffectNone, Retry: recourse.RetrySameCall, After: 7 * time.Second},
		},
		"429 with JSON": {
			status: 429, media: "application/json", body: `{"error":{"code":"quota","message":"slow down","retryAfterMs":1500}}`,
			want: said{Kind: recourse.KindRateLimited, Origin: recourse.OriginServer, Effect: recourse.EffectNone, Retry: recourse.RetrySameCall, After: 1500 * time.Millisecond, Code: "quota"},
		},
		"500 with a JSON-RPC error": {
			status: 500, media: "application/json", body: fmt.Sprintf(rpc, -32603, "it broke"),
			want: said{Kind: recourse.KindServerError, Origin: recourse.OriginServer, Retry: recourse.RetrySameCall, Code: "-32603"},
		},
		"503 with a JSON-RPC error with a wait": {
			status: 503, media: "application/json",
			body: `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"busy","data":{"retryable":true,"retryAfterMs":7000}}}`,
			want: said{Kind: recourse.KindUnavailable, Origin: recourse.OriginServer, Retry: recourse.RetrySameCall, After: 7 * time.Second, Code: "-32000"},
		},
		"two waits: the longer counts": {
			status: 503, media: "application/json", header: http.Header{"Retry-After": {"9"}},
			body: `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"busy","data":{"retryable":true,"retryAfterMs":7000}}}`,
			want: said{Kind: recourse.KindUnavailable, Origin: recourse.OriginServer, Retry: recourse.RetrySameCall, After: 9 * time.Second, Code: "-32000"},
		},
		"401 with a JSON-RPC error": {
			status: 401, media: "application/json", body: fmt.Sprintf(rpc, -32600, "Unauthorized"),
			want: said{Kind: recourse.KindUnauthenticated, Origin: recourse.OriginServer, Effect: recourse.EffectNone, Retry: recourse.RetryAfterAuth, Code: "-32600"},
		},
		"400 with a JSON-RPC error": {
			status: 400, media: "application/json", body: fmt.Sprintf(rpc, -32600, "Invalid Request"),
			want: said{Kind: recourse.KindInvalidRequest, Origin: recourse.OriginServer, Effect: recourse.EffectNone, Retry: recourse.RetryNever, Code: "-32600"},
		},
		"404 with an unknown method": {
			status: 404, media: "application/json", body: fmt.Sprintf(rpc, -32601, "Method not found"),
			want: said{Kind: recourse.KindUnknownMethod, Origin: recourse.OriginServer, Effect: recourse.EffectNone, Retry: recourse.RetryNever, Code: "-32601"},
		},
		"403 with insufficient_scope": {
			status: 403, header: http.Header{"Www-Authenticate": {`Bearer error="insufficient_scope", scope="a b"`}},
			want: said{Kind: recourse.KindMissingScope, Origin: recourse.OriginServer, Effect: recourse.EffectNone, Retry: recourse.RetryAfterAuth, Code: "insufficient_scope"},
		},
		"an empty 500": {
			status: 500, want: said{Kind: recourse.KindServerError, Origin: recourse.OriginServer, Retry: recourse.RetrySameCall},
		},
		"a redirect": {
			status: 302, want: said{Kind: recourse.KindBadResponse, Origin: recourse.OriginServer, Retry: recourse.RetryNever},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := tt.header.Clone()
			if header == nil {
				header = http.Header{}
			}
			if tt.media != "" {
				header.Set("Content-Type", tt.media)
			}
			if tt.status >= 400 {
				tt.want.Status = tt.status
			}
			reading := reader().HTTP(tt.status, header, []byte(tt.body))
			got := told(reading.Error())
			if supported := string(reading.Error().Details["supported"]); got.Kind == recourse.KindUnsupportedVersion && supported != `["2025-11-25","2025-06-18"]` {
				t.Errorf("supported versions: %s", supported)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("by %s (-want +got):\n%s", reading.Sign, diff)
			}
		})
	}
}

// The detail of a problem document is the message.
func TestReadHTTPMessages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ media, body, want string }{
		{"application/problem+json", `{"type":"about:blank","title":"Conflict","status":409,"detail":"It was changed meanwhile."}`, "It was changed meanwhile."},
		{"application/problem+json", `{"type":"about:blank","title":"Conflict"}`, "Conflict"},
		{"application/json; charset=utf-8", `{"message":"It was changed."}`, "It was changed."},
		{"application/json", `{"error":{"message":"It was changed.","code":"E1"}}`, "It was changed."},
		{"application/json", `[1]`, "Farm reports a conflict with the present state."},
		{"text/html", `<h1>nginx</h1>`, "Farm reports a conflict with the present state."},
		{"application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"It was changed."}}`, "It was changed."},
	} {
		r := reader()
		r.Provider = "Farm"
		got := r.HTTP(409, http.Header{"Content-Type": {tt.media}}, []byte(tt.body)).Error()
		if got.Message != tt.want || got.Kind != recourse.KindConflict {
			t.Errorf("%s: %s %q, want %q", tt.body, got.Kind, got.Message, tt.want)
		}
	}
}

// A body that repeats the status as its code says nothing else: no family takes that for the beginning of a code of its own.
func TestStatusAsCode(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 409, 422, 429, 500, 501, 503, 504, 530, 540, 555} {
		body := fmt.Appendf(nil, `{"code":%d,"message":"It did not work."}`, status)
		want := recourse.FromStatus("", status).Kind
		if got := reader().HTTP(status, http.Header{"Content-Type": {"application/json"}}, body).Error(); got.Kind != want {
			t.Errorf("HTTP %d: got %s, want %s", status, got.Kind, want)
		}
		result := fmt.Appendf(nil, `{"content":[{"type":"text","text":%q}],"isError":true}`, body)
		if reading, _ := reader().Result(result); reading.Error().Kind != want {
			t.Errorf("%s: got %s by %s, want %s", body, reading.Error().Kind, reading.Sign, want)
		}
	}
}

// The scopes of a challenge are named, whatever else the body says; without one, those in the body are.
func TestScopesOfAChallenge(t *testing.T) {
	t.Parallel()
	header := http.Header{
		"Content-Type":     {"application/json"},
		"Www-Authenticate": {`Bearer realm="x", error="insufficient_scope", scope="ag2 work:write"`},
	}
	reader := contract.Reader{Provider: "O", Contracts: []*contract.Contract{contract.MustBuiltin("fieldmcp")}}
	for body, want := range map[string][]string{
		`{"error":"insufficient_scope","error_description":"No.","scope":"ag3 work:read"}`: {"ag3", "work:read"},
		`{"error":{"code":"insufficient_scope","message":"No.","scopes":["ag3"]}}`:         {"ag3"},
		`{"message":"No.","required_scopes":["ag3","eq2"]}`:                                {"ag3", "eq2"},
		`{"message":"No.","details":{"missingScopes":"ag3,eq2"}}`:                          {"ag3", "eq2"},
		`{"message":"No.","scope":"farm"}`:                                                 nil,
		`{"error":"insufficient_scope","scopes":{"a":1}}`:                                  nil,
	} {
		e := reader.HTTP(http.StatusForbidden, http.Header{"Content-Type": {"application/json"}}, []byte(body)).Error()
		if diff := cmp.Diff(want, e.MissingScopes); diff != "" || want != nil && e.Kind != recourse.KindMissingScope {
			t.Errorf("%s: kind %s, scopes (-want +got):\n%s", body, e.Kind, diff)
		}
	}
	for _, body := range []string{"", `{"error":"insufficient_scope"}`, `{"message":"missing scope"}`} {
		reading := reader.HTTP(http.StatusForbidden, header, []byte(body))
		e := reading.Error()
		if diff := cmp.Diff([]string{"ag2", "work:write"}, e.MissingScopes); diff != "" || e.Kind != recourse.KindMissingScope {
			t.Errorf("%s: kind %s, scopes (-want +got):\n%s", body, e.Kind, diff)
		}
	}
}

// What the body of an HTTP API lists beside its sentence reaches the caller, whatever its form: in the sentence, and whole in the
// details.
func TestReadHTTPKeepsWhatIsBeside(t *testing.T) {
	t.Parallel()
	all := contract.Builtin().All()
	for body, want := range map[string]string{
		`{"error":{"code":2001,"message":"Invalid Input Provided","errors":["Name cannot be blank.","Zone is odd"]}}`: `Invalid Input Provided: Name cannot be blank; Zone is odd {"errors":["Name cannot be blank.","Zone is odd"]}`,
		`{"message":"The crate is not ready.","errors":["seal open"],"crate":{"id":7}}`:                               `The crate is not ready: seal open {"crate":{"id":7},"errors":["seal open"]}`,
		`{"message":"It is bad.","errors":["a b","c","d","e","f","g"]}`:                                               `It is bad. {"errors":["a b","c","d","e","f","g"]}`,
		`{"message":"Bad","rows":["` + strings.Repeat("x", 5000) + `"],"shop":7}`:                                     `Bad {"omitted":"too long: rows","shop":7}`,
		`{"message":"Bad","status":422,"code":"X1","hints":[1,{"a":null}],"requestId":"r"}`:                           `Bad {"hints":[1,{"a":null}]}`,
	} {
		for _, c := range all {
			r := contract.Reader{Provider: "Mill", Own: c, Contracts: append([]*contract.Contract{c}, all...)}
			e := r.HTTP(422, http.Header{"Content-Type": {"application/json"}}, []byte(body)).Error()
			details, _ := json.Marshal(e.Details)
			if got := e.Message + " " + string(details); c.Name != "commerce" && got != want {
				t.Errorf("%s: %s\ngot  %s\nwant %s", c.Name, body, got, want)
			}
		}
	}
}

// The sentence of a backend in a contract's form may stand where its framework puts it, beside what the form knows.
func TestReadHTTPOtherSentence(t *testing.T) {
	t.Parallel()
	c := contract.MustBuiltin("studies")
	r := contract.Reader{Provider: "Backend", Own: c, Contracts: contract.Builtin().All()}
	for body, want := range map[string]string{
		`{"detail":"The name is taken.","field":"name","suggestions":["use another"]}`: `The name is taken. [The server says: use another] {"field":"name"}`,
		`{"message":"Taken.","detail":"by w-1","error_code":"name_taken"}`:             `Taken. [] {"detail":"by w-1"}`,
		`{"error_code":"name_taken","suggestions":["use another"]}`:                    `Backend does not accept the values. [The server says: use another] null`,
	} {
		e := r.HTTP(422, http.Header{"Content-Type": {"application/json"}}, []byte(body)).Error()
		details, _ := json.Marshal(e.Details)
		if got := fmt.Sprint(e.Sentence(), " ", e.Hints, " ", string(details)); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", body, got, want)
		}
	}
}
