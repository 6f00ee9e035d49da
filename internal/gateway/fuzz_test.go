package gateway_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// serveOnce serves r with h. broken says whether the answer was broken off.
func serveOnce(t *testing.T, h http.Handler, r *http.Request) (w *httptest.ResponseRecorder, broken bool) {
	t.Helper()
	w = httptest.NewRecorder()
	defer func() {
		err, isErr := recover().(error)
		broken = isErr && errors.Is(err, http.ErrAbortHandler)
		if isErr && !broken {
			t.Fatalf("panic: %v", err)
		}
	}()
	h.ServeHTTP(w, r)
	return w, false
}

// Any request gets a whole answer in a valid form.
func FuzzServeHTTP(f *testing.F) {
	f.Add("POST", "application/json", "", "2025-11-25", "", "", "", "", []byte(ping))
	f.Add("POST", "application/json", "*/*", "", "", "", "s", "", []byte(`{"jsonrpc":"2.0","id":"\u0061","method":"initialize","params":{}}`))
	f.Add("POST", "application/json", "", "2026-07-28", "tools/call", "a", "", "", []byte(`{"jsonrpc":"2.0","id":-7,"method":"tools/call","params":{"name":"a",`+
		`"arguments":{"x":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	f.Add("POST", "application/json", "", "2026-07-28\U000e0001", "", "", "", "", []byte(ping))
	f.Add("POST", "application/json", "", "", "", "", "", "", []byte(`[{"jsonrpc":"2.0"}]`))
	f.Add("POST", "text/plain", "", "", "", "", "", "https://evil.example.com", []byte(`x`))
	f.Add("POST", "application/json", "", "", "", "", "", "", []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add("GET", "", "text/event-stream", "", "", "", "", "", []byte(nil))
	f.Add("DELETE", "", "", "", "", "", "s", "", []byte(nil))
	f.Add("OPTIONS", "", "", "", "", "", "", "https://app.example.com", []byte(nil))

	g, _ := gatewaytest.New(f, "origins: [https://app.example.com]\nmax_request: 4KiB\nservers:\n  farm:\n    url: "+goodServer(f)+"\n    timeout: 5s\n")
	f.Fuzz(func(t *testing.T, method, contentType, accept, version, rpcMethod, name, session, origin string, body []byte) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost/farm/mcp", bytes.NewReader(body))
		if err != nil {
			t.Skip()
		}
		for header, value := range map[string]string{
			"Content-Type": contentType, "Accept": accept, "Mcp-Protocol-Version": version, "Mcp-Method": rpcMethod,
			"Mcp-Name": name, "Mcp-Session-Id": session, "Origin": origin, "X-Request-Id": session,
		} {
			if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
				t.Skip() // net/http refuses such a request
			}
			if value != "" {
				r.Header.Set(header, value)
			}
		}
		w, broken := serveOnce(t, g, r)
		if broken {
			t.Fatal("the answer was broken off")
		}
		checkFuzzed(t, w)
	})
}

// checkFuzzed checks that an answer is empty, a JSON-RPC message, a stream of them, or a problem document.
func checkFuzzed(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	body, contentType := w.Body.Bytes(), w.Header().Get("Content-Type")
	var message struct {
		JSONRPC   string `json:"jsonrpc"`
		Title     string `json:"title"`
		ErrorCode int    `json:"errorCode"` // of a contract's own HTTP form
	}
	switch {
	case len(body) == 0 || contentType == "text/event-stream":
	case json.Unmarshal(body, &message) != nil, message.JSONRPC != "2.0" && message.Title == "" && message.ErrorCode == 0:
		t.Errorf("got HTTP %d %s %q", w.Code, contentType, body)
	}
}

// goodServer returns the URL of a server that answers everything with the same result.
func goodServer(tb testing.TB) string {
	tb.Helper()
	return testkit.Serve(tb, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var msg struct {
			ID json.RawMessage `json:"id"`
		}
		body, err := io.ReadAll(r.Body)
		switch {
		case err != nil || r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case json.Unmarshal(body, &msg) != nil || msg.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Mcp-Session-Id", "s")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(msg.ID) +
				`,"result":{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"integer","x-mcp-header":"X"}}}}]}}`))
		}
	})) + "/mcp"
}

// For any answer of a server, the client gets a message with its id, or sees the answer broken off.
func FuzzAnswer(f *testing.F) {
	f.Add(200, "application/json", []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`), false)
	f.Add(200, "application/json", []byte(`{"id":1,"error":{"code":-32601,"message":"x","data":{}},"jsonrpc":"2.0"}`), true)
	f.Add(200, "application/json", []byte(`{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"[x] y"}],"_meta":{"a":1}}}`), false)
	f.Add(200, "text/event-stream", []byte("id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"), true)
	f.Add(200, "text/event-stream", []byte(": x\r\rdata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\r\rdata: {\r"), false)
	f.Add(404, "text/plain", []byte("session not found"), false)
	f.Add(400, "application/json", []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"x"}}`), true)
	f.Add(429, "application/json", []byte(`{"error":"Rate limit exceeded.","errorCode":429}`), true)
	f.Add(307, "", []byte(nil), false)

	var answer struct {
		status      int
		contentType string
		body        []byte
	}
	url := testkit.Serve(f, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = []string{answer.contentType}
		w.WriteHeader(answer.status)
		_, _ = w.Write(answer.body)
	})) + "/mcp"
	const entry = "  %[1]s: {url: '%[2]s', contract: %[1]s, timeout: 5s, tools: {'*': {read_only: false}}}\n"
	g, _ := gatewaytest.New(f, "decide_within: 1KiB\nservers:\n"+fmt.Sprintf(entry, "recourse", url)+fmt.Sprintf(entry, "fieldmcp", url))
	f.Fuzz(func(t *testing.T, status int, contentType string, body []byte, other bool) {
		if status < 200 || status > 599 || status == http.StatusNoContent || status == http.StatusNotModified || strings.ContainsAny(contentType, "\r\n\x00") {
			t.Skip()
		}
		answer.status, answer.contentType, answer.body = status, contentType, body
		path := "recourse"
		if other {
			path = "fieldmcp"
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/"+path+"/mcp",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`))
		r.Header.Set("Content-Type", "application/json")
		w, broken := serveOnce(t, g, r)
		if broken {
			return
		}
		checkFuzzed(t, w)
		if w.Header().Get("Content-Type") == "text/event-stream" {
			return
		}
		var message struct {
			ID json.RawMessage `json:"id"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &message); (err != nil || string(message.ID) != "1") && w.Code != http.StatusNotFound && w.Code != http.StatusTooManyRequests {
			t.Errorf("got HTTP %d %q for %d %s %q", w.Code, w.Body, status, contentType, body)
		}
	})
}

// For any lines of a host, the gateway writes one message per line, and answers each valid request once.
func FuzzServeStdio(f *testing.F) {
	for _, text := range []string{
		gatewaytest.Hello + "\n" + gatewaytest.Ready + "\n" + gatewaytest.EchoLine("1", "hi"),
		"Hello?\n[]\n\"x\"\n{\"jsonrpc\":\"2.0\",\"id\":1,\n\r\n\x00\xff",
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}` + "\n" + `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":7,"result":{}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a","arguments":{"x":1},"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		gatewaytest.EchoLine("8", strings.Repeat("x", 5<<10)),
		strings.Repeat(ping+"\n", 300),
	} {
		f.Add([]byte(text))
	}
	g, _ := gatewaytest.New(f, "max_request: 4KiB\nservers:\n  farm:\n    url: "+goodServer(f)+"\n    timeout: 5s\n")
	const id = `"at last"`
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Contains(text, []byte(id)) {
			t.Skip()
		}
		in := io.MultiReader(bytes.NewReader(text), strings.NewReader("\n"+`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`))
		var out bytes.Buffer
		if err := g.ServeStdio(t.Context(), gatewaytest.Path, in, &out); err != nil {
			t.Fatal(err)
		}
		answers := 0
		for line := range strings.Lines(out.String()) {
			var m struct {
				JSONRPC string          `json:"jsonrpc"`
				ID      json.RawMessage `json:"id"`
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" || !strings.HasSuffix(line, "\n") {
				t.Errorf("got line %q, want a message", line)
			}
			if string(m.ID) == id {
				answers++
			}
		}
		if answers != 1 {
			t.Errorf("got %d answers to the last request: %q", answers, out.String())
		}
	})
}
