package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

func callAPI(tb testing.TB, c *testkit.Client, tool, arguments string) (testkit.ToolResult, *testkit.Answer) {
	tb.Helper()
	a := c.MustCall(tb, tool, arguments)
	result := a.Result(tb)
	return result, a
}

// An API is served as tools to clients of both eras.
func TestAPI(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			p := gatewaytest.StartProvider(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodDelete {
					w.WriteHeader(http.StatusNoContent)
					return
				}
				w.Header().Set("Link", `</v1/orders?page=2&status=open>; rel="next"`)
				testkit.WriteJSON(w, http.StatusOK, `{"orders": [1]}`)
			})
			c := gatewaytest.StartAPI(t, p, gatewaytest.Orders, "headers: {X-Api-Key: secret-of-ours}").Client(t, era)
			list, err := c.ListTools(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var tools struct {
				Tools []struct {
					Name        string          `json:"name"`
					InputSchema json.RawMessage `json:"inputSchema"`
				} `json:"tools"`
			}
			if err := json.Unmarshal(list.Message.Result, &tools); err != nil || len(tools.Tools) != 6 {
				t.Fatalf("got %s, %v", list.Body, err)
			}
			for _, tool := range tools.Tools {
				want := map[string]string{
					"orders_create": `{"additionalProperties":false,"properties":{"count":{"exclusiveMinimum":0,"type":["integer","null"]},"item":{"type":"string"}},` +
						`"required":["item"],"type":"object"}`,
					"pay": `{"additionalProperties":false,"properties":{},"type":"object"}`,
					"orders_put": `{"additionalProperties":false,"properties":{"body":{"description":"The body of the request.","items":{"type":"string"},"type":"array"},` +
						`"id":{"type":"string"}},"required":["id"],"type":"object"}`,
				}[tool.Name]
				if want != "" && string(tool.InputSchema) != want {
					t.Errorf("%s: got %s", tool.Name, tool.InputSchema)
				}
			}

			result, _ := callAPI(t, c, "orders_list", `{"status":["open","done"],"page":1}`)
			if result.IsError || result.Text() != `{"orders":[1]}` || string(result.StructuredContent) != `{"orders":[1]}` ||
				!strings.Contains(result.Content[1].Text, `page="2", status="open"`) {
				t.Errorf("got %+v", result)
			}
			result, _ = callAPI(t, c, "orders_delete", `{"id":"a/b ?"}`)
			if result.IsError || !strings.Contains(result.Text(), "succeeded (HTTP 204)") {
				t.Errorf("got %+v", result)
			}
			callAPI(t, c, "orders_put", `{"id":"7","body":["x"]}`)
			callAPI(t, c, "orders_create", `{"item":"hay","count":null}`)
			want := []string{
				"GET /v1/orders?status=open&status=done&page=1", "DELETE /v1/orders/a%2Fb%20%3F",
				`PUT /v1/orders/7 ["x"]`, `POST /v1/orders {"count":null,"item":"hay"}`,
			}
			if got := p.Requests(); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got %q, want %q", got, want)
			}
			if key := p.Sent[0].Header.Get("X-Api-Key"); key != "secret-of-ours" {
				t.Errorf("got key %q", key)
			}

			a, err := c.Call(t.Context(), "orders_create", `{"count":0,"colour":1}`)
			if err != nil {
				t.Fatal(err)
			}
			if e := gatewaytest.Record(t, a); e.Kind != recourse.KindMissingParam || len(e.Violations) != 3 {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// A failed or unusable answer of a provider becomes the failure that it means. The effect follows from the method
// and the status.
func TestAPIFailures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		header map[string]string
		body   string
		tool   string
		kind   recourse.Kind
		effect recourse.Effect
		times  int
	}{
		"503 to a GET is repeated":                          {503, nil, "", "orders_get", recourse.KindUnavailable, recourse.EffectNone, 3},
		"503 to a POST":                                     {503, nil, "", "orders_create", recourse.KindUnavailable, recourse.EffectUnknown, 1},
		"502 to a DELETE is repeated":                       {502, nil, "", "orders_delete", recourse.KindUnavailable, recourse.EffectUnknown, 3},
		"500 to a POST with an idempotency key is repeated": {500, nil, "", "pay", recourse.KindServerError, recourse.EffectUnknown, 3},
		"a limit with a long wait":                          {429, map[string]string{"Retry-After": "3600"}, "", "orders_create", recourse.KindRateLimited, recourse.EffectNone, 1},
		"not found":                                         {404, nil, `{"message":"no such order"}`, "orders_create", recourse.KindNotFound, recourse.EffectNone, 1},
		"a conflict":                                        {409, nil, `{"code":"TAKEN"}`, "orders_create", recourse.KindConflict, recourse.EffectNone, 1},
		"the gateway's own credentials":                     {401, nil, `{"error":"bad key"}`, "orders_get", recourse.KindPermissionDenied, recourse.EffectNone, 1},
		"not permitted":                                     {403, nil, "", "orders_get", recourse.KindPermissionDenied, recourse.EffectNone, 1},
		"an HTML page":                                      {200, map[string]string{"Content-Type": "text/html"}, "<h1>Sign in</h1>", "orders_create", recourse.KindBadResponse, recourse.EffectUnknown, 1},
		"broken JSON":                                       {200, nil, `{"a":`, "orders_get", recourse.KindBadResponse, recourse.EffectNone, 1},
		"an image":                                          {200, map[string]string{"Content-Type": "image/png"}, "x", "orders_get", recourse.KindBadResponse, recourse.EffectNone, 1},
		"too large":                                         {200, nil, `"` + strings.Repeat("x", 5<<20) + `"`, "orders_get", recourse.KindBadResponse, recourse.EffectNone, 1},
		"a redirect elsewhere":                              {302, map[string]string{"Location": "http://other.example/"}, "", "orders_get", recourse.KindBadResponse, recourse.EffectNone, 1},
		"a redirect of a POST":                              {302, map[string]string{"Location": "/v1/orders/7"}, "", "orders_create", recourse.KindBadResponse, recourse.EffectUnknown, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := gatewaytest.StartProvider(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Request-Id", "of-theirs")
				w.Header().Set("Content-Type", "application/json")
				for key, value := range tt.header {
					w.Header().Set(key, value)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			c := gatewaytest.StartAPI(t, p, gatewaytest.Orders).Client(t, testkit.Modern)
			arguments := map[string]string{"orders_create": `{"item":"hay"}`, "pay": `{}`}[tt.tool]
			if arguments == "" {
				arguments = `{"id":"7"}`
			}
			result, a := callAPI(t, c, tt.tool, arguments)
			e := gatewaytest.Record(t, a)
			if !result.IsError || e.Kind != tt.kind || e.Effect != tt.effect || len(p.Requests()) != tt.times {
				t.Errorf("got kind %s, effect %s, %d requests: %s", e.Kind, e.Effect, len(p.Requests()), a.Body)
			}
			if e.Provider != "Orders" || tt.status >= 400 && tt.status != 401 && (e.Origin != recourse.OriginProvider ||
				e.Upstream.Status != tt.status || e.Upstream.RequestID != "of-theirs") {
				t.Errorf("got %s", a.Body)
			}
			keys := map[string]bool{}
			for _, r := range p.Sent {
				keys[r.Header.Get("Idempotency-Key")] = true
			}
			if len(keys) != 1 || keys[""] != (tt.tool != "pay") {
				t.Errorf("got keys %v", keys)
			}
		})
	}
}
