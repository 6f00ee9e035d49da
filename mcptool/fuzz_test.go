package mcptool_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse/mcptool"
)

// Any request is answered with JSON or passed on unchanged.
func FuzzGuard(f *testing.F) {
	f.Add("/api/v2/mcp/u-1", "k", ping)
	f.Add("/api/v2/mcp/%00", "k", `{"jsonrpc":"2.0","id":`)
	f.Add("/api/v2/mcp//", "", `[{"jsonrpc":"2.0","method":"x"}]`)
	f.Add("/", "x", strings.Repeat("[", 1000))
	f.Add("/api/v2/mcp/a%2Fb", "k", `{"jsonrpc":"2.0","id":{"a":1},"method":"tools/call","params":{"name":7}}`)
	passed := ""
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { passed = r.Header.Get("Provider-User-Id") })
	guard := mcptool.Guard(next, builtin(f, "terra"), quiet, mcptool.WithMaxRequest(10_000),
		mcptool.WithAuthenticator(keys{"X-Api-Key", map[string]string{"k": "dev"}}))
	f.Fuzz(func(t *testing.T, path, key, body string) {
		req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		req.URL.Path, req.URL.RawPath = path, ""
		req.Header = http.Header{"Dev-Id": {"d"}, "X-Api-Key": {key}, "Provider-User-Id": {"forged"}}
		answer := httptest.NewRecorder()
		passed = "nothing"
		guard.ServeHTTP(answer, req)
		switch {
		case answer.Code == http.StatusOK:
			if passed == "forged" || passed == "" || passed == "nothing" || key != "k" {
				t.Errorf("%q, key %q: let in as user %q", path, key, passed)
			}
		case passed != "nothing":
			t.Errorf("%q, key %q: let in, and HTTP %d", path, key, answer.Code)
		case answer.Code >= http.StatusInternalServerError || !json.Valid(answer.Body.Bytes()):
			t.Errorf("%q, key %q, %q: HTTP %d, %s", path, key, body, answer.Code, answer.Body)
		}
	})
}

// A call is answered, whatever its arguments.
func FuzzArguments(f *testing.F) {
	f.Add("get_field", `{"field_id":"F-1"}`)
	f.Add("get_field", `{"field_id":{"a":[[[1e9999999]]]},"years":1e400}`)
	f.Add("get_field", `null`)
	f.Add("get_feild", `[]`)
	f.Add("\x00", `"x"`)
	server := farm()
	mcptool.Use(server, builtin(f, "fieldmcp"), quiet)
	session := connect(f, server)
	f.Fuzz(func(t *testing.T, tool, arguments string) {
		if !json.Valid([]byte(arguments)) {
			return
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: jsonText(arguments)})
		if err == nil && len(result.Content) == 0 {
			t.Errorf("%q %s: %+v", tool, arguments, result)
		}
	})
}
