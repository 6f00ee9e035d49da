package systems_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// healthServer is an MCP server with one tool. Tests choose how its calls fail.
type healthServer struct {
	call func(w http.ResponseWriter, r *http.Request) // answers a tools/call

	mu    sync.Mutex
	calls []http.Header
}

func (s *healthServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &message)
	if message.Method != "tools/call" {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"get_sleep_data","inputSchema":{"type":"object"}}]}}`, message.ID)
		return
	}
	s.mu.Lock()
	s.calls = append(s.calls, r.Header.Clone())
	s.mu.Unlock()
	r.Header.Set("Test-Id", string(message.ID))
	s.call(w, r)
}

func (s *healthServer) received() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// says returns a handler that answers a call with a text, as a failure or not.
func says(text string, isError bool) func(w http.ResponseWriter, r *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		quoted, _ := json.Marshal(text)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}],"isError":%t}}`, r.Header.Get("Test-Id"), quoted, isError)
	}
}

func status(code int) func(w http.ResponseWriter, r *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// failed returns a handler that answers with a status and a text.
func failed(code int) func(w http.ResponseWriter, r *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "The pool is exhausted.", code) }
}

// breaks returns a handler that ends the connection after a part of its answer.
func breaks(part string) func(w http.ResponseWriter, r *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		if part != "" {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "99")
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler) // makes net/http close the connection
	}
}

const terraPath = "/api/v2/mcp"

// atTerra returns the base URL of a gateway with the contract terra. entry has lines of the server's entry.
func atTerra(tb testing.TB, top string, entry ...string) string {
	tb.Helper()
	path := terraPath + "/{user_id}"
	if strings.HasPrefix(entry[0], "command:") { // which cannot be told the user
		path = terraPath
	}
	lines := append([]string{"contract: terra", "path: " + path}, entry...)
	g, _ := gatewaytest.New(tb, top+"servers:\n  terra:\n    "+strings.Join(lines, "\n    ")+"\n")
	return testkit.Serve(tb, g)
}

