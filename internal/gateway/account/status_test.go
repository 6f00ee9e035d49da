package account_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// told returns what recourse_status says.
func told(t *testing.T, c *testkit.Client, name string) (text, structure string) {
	t.Helper()
	a := c.MustCall(t, name, `{}`)
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if !a.Succeeded() {
		t.Fatalf("got %s", a.Body)
	}
	if err := json.Unmarshal(a.Message.Result, &result); err != nil || len(result.Content) != 1 {
		t.Fatalf("got %s, %v", a.Body, err)
	}
	return result.Content[0].Text, string(result.StructuredContent)
}

// An agent asks about its account before it fails, and counts for no limit.
func TestStatusTool(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithEra(era))
			f := startWithAccounts(t, srv, "authorization_code", "", "status_tool: true", "limits: {hour: {calls: 5/1h}}")
			c := f.client(t, era)
			if a := c.MustListTools(t); strings.Count(string(a.Body), `"name":"recourse_status"`) != 1 {
				t.Errorf("got the tools %s", a.Body)
			}
			text, structure := told(t, c, "recourse_status")
			if !strings.HasPrefix(text, "No John Deere account is connected. Connect it at ") || !strings.Contains(text, f.url) {
				t.Errorf("got %s", text)
			}
			if !strings.Contains(structure, `"connected":false`) {
				t.Errorf("got %s", structure)
			}
			f.connect(t)
			c.MustCall(t, testkit.Echo, `{"message":"m"}`)
			text, structure = told(t, c, "recourse_status")
			if !strings.Contains(structure, `"connected":true`) || !strings.Contains(structure, `"left":4`) {
				t.Errorf("got %s", structure)
			}
			if !strings.HasPrefix(text, "The account at John Deere is connected") || !strings.Contains(text, "4 of 5 calls in 1 h are left (hour)") {
				t.Errorf("got %s", text)
			}
			if text, _ = told(t, c, "recourse_status"); !strings.Contains(text, "4 of 5 calls") {
				t.Errorf("asking counts: %s", text)
			}
			if n := srv.Executions("recourse_status"); n != 0 {
				t.Errorf("the server got %d calls", n)
			}
		})
	}
}

// At an endpoint with several servers it is offered under the server's prefix.
func TestStatusToolOfMany(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	f := startWithAccounts(t, srv, "api_key", "endpoints: {all: {servers: [{name: farm, prefix: f_}]}}", "status_tool: true")
	f.connect(t)
	c := testkit.NewClient(t, f.url+"/all/mcp", testkit.Modern)
	if a := c.MustListTools(t); strings.Count(string(a.Body), `"name":"f_recourse_status"`) != 1 {
		t.Errorf("got the tools %s", a.Body)
	}
	if text, _ := told(t, c, "f_recourse_status"); !strings.HasPrefix(text, "The account at John Deere is connected") {
		t.Errorf("got %s", text)
	}
}
