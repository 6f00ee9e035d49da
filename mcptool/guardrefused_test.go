package mcptool_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/mcptool"
)

// A way is how a server made with the Go SDK is served, and how requests reach it.
type way struct {
	name      string
	era       testkit.Era
	stateless bool
}

var ways = []way{
	{"legacy era", testkit.Legacy, true},
	{"legacy era, sessions", testkit.Legacy, false},
	{"modern era", testkit.Modern, true},
}

// A protocolFault is an HTTP request to which the Go SDK would answer with plain text.
type protocolFault struct {
	name   string
	verb   string // default POST
	body   string // default a request of method with params
	method string // default tools/list
	params string
	header http.Header // added; nil values remove a header
	bare   bool        // without params at all
	only   []string    // ways; nil means all
	status map[string]int
	code   int
	id     string
}

const anyWay = ""

func protocolFaults() []protocolFault {
	h := func(name string, values ...string) http.Header { return http.Header{name: values} }
	is := func(status int) map[string]int { return map[string]int{anyWay: status} }
	inEra := func(legacy, modern int) map[string]int { return map[string]int{anyWay: legacy, "modern era": modern} }
	sessions, legacy := []string{"legacy era, sessions"}, []string{"legacy era", "legacy era, sessions"}
	faults := []protocolFault{
		{name: "unknown method", method: "foo/bar", params: `{}`, status: inEra(200, 404), code: -32601, id: "7"},
		{name: "unknown method without params", method: "foo/bar", bare: true, status: inEra(200, 404), code: -32601, id: "7"},
		{name: "method of an extension", method: "tasks/get", params: `{"taskId":"x"}`, status: inEra(200, 404), code: -32601, id: "7"},
		{name: "request without an id", body: `{"jsonrpc":"2.0","method":"tools/list"}`, status: is(400), code: -32600},
		{name: "notification with an id", body: `{"jsonrpc":"2.0","id":7,"method":"notifications/initialized"}`, status: is(400), code: -32600, id: "7"},
		{name: "unknown method without an id", body: `{"jsonrpc":"2.0","method":"foo/bar"}`, status: is(400), code: -32600},
		{name: "half a message", body: `{"jsonrpc":"2.0",`, status: is(400), code: -32700},
		{name: "empty body", body: ` `, status: is(400), code: -32700},
		{name: "neither method nor result", body: `{"jsonrpc":"2.0","id":7}`, status: is(400), code: -32600, id: "7"},
		{name: "batch", body: `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, status: is(400), code: -32600},
		{name: "null params", body: `{"jsonrpc":"2.0","id":7,"method":"ping","params":null}`, status: is(400), code: -32600, id: "7"},
		{name: "text", header: h("Content-Type", "text/plain"), status: is(415), code: -32600, id: "7"},
		{name: "no media type", header: h("Content-Type"), status: is(415), code: -32600, id: "7"},
		{name: "accepts JSON only", header: h("Accept", "application/json"), status: is(406), code: -32600, id: "7"},
		{name: "accepts nothing", header: h("Accept"), status: is(406), code: -32600, id: "7"},
		{name: "old version", header: h("Mcp-Protocol-Version", "1999-01-01"), status: is(400), code: -32022, id: "7"},
		{name: "future version", header: h("Mcp-Protocol-Version", "2999-01-01"), status: is(400), code: -32022, id: "7"},
		{name: "hostile version", header: h("Mcp-Protocol-Version", `zz"\`), status: is(400), code: -32022, id: "7"},
		{name: "stream to be resumed", header: h("Last-Event-Id", "5"), status: is(400), code: -32600, id: "7"},
		{name: "another host", header: h("Host", "evil.example"), status: is(403), code: -32603, id: "7"},
		{name: "PATCH", verb: http.MethodPatch, status: is(405), code: -32600},
		{name: "PUT", verb: http.MethodPut, status: is(405), code: -32600},
		{name: "GET without a session", verb: http.MethodGet, header: h("Mcp-Session-Id"), status: map[string]int{anyWay: 405, "legacy era, sessions": 400}, code: -32600},
		{name: "GET of a page", verb: http.MethodGet, header: h("Accept", "text/html"), status: map[string]int{anyWay: 405, "legacy era, sessions": 406}, code: -32600},
		{name: "DELETE without a session", verb: http.MethodDelete, header: h("Mcp-Session-Id"), status: map[string]int{anyWay: 405, "legacy era, sessions": 400}, code: -32600},
		{name: "unknown session", header: h("Mcp-Session-Id", "x"), only: sessions, status: is(404)},
		{name: "GET of an unknown session", verb: http.MethodGet, header: http.Header{"Mcp-Session-Id": {"x"}, "Accept": {"text/event-stream"}}, only: sessions, status: is(404)},
		{name: "DELETE of an unknown session", verb: http.MethodDelete, header: h("Mcp-Session-Id", "x"), only: sessions, status: is(404)},
	}
	for _, method := range []string{
		"tools/call", "prompts/get", "resources/read", "resources/subscribe", "resources/unsubscribe", "completion/complete",
		"logging/setLevel", "initialize", "subscriptions/listen",
	} {
		faults = append(faults, protocolFault{name: method + " without params", method: method, bare: true, status: inEra(200, 400), code: -32602, id: "7"})
	}
	for _, method := range []string{"tools/call", "tools/list", "prompts/get", "resources/read", "ping", "server/discover", "subscriptions/listen"} {
		faults = append(faults, protocolFault{name: method + " with a list", method: method, params: `["hunter2pw"]`, only: legacy, status: is(200), code: -32602, id: "7"})
	}
	return faults
}

// For every request that the SDK refuses, clients get a JSON-RPC error with the protocol's code and the request's id,
// and nothing more.
func TestGuardRewordsRefusals(t *testing.T) {
	t.Parallel()

	for _, c := range contract.Builtin().All() {
		for _, way := range ways {
			t.Run(c.Name+", "+way.name, func(t *testing.T) {
				t.Parallel()
				server := farm()
				mcptool.Use(server, c, quiet)
				sdk := testkit.Legacy
				if way.stateless {
					sdk = testkit.Modern
				}
				path := strings.ReplaceAll(c.Session.Path, "{user_id}", "u-1")
				client := testkit.NewClient(t, listen(t, server, mcptool.Guard(handler(server, sdk), c, quiet))+path, way.era)
				if _, err := client.Initialize(t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, fault := range protocolFaults() {
					if fault.only == nil || slices.Contains(fault.only, way.name) {
						fault.check(t, client, way.name)
					}
				}
			})
		}
	}
}

func (f protocolFault) check(t *testing.T, client *testkit.Client, way string) {
	t.Helper()
	body, header := client.Message("7", orDefault(f.method, "tools/list"), orDefault(f.params, "{}"))
	switch {
	case f.bare:
		body = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":7,"method":%q}`, f.method)
	case f.body != "":
		body = []byte(f.body)
	}
	maps.Copy(header, f.header)
	if f.verb != "" && f.verb != http.MethodPatch && f.verb != http.MethodPut {
		body = nil
	}
	a, err := client.Send(t.Context(), orDefault(f.verb, http.MethodPost), strings.NewReader(string(body)), header)
	if err != nil {
		t.Fatalf("%s: %v", f.name, err)
	}
	status, ok := f.status[way]
	if !ok {
		status = f.status[anyWay]
	}
	media := "application/json"
	if f.code == 0 { // clients recognise a lost session by the plain problem
		media = "application/problem+json"
	}
	if a.Status != status || a.Header.Get("Content-Type") != media {
		t.Errorf("%s: HTTP %d, %s: %s; want HTTP %d", f.name, a.Status, a.Header.Get("Content-Type"), a.Body, status)
		return
	}
	if strings.Contains(string(a.Body), "hunter2pw") || strings.Contains(string(a.Body), "mcp.") {
		t.Errorf("%s mentions arguments or Go types: %s", f.name, a.Body)
	}
	if (a.Status == http.StatusMethodNotAllowed) != (a.Header.Get("Allow") != "") {
		t.Errorf("%s: Allow %q", f.name, a.Header.Get("Allow"))
	}
	if f.code == 0 {
		return
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(a.Body, &members); err != nil {
		t.Fatalf("%s: %v: %s", f.name, err, a.Body)
	}
	id := string(members["id"])
	for _, name := range []string{"jsonrpc", "id", "error"} {
		delete(members, name)
	}
	if id != f.id || len(members) > 0 || a.Message.Error == nil || a.Message.Error.Code != f.code {
		t.Errorf("%s: %s, want code %d and id %s", f.name, a.Body, f.code, f.id)
		return
	}
	e := new(recourse.Error)
	err = json.Unmarshal(a.Message.Error.Data, e)
	ours := strings.Contains(string(a.Message.Error.Data), `"v":1`) // otherwise it is the SDK's
	if !ours && way != "modern era" && f.code != -32022 {
		t.Errorf("%s: no record in %s", f.name, a.Body)
	}
	if ours && (err != nil || e.Effect != recourse.EffectNone || e.RequestID != a.Header.Get("X-Request-Id") || !strings.HasPrefix(a.Message.Error.Message, e.Message)) {
		t.Errorf("%s: got record %s", f.name, a.Message.Error.Data)
	}
	if f.code == -32022 {
		var data struct {
			Supported []string `json:"supported"`
			Requested string   `json:"requested"`
		}
		if err := json.Unmarshal(a.Message.Error.Data, &data); err != nil || !slices.Contains(data.Supported, "2025-11-25") || data.Requested != f.header.Get("Mcp-Protocol-Version") {
			t.Errorf("%s: data %s", f.name, a.Message.Error.Data)
		}
	}
}

func orDefault(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

// A session continues after refused requests.
func TestGuardRefusalsEndNoSession(t *testing.T) {
	t.Parallel()

	server := farm()
	mcptool.Use(server, contract.MustBuiltin(contract.Default), quiet)
	client := testkit.NewClient(t, listen(t, server, mcptool.Guard(handler(server, testkit.Legacy), contract.MustBuiltin(contract.Default), quiet)), testkit.Legacy)
	if _, err := client.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, fault := range protocolFaults() {
		if fault.only == nil {
			fault.check(t, client, "legacy era, sessions")
		}
	}
	if a, err := client.Call(t.Context(), "get_field", `{"field_id":"F-1"}`); err != nil || a.Message == nil || a.Message.Result == nil {
		t.Errorf("a call afterwards: %v, %+v", err, a)
	}
}

// A guard rewrites a handler's plain-text answers. Answers that a client can read, or that are empty, pass unchanged.
func TestGuardRewords(t *testing.T) {
	t.Parallel()

	const (
		call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"buy","arguments":{}}}`
		own  = `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no"}}`
	)
	tests := []struct {
		name, body, version string
		status              int
		header              http.Header
		text                string
		want                int
		has                 string
	}{
		{"its own JSON", ping, "", 400, http.Header{"Content-Type": {"application/json; charset=utf-8"}}, own, 400, own},
		{"a problem", ping, "", 409, http.Header{"Content-Type": {"application/problem+json"}}, `{"title":"x"}`, 409, `{"title":"x"}`},
		{"nothing", ping, "", 502, nil, "", 502, ""},
		{"an empty body with a type", ping, "", 500, http.Header{"Content-Type": {"text/html"}}, "", 500, ""},
		{"a success in a text", ping, "", 200, http.Header{"Content-Type": {"text/plain"}}, "fine", 200, "fine"},
		{"its own version error", ping, "2999-01-01", 400, http.Header{"Content-Type": {"application/json"}}, strings.ReplaceAll(own, "-32000", "-32022"), 400, `"code":-32022,"message":"no"}}`},
		{"another path", ping, "", 404, nil, "404 page not found", 404, `"code":-32600`},
		{"its own challenge", ping, "", 401, http.Header{"Www-Authenticate": {`Bearer scope="x"`}}, "no bearer token", 401, `"code":-32603`},
		{"a long page", ping, "", 400, http.Header{"Content-Type": {"text/html"}, "Content-Length": {"1000000"}}, strings.Repeat("secret ", 1_000_000/7+1)[:1_000_000], 400, `"code":-32600`},
		{"a page of gzip", ping, "", 403, http.Header{"Content-Type": {"text/html"}, "Content-Encoding": {"gzip"}}, "\x1f\x8b", 403, `"code":-32603`},
		{"a call that may have run", call, "", 500, nil, "panic: secret", 200, `"effect":"unknown"`},
		{"a call at a broken proxy", call, "", 502, nil, "<secret>", 200, `"effect":"unknown"`},
		{"a limited call", call, "", 429, http.Header{"Retry-After": {"12"}}, "slow down", 200, "[rate_limited]"},
	}
	for _, test := range tests {
		next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			maps.Copy(w.Header(), test.header)
			w.WriteHeader(test.status)
			for chunk := range slices.Chunk([]byte(test.text), 1000) {
				_, _ = w.Write(chunk)
				_ = http.NewResponseController(w).Flush()
			}
		})
		log := &journal{}
		srv := testkit.Serve(t, mcptool.Guard(next, contract.MustBuiltin(contract.Default), mcptool.WithLogger(log.logger())))
		var header []string
		if test.version != "" {
			header = []string{"Mcp-Protocol-Version", test.version}
		}
		got, h := post(t, srv, test.body, header...)
		if got.Status != test.want || !strings.Contains(got.Body, test.has) || strings.Contains(got.Body, "secret") {
			t.Errorf("%s: %+v, want HTTP %d, %s", test.name, got, test.want, test.has)
		}
		if said := test.header.Get("WWW-Authenticate"); said != "" && h.Get("WWW-Authenticate") != said {
			t.Errorf("%s: got challenge %q", test.name, h.Get("WWW-Authenticate"))
		}
		if reworded := got.Body != test.text; reworded && !strings.Contains(log.String(), "the handler behind the guard answered") {
			t.Errorf("%s: no text of the handler in the log:\n%s", test.name, log)
		}
	}
}

// A request without an id is no notification: the handler behind the guard never sees it, whatever its method.
func TestGuardRefusesRequestsWithoutAnID(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	url := testkit.Serve(t, mcptool.Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen.Add(1) }), builtin(t, "recourse")))
	for _, method := range []string{
		"tools/call", "resources/read", "prompts/get", "completion/complete", "tasks/cancel", "initialize", "tools\\u002fcall", "x", "",
	} {
		resp, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","method":"`+method+`","params":{"name":"t"}}`))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), `"code":-32600`) {
			t.Errorf("%s: got HTTP %d %s", method, resp.StatusCode, text)
		}
	}
	if n := seen.Load(); n > 0 {
		t.Errorf("the handler got %d", n)
	}
}
