package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// post sends a request, as a framework would, and returns the answer.
func post(t *testing.T, url, body string, header http.Header) (answer string, _ http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error(), nil
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.Status + " " + string(b), response.Header
}

// The model calls the tool by the name that the framework gave it, keeps what is said of the call, and is done.
func TestModel(t *testing.T) {
	t.Parallel()
	for path, asks := range map[string][3]string{
		"/v1/chat/completions": {
			`{"tools":[{"function":{"name":"shop_order_create"}}],"messages":[{"role":"user","content":"go"}]}`,
			`"name":"shop_order_create","arguments":"{\"reference\":`,
			`{"messages":[{"role":"user","content":"go"},{"role":"assistant"},{"role":"tool","content":[{"type":"text","text":"It failed."}]}]}`,
		},
		"/v1/responses": {
			`{"stream":true,"tools":[{"name":"mcp__shop","tools":[{"name":"order_create"}]}],"input":"go"}`,
			`"namespace":"mcp__shop","name":"order_create"`,
			`{"stream":true,"input":[{"type":"function_call"},{"type":"function_call_output","output":"It failed."}]}`,
		},
		"/v1beta/models/scripted:generateContent": {
			`{"tools":[{"functionDeclarations":[{"name":"order_create"}]}],"contents":[{"role":"user","parts":[{"text":"go"}]}]}`,
			`"functionCall":{"id":"call_1","name":"order_create","args":{"reference":`,
			`{"contents":[{"role":"user","parts":[{"functionResponse":{"response":"It failed."}}]}]}`,
		},
	} {
		begun := false
		m, err := newModel(t.Context(), classNamed("ok"), func() { begun = true })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.stop)
		first, _ := post(t, m.url+path, asks[0], nil)
		second, _ := post(t, m.url+path, asks[2], nil)
		_, _, told := m.said()
		if !begun || !strings.Contains(first, asks[1]) || !strings.Contains(second, "done") || strings.Trim(strings.Join(told, "|"), `"`) != "It failed." {
			t.Errorf("%s: %t, %s, %s, %q", path, begun, first, second, told)
		}
	}
}

// The server fails as its class says, once a session has begun, and counts the calls that it gets.
func TestServer(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ok": "Order A-17 is confirmed.", "500": "500 Internal Server Error", "reset": "reset by peer", "429": "Too Many Requests",
		"iserror-struct": `"retryAfterMs":7000`, "missing-arg": "is a required property", "unknown-tool": "Unknown tool: order_craete",
	} {
		c := classNamed(name)
		s, err := newServer(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.stop)
		tool, args := c.call()
		call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `}}`
		if early, _ := post(t, s.url, call, nil); !strings.Contains(early, "No valid session ID") {
			t.Errorf("%s: without a session: %s", name, early)
		}
		_, header := post(t, s.url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, nil)
		session := http.Header{"Mcp-Session-Id": header.Values("Mcp-Session-Id")}
		if got, _ := post(t, s.url, call, session); !strings.Contains(got, want) || s.arrivals() != 1 {
			t.Errorf("%s: %s, %d arrivals", name, got, s.arrivals())
		}
		s.forget()
		if late, _ := post(t, s.url, call, session); !strings.Contains(late, "Session not found") {
			t.Errorf("%s: in a lost session: %s", name, late)
		}
	}
}

// What was kept of two runs gives the same page, and the page says what happened.
func TestPage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, f := range []*framework{frameworks[0], {name: plain}} {
		cells := kept{}
		for _, c := range classes {
			for _, through := range []bool{false, true} {
				one := &cell{Class: c.name, Through: through, End: "done", Called: write, Arrived: 1, Told: []string{"127.0.0.1:4711 failed"}}
				if through {
					one.Told = []string{"[timeout] It is not known. Before calling again: wait 7 s, then order_get(reference='A-17')"}
				}
				cells[one.key()] = one
			}
		}
		cells["reset false"].Arrived = 2
		cells["down false"].End = "threw"
		b, err := json.Marshal(cells)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(resultFile(folder, f), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(folder, "page.md")
	if err := writePage(folder, file); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| `reset` | - x2 > WRV |", "| `down` | DIES > WRV |", "| AI SDK | 1 > 0 | 0 > 0 | 0 > 0 | `reset` x2 > x1 |", "127.0.0.1:PORT failed", "(ai 7.", "(mcp 1.",
		"  all: [timeout] It is not known.",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the page does not have %q:\n%s", want, b)
		}
	}
}