// ask calls a tool, and returns the answer and its body.
func ask(tb testing.TB, era testkit.Era, url string, header http.Header) (*http.Response, string) {
	tb.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_sleep_data","arguments":{}}}`
	if era == testkit.Modern {
		body = strings.Replace(body, `"arguments":{}`, `"arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}}`, 1)
	}
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header = header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if era == testkit.Modern {
		req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", "tools/call")
		req.Header.Set("Mcp-Name", "get_sleep_data")
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return resp, string(raw)
}

// keys returns a client's credentials.
func keys() http.Header {
	return http.Header{"Dev-Id": {"dev-1"}, "X-Api-Key": {"key-1"}}
}

// The seven HTTP answers before a tool runs have exact bytes in both eras.
func TestTerraSessionErrors(t *testing.T) {
	t.Parallel()
	const forward = "forward: [dev-id, x-api-key]"
	problem := func(title, detail string) string {
		return `{"type":"about:blank","title":"` + title + `","instance":"URL","detail":"` + detail + `"}`
	}
	tests := []struct {
		name     string
		call     func(w http.ResponseWriter, r *http.Request)
		entry    []string // instead of the server's url
		header   http.Header
		path     string
		status   int
		body     string // with URL for the request's URL
		attempts int
		promises []string
	}{
		{
			name: "no credentials", header: http.Header{}, path: "/u-1", status: 401,
			body:     problem("unauthorized", "dev-id or x-api-key headers are missing"),
			promises: []string{"terra/http-credentials-missing", "terra/headers", "terra/surface-session", "terra/problem-content-type", "terra/problem-type", "terra/problem-title", "terra/problem-instance", "terra/problem-detail", "terra/problem-members", "terra/path"},
		},
		{name: "half of the credentials", header: http.Header{"Dev-Id": {"dev-1"}}, path: "/u-1", status: 401, body: problem("unauthorized", "dev-id or x-api-key headers are missing")},
		{name: "empty credentials", header: http.Header{"Dev-Id": {"dev-1"}, "X-Api-Key": {""}}, path: "/u-1", status: 401, body: problem("unauthorized", "dev-id or x-api-key headers are missing")},
		{name: "no credentials, no user", header: http.Header{}, path: "", status: 401, body: problem("unauthorized", "dev-id or x-api-key headers are missing")},
		{
			name: "refused credentials", call: status(401), path: "/u-1?x=1&y=%3C", status: 401, body: problem("unauthorized", "unauthorized"), attempts: 1,
			promises: []string{"terra/http-credentials-invalid", "terra/no-retry-401"},
		},
		{name: "no user", path: "", status: 404, body: problem("not found", "missing user_id parameter"), promises: []string{"terra/http-user-missing"}},
		{name: "an empty user", path: "/", status: 404, body: problem("not found", "missing user_id parameter")},
		{name: "a blank user", path: "/%20", status: 404, body: problem("not found", "invalid user id"), promises: []string{"terra/http-user-malformed"}},
		{name: "a user with a slash", path: "/a%2Fb", status: 404, body: problem("not found", "invalid user id")},
		{name: "a user with a line break", path: "/a%0D%0AX:1", status: 404, body: problem("not found", "invalid user id")},
		{name: "a long user", path: "/" + strings.Repeat("u", 129), status: 404, body: problem("not found", "invalid user id")},
		{
			name: "a user that the credentials may not read", call: status(403), path: "/u-2", status: 404, body: problem("not found", "invalid user id"), attempts: 1,
			promises: []string{"terra/http-user-not-authorised", "terra/no-retry-404"},
		},
		{
			name: "a failure before MCP", call: failed(500), path: "/u-1", status: 500, body: problem("internal server error", "something went wrong"), attempts: 1,
			promises: []string{"terra/http-something-went-wrong", "terra/no-retry-500"},
		},
		{name: "an empty 500 of a server that follows the contract itself", call: status(500), path: "/u-1", status: 500, attempts: 1},
		{
			name: "a missing program", entry: []string{"command: [/nonexistent/server]"}, status: 500,
			promises: []string{"terra/http-misconfigured", "terra/empty-body"},
		},
		{name: "the gateway's own credentials are refused", call: status(401), entry: []string{"headers: {Authorization: old}"}, path: "/u-1", status: 500, attempts: 1},
		{
			name: "nobody listens", entry: []string{"url: http://127.0.0.1:1/mcp"}, path: "/u-1", status: 502,
			promises: []string{"terra/http-upstream-down", "terra/http-upstream-down-refused"},
		},
		{name: "a reset", call: breaks(""), path: "/u-1", status: 502, attempts: 3, promises: []string{"terra/http-upstream-down-reset"}},
		{name: "502", call: status(502), path: "/u-1", status: 502, attempts: 3, promises: []string{"terra/http-upstream-down-status", "terra/retry-502"}},
		{name: "503", call: status(503), path: "/u-1", status: 502, attempts: 3},
	}
	for _, tt := range tests {
		for _, era := range testkit.Eras {
			t.Run(tt.name+"/"+era.String(), func(t *testing.T) {
				t.Parallel()
				promises.Covers(t, tt.promises...)
				srv := &healthServer{call: tt.call}
				entry := tt.entry
				switch {
				case entry == nil:
					entry = []string{forward, "url: " + testkit.Serve(t, srv)}
				case tt.call != nil:
					entry = append(entry, "url: "+testkit.Serve(t, srv))
				}
				header := tt.header
				if header == nil {
					header = keys()
				}
				url := atTerra(t, "", entry...) + terraPath + tt.path
				resp, body := ask(t, era, url, header)
				got := http.Header{}
				for _, name := range []string{"Content-Type", "Content-Length"} {
					if values, ok := resp.Header[name]; ok {
						got[name] = values
					}
				}
				want := http.Header{"Content-Length": {"0"}}
				wantBody := ""
				if tt.body != "" {
					wantBody = strings.Replace(tt.body, "URL", url, 1)
					want = http.Header{"Content-Type": {"application/problem+json"}, "Content-Length": {strconv.Itoa(len(wantBody))}}
				}
				if resp.StatusCode != tt.status {
					t.Errorf("got HTTP %d, want %d", resp.StatusCode, tt.status)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("header (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(wantBody, body); diff != "" {
					t.Errorf("body (-want +got):\n%s", diff)
				}
				if attempts := len(srv.received()); attempts != tt.attempts {
					t.Errorf("got %d attempts at the server, want %d", attempts, tt.attempts)
				}
			})
		}
	}
}

// The failure of a tool, or of a call that may have run, is a tool error with one sentence.
func TestTerraToolErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		call     func(w http.ResponseWriter, r *http.Request)
		text     string
		kind     recourse.Kind
		origin   recourse.Origin
		timeout  string
		promises []string
		readings []string // promises about reading the server's own form
	}{
		{
			name: "no answer in time", timeout: "200ms", call: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			text: "terra did not answer within 200 ms.", kind: recourse.KindTimeout, origin: recourse.OriginGateway,
			promises: []string{"terra/http-upstream-timeout"},
		},
		{
			name: "an answer that breaks off", call: breaks(`{"jsonrpc"`),
			text: "The connection to terra broke before the answer was complete.", kind: recourse.KindUnreachable, origin: recourse.OriginGateway,
			promises: []string{"terra/http-upstream-broken-answer"},
		},
		{
			name: "a sentence after a runtime's prefix", call: says("Error executing tool get_sleep_data: fields or select are required", true),
			text: "fields or select are required", kind: recourse.KindMissingParam, origin: recourse.OriginServer,
			readings: []string{"terra/tool-detail-only", "terra/surface-tool", "terra/tool-is-error"},
		},
		{
			name: "two sentences", call: says("And condition provided but empty after conversion: fields or select are required", true),
			text: "And condition provided but empty after conversion", kind: recourse.KindInvalidValue, origin: recourse.OriginServer,
			readings: []string{"terra/tool-longest-first"},
		},
		{
			name: "no request context", call: says("Error executing tool x: request context is unavailable", true),
			text: "request context is unavailable", kind: recourse.KindInternal, origin: recourse.OriginServer,
			readings: []string{"terra/context-is-server-side", "terra/tool-context-server"},
		},
		{
			name: "no user header", call: says("Provider-User-Id header is required", true),
			text: "Provider-User-Id header is required", kind: recourse.KindInternal, origin: recourse.OriginServer,
		},
		{
			name: "a value with quotes", call: says("Error: Invalid ISO 8601 timestamp 'it's'. Use formats like 2025-11-12T00:00:00Z.", true),
			text: "Invalid ISO 8601 timestamp 'it's'. Use formats like 2025-11-12T00:00:00Z.", kind: recourse.KindInvalidValue, origin: recourse.OriginServer,
			readings: []string{"terra/tool-surfaced"},
		},
		{
			name: "unauthorized", call: says("unauthorized", true), text: "unauthorized", kind: recourse.KindUnauthenticated, origin: recourse.OriginServer,
			readings: []string{"terra/unauthorized-only-in-401"},
		},
		{
			name: "anything else", call: says("The device is asleep.", true), text: "The device is asleep.", kind: recourse.KindUnknown, origin: recourse.OriginServer,
			readings: []string{"terra/everything-else"},
		},
	}
	for _, tt := range tests {
		for _, era := range testkit.Eras {
			t.Run(tt.name+"/"+era.String(), func(t *testing.T) {
				t.Parallel()
				promises.Covers(t, tt.promises...)
				promises.Reads(t, tt.readings...)
				srv := &healthServer{call: tt.call}
				timeout := "20s"
				if tt.timeout != "" {
					timeout = tt.timeout
				}
				resp, body := ask(t, era, atTerra(t, "", "timeout: "+timeout, "url: "+testkit.Serve(t, srv))+terraPath+"/u-1", keys())
				var answer struct {
					Result struct {
						Content []struct {
							Text string `json:"text"`
						} `json:"content"`
						IsError bool                       `json:"isError"`
						Meta    map[string]json.RawMessage `json:"_meta"`
					} `json:"result"`
				}
				if err := json.Unmarshal([]byte(body), &answer); err != nil || resp.StatusCode != http.StatusOK || len(answer.Result.Content) != 1 {
					t.Fatalf("got HTTP %d %s: %v", resp.StatusCode, body, err)
				}
				e := new(recourse.Error)
				if err := json.Unmarshal(answer.Result.Meta[recourse.MetaKey], e); err != nil {
					t.Fatal(err)
				}
				if text := answer.Result.Content[0].Text; text != tt.text || !answer.Result.IsError || e.Kind != tt.kind || e.Origin != tt.origin {
					t.Errorf("got %q, isError %t, %s of %s; want %q, %s of %s", text, answer.Result.IsError, e.Kind, e.Origin, tt.text, tt.kind, tt.origin)
				}
			})
		}
	}
}

