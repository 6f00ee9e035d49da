package access_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// requestLines returns the lines of the access log, without the members that differ from run to run.
func requestLines(t *testing.T, log *gatewaytest.Log) []map[string]any {
	t.Helper()
	var lines []map[string]any
	for text := range strings.Lines(log.String()) {
		line := map[string]any{}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if line["msg"] != "request" {
			continue
		}
		for _, name := range []string{"time", "ms", "peer", "request_id"} {
			if line[name] == nil {
				t.Errorf("no %s in the line %s", name, text)
			}
			delete(line, name)
		}
		lines = append(lines, line)
	}
	return lines
}

// The access log has a line for each request, without the contents of the call.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.InMemory())
	g, log := gatewaytest.New(t, "access_log: true\nservers:\n  farm:\n    url: "+srv.URL()+"\n")
	url := gatewaytest.Open(t, g, true)
	client := testkit.NewClient(t, url+"/farm/mcp", testkit.Modern)
	const secret = "sk_live_51Hh4sUvE9zQmXw3Rk7yTn2bV"
	for _, call := range []string{
		`{"name":"echo","arguments":{"message":"n0t-logged"}}`,
		`{"name":"get_field","arguments":{"wrong":"n0t-logged"}}`,
		`{"name":"` + secret + strings.Repeat("x", 200) + `","arguments":{}}`,
	} {
		if _, err := client.Request(t.Context(), "tools/call", call); err != nil {
			t.Fatal(err)
		}
	}
	client.URL = url + "/nowhere/token=" + secret
	if _, err := client.Send(t.Context(), http.MethodPost, strings.NewReader("{}"), nil); err != nil {
		t.Fatal(err)
	}
	text := log.String()
	for _, hidden := range []string{"n0t-logged", secret, strings.Repeat("x", 100)} {
		if strings.Contains(text, hidden) {
			t.Errorf("%s is in the log:\n%s", hidden, text)
		}
	}
	want := []map[string]any{
		{"server": "farm", "method": "tools/call", "tool": "echo", "status": 200.0, "end": "success", "attempts": 1.0},
		{"server": "farm", "method": "tools/call", "tool": "get_field", "status": 200.0, "end": "failure", "kind": "missing_param", "code": "missing_param", "attempts": 0.0},
		{"server": "farm", "method": "tools/call", "status": 200.0, "end": "failure", "kind": "unknown_tool", "code": "unknown_tool", "attempts": 0.0},
		{"status": 404.0, "end": "failure", "kind": "invalid_request", "code": "invalid_request", "attempts": 0.0},
	}
	got := requestLines(t, log)
	for i, line := range got {
		if line["bytes_in"] == nil || line["bytes_out"] == 0.0 || line["http_method"] != http.MethodPost || line["level"] != "INFO" {
			t.Errorf("got %v", line)
		}
		if i > 1 { // the client invented these names; the log masks them
			delete(line, "tool")
			delete(line, "path")
		}
		for _, name := range []string{"bytes_in", "bytes_out", "http_method", "level", "msg"} {
			delete(line, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, text)
	}
}

// Without the setting, or below the level, no requests are logged.
func TestAccessLogIsOff(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t, testkit.InMemory())
	g, log := gatewaytest.New(t, "servers:\n  farm:\n    url: "+srv.URL()+"\n")
	client := testkit.NewClient(t, gatewaytest.Open(t, g, true)+"/farm/mcp", testkit.Modern)
	if a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || !a.Succeeded() {
		t.Fatalf("%v", err)
	}
	if lines := requestLines(t, log); len(lines) > 0 {
		t.Errorf("got %v", lines)
	}
}
