package api_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// lies returns a handler that answers with these parts. headers are names and values.
func lies(status int, media, body string, headers ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil // so that net/http does not detect one
		if media != "" {
			w.Header().Set("Content-Type", media)
		}
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // fails if the gateway has stopped reading
	}
}

// cutOff returns a handler that breaks its answer off.
func cutOff(answer func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		answer(w, r)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// An answer that contradicts its status or headers is a failure with the provider's name and the known effect.
func TestAPIThatLies(t *testing.T) {
	t.Parallel()
	const json = "application/json"
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	for range 20 {
		if _, err := zip.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	_ = zip.Close()
	for name, tt := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		kind   recourse.Kind
		text   string
	}{
		"body shorter than its length": {cutOff(lies(200, json, `{"a":1}`, "Content-Length", "100")), recourse.KindUnreachable, "broke before the answer was complete"},
		"chunked body without its end": {cutOff(lies(200, json, `{"a"`)), recourse.KindUnreachable, "broke before the answer was complete"},
		"no answer":                    {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, recourse.KindUnreachable, "Orders"},
		"HTML without a type":          {lies(200, "", "\n<!DOCTYPE html><title>Sign in</title>"), recourse.KindBadResponse, "text/html"},
		"HTML as JSON":                 {lies(200, json, "<html>"), recourse.KindBadResponse, "not valid"},
		"two JSON texts":               {lies(200, json, `{"a":1} {"b":2}`), recourse.KindBadResponse, "not valid"},
		"JSON in invalid UTF-8":        {lies(200, json, "{\"a\":\"\xff\"}"), recourse.KindBadResponse, "not in UTF-8"},
		"text in Latin-1":              {lies(200, "text/csv; charset=latin1", "caf\xe9"), recourse.KindBadResponse, "not in UTF-8"},
		"too deep":                     {lies(200, json, strings.Repeat("[", 50_000)), recourse.KindBadResponse, "not valid"},
		"a gzip bomb":                  {lies(200, json, bomb.String(), "Content-Encoding", "gzip"), recourse.KindBadResponse, "larger than 4 MiB"},
		"not compressed":               {lies(200, json, `{"orders":[1,2,3]}`, "Content-Encoding", "gzip"), recourse.KindBadResponse, "Content-Encoding does not fit"},
		"an unknown coding":            {lies(200, json, "\x0b\x02\x80{}\x03", "Content-Encoding", "br"), recourse.KindBadResponse, ""},
		"an unrequested part":          {lies(206, json, `{"orders":[1]}`, "Content-Range", "bytes 0-13/900"), recourse.KindBadResponse, "nobody has asked for a part"},
		"not modified":                 {lies(304, "", ""), recourse.KindBadResponse, "304"},
		"an endless redirect":          {lies(307, "", "", "Location", "/v1/orders"), recourse.KindBadResponse, "redirect"},
		"an invented status":           {lies(999, json, `{}`), recourse.KindServerError, "999"},
		"a flood of headers":           {lies(200, json, `{}`, "X-A", strings.Repeat("b", 1<<20)), recourse.KindUnreachable, "Orders"},
		"a 500 that claims no effect": {
			lies(500, json, `{"v":1,"kind":"not_found","effect":"none","origin":"gateway","message":"Nothing was done."}`),
			recourse.KindServerError, "Nothing was done",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for tool, effect := range map[string]recourse.Effect{"orders_create": recourse.EffectUnknown, "orders_get": recourse.EffectNone} {
				p := gatewaytest.StartProvider(t, tt.answer)
				arguments := map[string]string{"orders_create": `{"item":"hay"}`, "orders_get": `{"id":"7"}`}[tool]
				result, a := callAPI(t, gatewaytest.StartAPI(t, p, gatewaytest.Orders).Client(t, testkit.Modern), tool, arguments)
				e := gatewaytest.Record(t, a)
				if !result.IsError || e.Kind != tt.kind || e.Effect != effect || e.Provider != "Orders" || !strings.Contains(result.Text(), tt.text) {
					t.Errorf("%s: got %s, effect %s, provider %q: %s", tool, e.Kind, e.Effect, e.Provider, result.Text())
				}
				if got := len(p.Requests()); tool == "orders_create" && got != 1 {
					t.Errorf("got %d writes, want 1", got)
				}
			}
		})
	}
}

// The text of a failure, which is all that models read, has the provider's objections to arguments, in whichever form they came.
func TestAPIViolations(t *testing.T) {
	t.Parallel()
	const json = "application/json"
	for name, tt := range map[string]struct {
		status      int
		media, body string
		text        string
	}{
		"RFC 9457": {
			422, "application/problem+json",
			`{"title":"Bad","detail":"The order is not acceptable","errors":[{"pointer":"#/count","detail":"must be at most 100"}]}`,
			"The order is not acceptable. count: must be at most 100",
		},
		"FastAPI": {
			422, json, `{"detail":[{"loc":["body","count"],"msg":"Input should be less than 100","type":"less_than"}]}`,
			"count: Input should be less than 100",
		},
		"Rails":   {422, json, `{"errors":{"count":["must be less than 100"]}}`, "count: must be less than 100"},
		"Laravel": {422, json, `{"message":"The given data was invalid.","errors":{"count":["is too large"]}}`, "The given data was invalid. count: is too large"},
		"Google": {
			400, json, `{"error":{"code":400,"message":"Invalid","status":"INVALID_ARGUMENT","details":[{"@type":` +
				`"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"count","description":"too large"}]}]}}`,
			"Invalid. count: too large",
		},
		"JSON:API": {
			422, "application/vnd.api+json", `{"errors":[{"status":"422","source":{"pointer":"/data/attributes/count"},"title":"Invalid","detail":"too large"}]}`,
			"Invalid. count: too large",
		},
		"ASP.NET": {
			400, "application/problem+json", `{"title":"One or more validation errors occurred.","status":400,"errors":{"count":["too large"]}}`,
			"One or more validation errors occurred. count: too large",
		},
		"a message that already has the objection": {
			422, json, `{"message":"count must be less than 100","errors":[{"field":"count","message":"must be less than 100"}]}`,
			"count must be less than 100",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := gatewaytest.StartProvider(t, lies(tt.status, tt.media, tt.body))
			result, a := callAPI(t, gatewaytest.StartAPI(t, p, gatewaytest.Orders).Client(t, testkit.Modern), "orders_create", `{"item":"hay"}`)
			e := gatewaytest.Record(t, a)
			if e.Message != tt.text || len(e.Violations) != 1 || e.Violations[0].Param != "count" || e.Effect != recourse.EffectNone {
				t.Errorf("got %q with %+v, want %q", e.Message, e.Violations, tt.text)
			}
			if !strings.Contains(result.Text(), tt.text) {
				t.Error(result.Text())
			}
		})
	}
}
