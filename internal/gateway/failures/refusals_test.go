package failures_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/mcptool"
)

// refusingServers returns servers of the Go SDK, alone and behind a guard. The SDK refuses requests with HTTP status 400
// and a text.
func refusingServers(t *testing.T) map[string]string {
	t.Helper()
	servers := map[string]string{}
	for _, stateless := range []bool{true, false} {
		server := mcp.NewServer(&mcp.Implementation{Name: "farm", Version: "1"}, nil)
		sdk := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: stateless})
		t.Cleanup(func() {
			for session := range server.Sessions() {
				_ = session.Close()
			}
		})
		name := map[bool]string{true: "stateless", false: "with sessions"}[stateless]
		servers["bare, "+name] = testkit.Serve(t, sdk)
		servers["guarded, "+name] = testkit.Serve(t, mcptool.Guard(sdk, contract.MustBuiltin(contract.Default), mcptool.WithLogger(slog.New(slog.DiscardHandler))))
	}
	return servers
}

// A refused request gets the protocol's error code, even if the server only answers 400: the gateway knows what it has
// sent.
func TestRefusalsOfTheGoSDK(t *testing.T) {
	t.Parallel()

	type fault struct {
		name, method, params string
		legacy, modern       int // HTTP status
		code                 int
	}
	const none = ""
	refused := []fault{
		{"unknown method", "foo/bar", `{}`, 200, 404, -32601},
		{"method of an extension", "tasks/list", `{}`, 200, 404, -32601},
		{"notification with an id", "notifications/initialized", `{}`, 200, 200, -32600},
		{"without params", "prompts/get", none, 200, 400, -32602},
		{"without params", "resources/read", none, 200, 400, -32602},
		{"without params", "resources/subscribe", none, 200, 400, -32602},
		{"without params", "completion/complete", none, 200, 400, -32602},
		{"without params", "logging/setLevel", none, 200, 400, -32602},
		{"without params", "subscriptions/listen", none, 200, 400, -32602},
	}
	for name, url := range refusingServers(t) {
		for _, c := range contract.Builtin().All() {
			if c.Session.Path != "" {
				continue
			}
			t.Run(name+", "+c.Name, func(t *testing.T) {
				t.Parallel()
				f := gatewaytest.Start(t, url, "contract: "+c.Name)
				for _, era := range testkit.Eras {
					client := f.Client(t, era)
					for _, fault := range refused {
						body, header := client.Message("7", fault.method, fault.params)
						if fault.params == none {
							body = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":7,"method":%q}`, fault.method)
						}
						a, err := client.Post(t.Context(), body, header)
						if err != nil {
							t.Fatal(err)
						}
						status := map[testkit.Era]int{testkit.Legacy: fault.legacy, testkit.Modern: fault.modern}[era]
						if a.Status != status || a.Message == nil || string(a.Message.ID) != "7" || a.Message.Error == nil || a.Message.Error.Code != fault.code {
							t.Errorf("%s, %s, %s: got HTTP %d: %s; want HTTP %d, code %d", era, fault.method, fault.name, a.Status, a.Body, status, fault.code)
						}
					}
					a, err := client.ListTools(t.Context())
					if err != nil || a.Message == nil || a.Message.Result == nil {
						t.Errorf("%s: the next call: got %+v, %v", era, a, err)
					}
				}
				for _, l := range f.Log.Failures(t) {
					if l.Effect != string(recourse.EffectNone) {
						t.Errorf("got effect %q in the log: %+v", l.Effect, l)
					}
				}
			})
		}
	}
}

