package terra_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/terra"
)

// inFront returns the root URL of a gateway in front of the system; it forwards the clients' credentials.
func inFront(t *testing.T, s *terra.System) string {
	t.Helper()
	url := strings.TrimSuffix(systemtest.Serve(t, s), s.Entrance().Path)
	return systemtest.Gateway(t, "contract: terra", "path: /api/v2/mcp/{user_id}", "forward: [dev-id, x-api-key]",
		"url: "+url+"/api/v2/mcp/"+terra.Ada)
}

// A failure before any tool runs is HTTP 502 without a body for every message, also if the MCP server does not answer
// in time. Only a tools/call may then have run, and gets a result.
func TestBeforeAnyTool(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "terra/http-upstream-down", "terra/http-upstream-timeout", "terra/surface-session", "terra/surface-tool", "terra/empty-body")

	s := newSystem(t, terra.Options{Timeout: 100 * time.Millisecond})
	hung := testkit.NewServer(t)
	hung.Always(testkit.EveryMessage, faults.Hang())
	behind := systemtest.Gateway(t, "contract: terra", "path: /api/v2/mcp/{user_id}", "timeout: 300ms", "url: "+hung.URL())
	for name, url := range map[string]string{
		"the system": strings.TrimSuffix(systemtest.Serve(t, s), "1") + "7",
		"a gateway":  behind + "/api/v2/mcp/u-1",
	} {
		for _, era := range eras {
			t.Run(name+"/"+era.String(), func(t *testing.T) {
				t.Parallel()
				client := testkit.NewClient(t, url, era)
				client.Header = s.Entrance().Header
				empty := func(what string, a *testkit.Answer, err error) {
					t.Helper()
					if err != nil || a.Status != http.StatusBadGateway || len(a.Body) > 0 || a.Header.Get("Content-Type") != "" {
						t.Errorf("%s: %v, HTTP %d %q %s", what, err, a.Status, a.Header.Get("Content-Type"), a.Body)
					}
				}
				if era == testkit.Legacy {
					a, err := client.Request(t.Context(), "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
					empty("initialize", a, err)
				}
				if name == "the system" || era == testkit.Modern { // a gateway knows no session then
					a, err := client.ListTools(t.Context())
					empty("tools/list", a, err)
					a, err = client.Notify(t.Context(), "notifications/x", "")
					empty("a notification", a, err)
					if a, err = client.Call(t.Context(), "get_sleep_data", `{}`); err != nil || a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"isError":true`) {
						t.Errorf("a call: %v, HTTP %d %s", err, a.Status, a.Body)
					}
				}
			})
		}
	}
}

// By default, an MCP server has 20 s to begin its answer.
func TestDefaultTimeout(t *testing.T) {
	t.Parallel()
	s := newSystem(t, terra.Options{})
	synctest.Test(t, func(t *testing.T) {
		s.ReachBy(func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, there) }() // reads everything, never answers
			return here, nil
		})
		const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sleep_data","arguments":{"fields":["awakenings"]}}}`
		at := s.Entrance()
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, at.Path, strings.NewReader(call))
		req.Header = at.Header
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		answer := httptest.NewRecorder()
		start := time.Now()
		s.Handler().ServeHTTP(answer, req)
		if took := time.Since(start); took != 20*time.Second || !strings.Contains(answer.Body.String(), `"isError":true`) {
			t.Errorf("after %s: HTTP %d %s", took, answer.Code, answer.Body)
		}
	})
}

// Answers without a body pass a gateway unchanged, and the gateway checks paths in the same order.
func TestThroughGateway(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "terra/empty-body", "terra/http-misconfigured", "terra/order-credentials-first", "terra/order-user-last",
		"terra/http-credentials-missing", "terra/http-credentials-invalid", "terra/http-user-malformed", "terra/http-user-missing")

	s := newSystem(t, terra.Options{})
	root := inFront(t, s)
	good := s.Entrance().Header
	bad := http.Header{"Dev-Id": {terra.DevID}, "X-Api-Key": {"another"}}
	for _, test := range []struct {
		path   string
		header http.Header
		status int
		detail string
	}{
		{"/u-1/", http.Header{}, 401, "dev-id or x-api-key headers are missing"},
		{"/u-1/tools", http.Header{}, 401, "dev-id or x-api-key headers are missing"},
		{"/u-1", bad, 401, "unauthorized"},
		{"/u-1/", good, 404, "invalid user id"},
		{"/u-1/tools", good, 404, "invalid user id"},
		{"", good, 404, "missing user_id parameter"},
		{"/", good, 404, "missing user_id parameter"},
	} {
		a := knock(t, root+"/api/v2/mcp"+test.path, test.header)
		want := `"detail":"` + test.detail + `"}`
		if a.Status != test.status || a.Header.Get("Content-Type") != "application/problem+json" || !strings.HasSuffix(string(a.Body), want) {
			t.Errorf("%s: HTTP %d %s %s", test.path, a.Status, a.Header.Get("Content-Type"), a.Body)
		}
	}
	for user, status := range map[string]int{"2": 502, "3": 500, "8": 502, "a": 502} {
		url := strings.TrimSuffix(systemtest.Serve(t, s), "1") + user
		front := systemtest.Gateway(t, "contract: terra", "path: /api/v2/mcp/{user_id}", "forward: [dev-id, x-api-key]", "url: "+url)
		a := knock(t, front+"/api/v2/mcp/u-1", good)
		if a.Status != status || len(a.Body) > 0 || a.Header.Get("Content-Type") != "" {
			t.Errorf("the region of %s: HTTP %d %s", user, a.Status, a.Body)
		}
	}
}

// A host name that does not resolve counts as a server that is down.
func TestNoSuchHost(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "terra/http-upstream-down-refused")
	for _, url := range []string{testkit.UnresolvableURL(), testkit.RefusedURL()} {
		root := systemtest.Gateway(t, "contract: terra", "path: /api/v2/mcp/{user_id}", "url: "+url)
		if a := knock(t, root+"/api/v2/mcp/u-1", newSystem(t, terra.Options{}).Entrance().Header); a.Status != http.StatusBadGateway || len(a.Body) > 0 {
			t.Errorf("%s: HTTP %d %s", url, a.Status, a.Body)
		}
	}
}

// knock calls a tool in the modern era.
func knock(t *testing.T, url string, header http.Header) *testkit.Answer {
	t.Helper()
	client := testkit.NewClient(t, url, testkit.Modern)
	client.Header = header
	a, err := client.Call(t.Context(), "get_sleep_data", `{"fields":["awakenings"]}`)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
