package inject_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/lab/inject"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// Rules match calls of an HTTP API by method and path, behind a reverse and a forward proxy.
func TestAPI(t *testing.T) {
	t.Parallel()

	const faults = `rules:
- {match: {method: POST, path: /v1/orders, arguments: {/reference: A-17}}, times: 1, effect: after, fault: {status: 502, html: true}}
- {match: {path: /v1/orders, arguments: {/page: "1"}}, fault: empty}
- {match: {path: "/v1/slow/*"}, fault: reset-before}
`
	for _, way := range []string{"reverse", "forward"} {
		testkit.Virtual(t, way, func(t *testing.T) {
			api := testkit.ServeInMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"path":"`+r.URL.Path+`","orders":[1,2]}`)
			}))
			injector := inject.New(plan(t, inject.API, faults))
			transport := inject.NewTransport(injector, inject.API, base(t))
			target, err := url.Parse(api + "/v1")
			if err != nil {
				t.Fatal(err)
			}
			client, at := &http.Client{Transport: base(t)}, serve(t, inject.Front(transport, target))
			if way == "forward" {
				proxy, err := url.Parse(serve(t, inject.Forward(transport)))
				if err != nil {
					t.Fatal(err)
				}
				through := base(t)
				through.Proxy = http.ProxyURL(proxy)
				client, at = &http.Client{Transport: through}, api+"/v1"
			}
			want := []struct{ method, path, body, answer string }{
				{"POST", "/orders", `{"reference":"A-18"}`, `200 {"path":"/v1/orders","orders":[1,2]}`},
				{"POST", "/orders", `{"reference":"A-17"}`, "502 <!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>" +
					"<body><h1>502 Bad Gateway</h1></body></html>"},
				{"POST", "/orders", `{"reference":"A-17"}`, `200 {"path":"/v1/orders","orders":[1,2]}`},
				{"GET", "/orders?page=1", "", `200 {"path":"/v1/orders","orders":[]}`},
				{"GET", "/orders?page=2", "", `200 {"path":"/v1/orders","orders":[1,2]}`},
			}
			for _, w := range want {
				ask(t, client, w.method, at+w.path, w.body, w.answer)
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/slow/x", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := client.Do(r); err == nil || !strings.Contains(err.Error(), "reset") {
				_ = resp.Body.Close()
				t.Errorf("no reset: %v", err)
			}
			if got := injector.Ledger().Reached("POST /v1/orders", `{"reference":"A-17"}`); got != 2 {
				t.Errorf("%+v", injector.Ledger())
			}
		})
	}
}

// If a server closes a connection without an answer, it may have acted on the call: the client sees a closed
// connection, too. If the server cannot be reached, the client gets a status.
func TestServersThatBreakOff(t *testing.T) {
	t.Parallel()
	testkit.Virtual(t, "without an answer", func(t *testing.T) {
		api := testkit.ServeInMemory(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
		injector, at := front(t, inject.API, api, "rules: [{match: {path: /elsewhere}, fault: hang}]")
		if resp, _, err := get(t, http.MethodGet, at); !errors.Is(err, io.EOF) {
			t.Errorf("%+v %v", resp, err)
		}
		if got := injector.Ledger().Reached("GET /", "{}"); got != 1 {
			t.Errorf("got ledger %+v", injector.Ledger())
		}
	})
	testkit.Virtual(t, "unreachable", func(t *testing.T) {
		injector, at := front(t, inject.API, "http://127.0.0.1:99999", "rules: [{match: {path: /elsewhere}, fault: hang}]")
		if resp, body, err := get(t, http.MethodGet, at); err != nil || resp.StatusCode != http.StatusBadGateway || !strings.Contains(string(body), "cannot be reached") {
			t.Errorf("%+v %s %v", resp, body, err)
		}
		if got := injector.Ledger().Reached("GET /", "{}"); got != 0 {
			t.Errorf("got ledger %+v", injector.Ledger())
		}
	})
}