// The server gets the user of the path in Provider-User-Id; the client's own header is dropped.
func TestTerraUser(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "terra/user-header", "terra/user-header-dropped")
	srv := &healthServer{call: says("slept", false)}
	root := atTerra(t, "", "forward: [dev-id, x-api-key, provider-user-id]", "url: "+testkit.Serve(t, srv))
	for _, era := range testkit.Eras {
		header := keys()
		header.Set("Provider-User-Id", "somebody-else")
		if resp, body := ask(t, era, root+terraPath+"/u%3A1", header); resp.StatusCode != http.StatusOK {
			t.Fatalf("got HTTP %d %s", resp.StatusCode, body)
		}
	}
	for _, got := range srv.received() {
		if diff := cmp.Diff([]string{"u:1"}, got.Values("Provider-User-Id")); diff != "" {
			t.Errorf("Provider-User-Id (-want +got):\n%s", diff)
		}
		if got.Get("Dev-Id") != "dev-1" || got.Get("X-Api-Key") != "key-1" {
			t.Errorf("got credentials %v", got)
		}
	}
}

// A session belongs to its user: for another user it is unknown.
func TestTerraSessionsBelongToUsers(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	root := atTerra(t, "", "url: "+srv.URL()) + terraPath
	id := ""
	for _, tt := range []struct {
		user, body string
		status     int
	}{
		{"/u-1", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, http.StatusOK},
		{"/u-1", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, http.StatusOK},
		{"/u-2", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, http.StatusNotFound},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, root+tt.user, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = keys()
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if id != "" {
			req.Header.Set("Mcp-Session-Id", id)
		}
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != tt.status {
			t.Fatalf("%s %s: got HTTP %d %s", tt.user, tt.body, resp.StatusCode, body)
		}
		if given := resp.Header.Get("Mcp-Session-Id"); given != "" {
			id = given
		}
	}
}