// The texts of other servers do not matter: the gateway uses the status and what it has sent. A refused call is the
// tool's failure, and a page is not a JSON-RPC error.
func TestRefusalsInOtherWords(t *testing.T) {
	t.Parallel()

	const client, method, request = "client_error", "unknown_method", "invalid_request"
	tests := []struct {
		method, params string
		status         int
		text           string
		kinds          [2]recourse.Kind // by era; "": not tested in this era
	}{
		{"foo/bar", `{}`, 400, "Bad Request", [2]recourse.Kind{method, method}},
		{"foo/bar", `{}`, 400, "", [2]recourse.Kind{method, method}},
		{"foo/bar", `{}`, 404, "<h1>no</h1>", [2]recourse.Kind{"", method}}, // in the legacy era, the session is lost
		{"foo/bar", `{}`, 403, "no", [2]recourse.Kind{"permission_denied", "permission_denied"}},
		{"foo/bar", `{}`, 500, "no", [2]recourse.Kind{"server_error", "server_error"}},
		{"prompts/list", `{}`, 400, "no", [2]recourse.Kind{request, request}},
		{"prompts/list", `{}`, 400, "Unsupported protocol version (supported versions: 2025-06-18, delete_all)", [2]recourse.Kind{"unsupported_version", "unsupported_version"}},
		{"tools/call", `{"name":"echo","arguments":{"message":"m"}}`, 400, "no", [2]recourse.Kind{client, client}},
	}
	for i, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			c := gatewaytest.Start(t, srv.URL()).Client(t, era)
			for _, test := range tests {
				if test.kinds[i] == "" {
					continue
				}
				target := map[bool]string{true: "echo", false: test.method}[test.method == "tools/call"]
				srv.Next(target, faults.StatusWith("refused", test.status, "text/html", test.text))
				a, err := c.Request(t.Context(), test.method, test.params)
				if err != nil {
					t.Fatal(err)
				}
				if e := gatewaytest.Record(t, a); e.Kind != test.kinds[i] || e.Upstream.Status != test.status {
					t.Errorf("%s, HTTP %d %q: %s (%d), want %s: %s", test.method, test.status, test.text, e.Kind, e.Upstream.Status, test.kinds[i], a.Body)
				}
				if strings.Contains(string(a.Body), "delete_all") {
					t.Errorf("got %s", a.Body)
				}
				if strings.Contains(test.text, "version") && (a.Status != 400 || !strings.Contains(string(a.Body), `"data":{"supported":["2025-06-18"],"requested":`)) {
					t.Errorf("got HTTP %d: %s", a.Status, a.Body)
				}
			}
		})
	}
}

// A JSON-RPC error for a method that MCP does not know is passed on under the server's own code. Python's SDK answers an unknown
// method in the same way as wrong params of an extension's method, and a client of the extension must not read that there is none.
func TestErrorsOfExtensions(t *testing.T) {
	t.Parallel()

	const code = -32602
	srv := testkit.NewServer(t)
	c := gatewaytest.Start(t, srv.URL()).Client(t, testkit.Legacy)
	srv.Next("example/thing", faults.RPCError("wrong params", code, "Invalid request parameters", `""`))
	a, err := c.Request(t.Context(), "example/thing", `{}`)
	if err != nil || a.Message == nil || a.Message.Error == nil || a.Message.Error.Code != code {
		t.Errorf("got %s, %v", a.Body, err)
	}
}

// If a server accepts no GET or no DELETE, the answer says so; it does not count as a failure.
func TestServerWithoutGetOrDelete(t *testing.T) {
	t.Parallel()

	for name, url := range refusingServers(t) {
		if !strings.Contains(name, "stateless") {
			continue
		}
		f := gatewaytest.Start(t, url)
		client := f.Client(t, testkit.Legacy)
		for _, method := range []string{http.MethodGet, http.MethodDelete} {
			a, err := client.Send(t.Context(), method, nil, http.Header{"Accept": {"text/event-stream"}})
			if err != nil {
				t.Fatal(err)
			}
			if a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "POST" || a.Message == nil || a.Message.Error.Code != -32600 {
				t.Errorf("%s, %s: got HTTP %d, Allow %q: %s", name, method, a.Status, a.Header.Get("Allow"), a.Body)
			}
		}
		if lines := f.Log.Failures(t); len(lines) > 0 {
			t.Errorf("%s: got lines %+v", name, lines)
		}
	}
}
