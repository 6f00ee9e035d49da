//go:build unix

package check_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/recoursehq/recourse/internal/call/args"
	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/server"
)

// In safe mode, a tool that destroys is never called, one that writes only with what its schema forbids, and one that reads with
// that or with an id that cannot exist.
func TestSafe(t *testing.T) {
	t.Parallel()

	var mu sync.Mutex
	var received []message
	answers := &fixture{}
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m message
		if json.Unmarshal(body, &m) == nil {
			mu.Lock()
			received = append(received, m)
			mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answers.ServeHTTP(w, r)
	}))
	t.Cleanup(listening.Close)
	to := &server.Endpoint{URL: listening.URL}
	if _, err := check.Plan(t.Context(), to, check.Options{Mode: check.Safe}); err != nil || answers.calls > 0 {
		t.Errorf("the plan alone has made %d calls: %v", answers.calls, err)
	}
	plan, err := check.Plan(t.Context(), to, check.Options{Mode: check.Safe, Reads: []string{"*"}})
	if all := strings.Join(plan, "\n"); err != nil || strings.Contains(all, "order_delete") {
		t.Errorf("a pattern stands for a tool that says that it destroys, %v:\n%s", err, all)
	}
	report := check.Check(t.Context(), to, check.Options{Mode: check.Safe})
	mu.Lock()
	defer mu.Unlock()
	called := map[string]int{}
	for i := range received {
		m := &received[i]
		known := []string{
			"initialize", "server/discover", "notifications/initialized", "notifications/cancelled", "tools/list", "tools/call", "recourse/no-such-method",
		}
		if !slices.Contains(known, m.Method) {
			t.Errorf("it sends %s", m.Method)
		}
		if m.Method == "tools/call" {
			called[m.Params.Name]++
			if !harmless(t, m) {
				t.Errorf("it calls %s %s", m.Params.Name, m.Params.Arguments)
			}
		}
	}
	if called["order_get"] == 0 || called["order_create"] == 0 || called["recourse_check_no_such_tool"] < 200 || report.Stopped != "" {
		t.Errorf("it calls %v; stopped: %q", called, report.Stopped)
	}
}

// harmless reports whether a call of the fixture can do nothing.
func harmless(t *testing.T, m *message) bool {
	t.Helper()
	if m.Params.Name == "recourse_check_no_such_tool" {
		return true
	}
	if m.Params.Name == "order_get" && strings.HasPrefix(text(m.Params.Arguments["order_id"]), "recourse-check-") {
		return true
	}
	var tools []struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	if err := json.Unmarshal([]byte(fixtureTools), &tools); err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if tool.Name == m.Params.Name && tool.Name != "order_delete" {
			schema, err := args.Compile(tool.InputSchema, nil)
			arguments, _ := json.Marshal(m.Params.Arguments)
			return err == nil && len(schema.Check(t.Context(), arguments)) > 0
		}
	}
	return false
}