// instance is the URL that clients use, and invalid messages get the protocol's own answers.
func TestTerraInstanceAndProtocol(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "terra/problem-instance-public-url", "terra/protocol-faults-are-the-protocols")
	srv := &healthServer{call: says("slept", false)}
	root := atTerra(t, "public_url: https://api.example.com\n", "url: "+testkit.Serve(t, srv))
	resp, body := ask(t, testkit.Legacy, root+terraPath+"/u-1?a=b", http.Header{})
	want := `{"type":"about:blank","title":"unauthorized","instance":"https://api.example.com` + terraPath + `/u-1?a=b",` +
		`"detail":"dev-id or x-api-key headers are missing"}`
	if resp.StatusCode != http.StatusUnauthorized || body != want {
		t.Errorf("got HTTP %d %s", resp.StatusCode, body)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, root+terraPath+"/u-1", bytes.NewReader([]byte(`{`)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = keys()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	malformed, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer malformed.Body.Close()
	var answer struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	if err := json.NewDecoder(malformed.Body).Decode(&answer); err != nil || malformed.StatusCode != http.StatusBadRequest || answer.Error.Code != -32700 {
		t.Errorf("got HTTP %d, code %d: %v", malformed.StatusCode, answer.Error.Code, err)
	}
}

// A guaranteed sentence has the caller's value as it was written. What the server hides in it is still removed.
func TestTerraSentenceKeepsTheValue(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	client := testkit.NewClient(t, gatewaytest.Start(t, srv.URL(), "contract: terra").URL, testkit.Modern)
	client.Header = keys()
	for value, hides := range map[string]string{"2025-11\u0007": "", "\u202e2025": "", "\u001b[31mred": "", "soft\u00adhyphen": "\u200b"} {
		sentence := "Invalid ISO 8601 timestamp '" + value + "'. Use formats like 2025-11-12T00:00:00Z."
		srv.Always(testkit.Echo, faults.ToolError("", strings.Replace(sentence, "Use", "Use"+hides, 1)))
		arguments, _ := json.Marshal(map[string]string{"message": value})
		a, err := client.Call(t.Context(), testkit.Echo, string(arguments))
		if err != nil {
			t.Fatal(err)
		}
		result, err := a.ToolResult()
		if err != nil {
			t.Fatal(err)
		}
		if text := result.Text(); hides == "" && text != sentence || hides != "" && strings.ContainsAny(text, hides) {
			t.Errorf("got %q, want %q", text, sentence)
		}
	}
}
