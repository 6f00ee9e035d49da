package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/testkit"
)

// Nothing is refused on the word of an old list: a tool may have appeared, or a schema
// been relaxed, without a notice.
func TestOldLists(t *testing.T) { //nolint:paralleltest // it takes no time: synctest has a clock of its own
	s := &lister{tools: one(toolA)}
	upstream := httptest.NewServer(s)
	defer upstream.Close()
	synctest.Test(t, func(t *testing.T) {
		g, log := newGateway(t, "servers:\n  farm:\n    url: "+upstream.URL+"/mcp\n    timeout: 20s\n")
		call := func(tool, arguments string) bool {
			t.Helper()
			return callVirtually(t, g, tool, arguments)
		}
		want := func(lists, calls int) {
			t.Helper()
			if l, c := s.count(); l != lists || c != calls {
				t.Errorf("%d lists and %d calls, want %d and %d\n%s", l, c, lists, calls, log)
			}
		}
		if call("a", `{}`) || call("b", `{}`) {
			t.Error("the gateway lets through what does not fit")
		}
		want(1, 0)
		s.set(one(toolA + "," + toolB))
		time.Sleep(6 * time.Second)
		if !call("a", `{"x":1}`) {
			t.Error("a good call is refused")
		}
		want(1, 1)
		if !call("b", `{}`) {
			t.Error("a tool that has appeared is refused")
		}
		want(2, 2)
		s.set(one(`{"name":"a","inputSchema":{"type":"object"}}`))
		time.Sleep(6 * time.Second)
		if !call("a", `{}`) {
			t.Error("a call is refused by a schema that is no more")
		}
		want(3, 3)
		time.Sleep(6 * time.Second)
		if call("b", `{}`) {
			t.Error("a tool that is no more is not refused")
		}
		want(4, 3)
		time.Sleep(5*time.Minute + time.Second)
		if !call("a", `{}`) {
			t.Error("a good call is refused")
		}
		want(5, 4)
	})
}

// callVirtually calls a tool in virtual time, and reports whether the server was let answer.
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

// A list that is declared stale immediately is still used for a second, and no longer.
func TestOldListsAreNotFetchedAtEachCall(t *testing.T) { //nolint:paralleltest // it takes no time: synctest has a clock of its own
	for _, ttl := range []string{"0", "1", "-5"} {
		s := &lister{tools: one(toolB), ttl: ttl}
		upstream := httptest.NewServer(s)
		synctest.Test(t, func(t *testing.T) {
			g, _ := newGateway(t, "servers:\n  farm:\n    url: "+upstream.URL+"/mcp\n    timeout: 20s\n")
			for _, step := range []struct {
				after time.Duration
				lists int
			}{{0, 1}, {500 * time.Millisecond, 1}, {499 * time.Millisecond, 1}, {2 * time.Millisecond, 2}} {
				time.Sleep(step.after)
				if !callVirtually(t, g, "b", `{}`) {
					t.Error("a good call is refused")
				}
				synctest.Wait() // a list may be fetched at the same time
				if lists, _ := s.count(); lists != step.lists {
					t.Errorf("ttlMs %s: %d lists, want %d", ttl, lists, step.lists)
				}
			}
		})
		upstream.Close()
	}
}
