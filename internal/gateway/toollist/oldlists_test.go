package toollist_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// An out-of-date list refuses nothing: a tool may have appeared, or a schema may have been relaxed, without a
// notification.
func TestOldLists(t *testing.T) {
	s := &lister{tools: one(toolA)}
	upstream := httptest.NewServer(s)
	defer upstream.Close()
	synctest.Test(t, func(t *testing.T) {
		g, log := gatewaytest.New(t, "servers:\n  farm:\n    url: "+upstream.URL+"/mcp\n    timeout: 20s\n")
		call := func(tool, arguments string) bool {
			t.Helper()
			return callVirtually(t, g, tool, arguments)
		}
		want := func(lists, calls int) {
			t.Helper()
			if l, c := s.count(); l != lists || c != calls {
				t.Errorf("got %d lists and %d calls, want %d and %d\n%s", l, c, lists, calls, log)
			}
		}
		if call("a", `{}`) || call("b", `{}`) {
			t.Error("a bad call is accepted")
		}
		want(1, 0)
		s.set(one(toolA + "," + toolB))
		time.Sleep(6 * time.Second)
		if !call("a", `{"x":1}`) {
			t.Error("a good call is refused")
		}
		want(1, 1)
		if !call("b", `{}`) {
			t.Error("a new tool is refused")
		}
		want(2, 2)
		s.set(one(`{"name":"a","inputSchema":{"type":"object"}}`))
		time.Sleep(6 * time.Second)
		if !call("a", `{}`) {
			t.Error("an old schema refuses a call")
		}
		want(3, 3)
		time.Sleep(6 * time.Second)
		if call("b", `{}`) {
			t.Error("a removed tool is accepted")
		}
		want(4, 3)
		time.Sleep(5*time.Minute + time.Second)
		if !call("a", `{}`) {
			t.Error("a good call is refused")
		}
		want(5, 4)
	})
}

// callVirtually calls a tool in virtual time, and reports whether the call reached the server.
func callVirtually(t *testing.T, g http.Handler, tool, arguments string) bool {
	t.Helper()
	c := testkit.DialClient("", testkit.Modern)
	body, header := c.Message("1", "tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/farm/mcp", strings.NewReader(string(body)))
	r.Header = header
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w.Code == http.StatusOK && !strings.Contains(w.Body.String(), "recourse")
}

// A list is used for a second, even if its ttlMs is shorter.
func TestOldListsAreUsedForASecond(t *testing.T) {
	for _, ttl := range []string{"0", "1", "-5"} {
		s := &lister{tools: one(toolB), ttl: ttl}
		upstream := httptest.NewServer(s)
		synctest.Test(t, func(t *testing.T) {
			g, _ := gatewaytest.New(t, "servers:\n  farm:\n    url: "+upstream.URL+"/mcp\n    timeout: 20s\n")
			for _, step := range []struct {
				after time.Duration
				lists int
			}{{0, 1}, {500 * time.Millisecond, 1}, {499 * time.Millisecond, 1}, {2 * time.Millisecond, 2}} {
				time.Sleep(step.after)
				if !callVirtually(t, g, "b", `{}`) {
					t.Error("a good call is refused")
				}
				synctest.Wait() // a list may be fetched in the background
				if lists, _ := s.count(); lists != step.lists {
					t.Errorf("ttlMs %s: got %d lists, want %d", ttl, lists, step.lists)
				}
			}
		})
		upstream.Close()
	}
}
