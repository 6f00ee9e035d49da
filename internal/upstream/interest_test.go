package upstream_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// request sends a request with one string parameter and returns the answer.
func (s *server) request(method, name, value string) string {
	s.tb.Helper()
	resp, err := s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%q:%q}}`, method, name, value))
	if err != nil {
		s.tb.Fatal(err)
	}
	return content(s.tb, resp)
}

// mustTake is request that must succeed.
func (s *server) mustTake(method, name, value string) {
	s.tb.Helper()
	if got, want := s.request(method, name, value), `{"jsonrpc":"2.0","id":1,"result":{}}`; got != want {
		s.tb.Errorf("%s %s: got %s", method, value, got)
	}
}

func (s *server) subscribe(uri string) {
	s.tb.Helper()
	s.mustTake("resources/subscribe", "uri", uri)
}

func (s *server) unsubscribe(uri string) {
	s.tb.Helper()
	s.mustTake("resources/unsubscribe", "uri", uri)
}

func (s *server) do(tool, text string) {
	s.tb.Helper()
	resp, err := s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q}}}`, tool, text))
	if err != nil {
		s.tb.Fatal(err)
	}
	content(s.tb, resp)
}

// checkTold checks which subscriptions the child has been told of so far.
func (s *server) checkTold(want ...string) {
	s.tb.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n"), s.mustCall("told", 0)); diff != "" {
		s.tb.Errorf("the child was told (-want +got):\n%s", diff)
	}
}

func (s *server) end() {
	s.tb.Helper()
	if resp, err := s.Send(s.tb.Context(), http.MethodDelete, s.header(), nil); err != nil || resp.Status != http.StatusNoContent {
		s.tb.Errorf("DELETE: got %v, %v", resp, err)
	}
}

// expect checks the next notifications on a stream, by their method or the end of their params.
func expect(t *testing.T, next func() string, want ...string) {
	t.Helper()
	for _, w := range want {
		if got := next(); !strings.Contains(got, w) {
			t.Errorf("stream: got %s, want %s", got, w)
		}
	}
}

// Two sessions that share a child do not notice each other's subscriptions.
func TestSubscriptionsAreCounted(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	x, _ := s.open(wire.Version20251125)
	y, _ := s.open(wire.Version20251125)
	_, nextX := x.listen()
	_, nextY := y.listen()

	x.subscribe("a:1")
	y.subscribe("a:1")
	y.subscribe("b:dir")
	y.subscribe("b:dir")
	s.checkTold("subscribe a:1", "subscribe b:dir")
	for _, uri := range []string{"a:1", "b:dir/file", "b:directory", "c:1"} {
		s.do("update", uri)
	}
	s.do("announce", "")
	expect(t, nextX, `"a:1"`, "list_changed")
	expect(t, nextY, `"a:1"`, `"b:dir/file"`, "list_changed")

	x.unsubscribe("a:1")
	x.unsubscribe("b:dir") // the other session's
	s.checkTold("subscribe a:1", "subscribe b:dir")
	s.do("update", "a:1")
	s.do("announce", "")
	expect(t, nextX, "list_changed")
	expect(t, nextY, `"a:1"`, "list_changed")

	y.unsubscribe("a:1")
	y.end()
	s.checkTold("subscribe a:1", "subscribe b:dir", "unsubscribe a:1", "unsubscribe b:dir")

	if got := x.request("resources/subscribe", "uri", "no:such"); !strings.Contains(got, "no such resource") {
		t.Errorf("got %s", got)
	}
	s.do("update", "no:such")
	s.do("announce", "")
	expect(t, nextX, "list_changed")
}

func TestSubscriptionsOfASessionAreBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	x, _ := s.open(wire.Version20251125)
	for i := range 1000 {
		x.subscribe(fmt.Sprintf("a:%d", i))
	}
	for _, uri := range []string{"a:1000", "a:" + strings.Repeat("a", 5000)} {
		if got := x.request("resources/subscribe", "uri", uri); !strings.Contains(got, "at most 1000 subscriptions") {
			t.Errorf("got %.300s", got)
		}
	}
	y, _ := s.open(wire.Version20251125)
	y.subscribe("a:1000")
}

// A shared child's log messages do not tell to which client they belong: they are dropped, and logging is not offered.
func TestLogsOfASharedChildAreDropped(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	x, _ := s.open(wire.Version20251125)
	_, next := x.listen()
	if got := x.request("logging/setLevel", "level", "debug"); !strings.Contains(got, `"code":-32601`) || !strings.Contains(got, "several clients share") {
		t.Errorf("logging/setLevel: got %s", got)
	}
	s.checkTold()
	s.do("log", "emergency")
	s.do("announce", "")
	expect(t, next, "list_changed")
}

// A new child is told the subscriptions of the previous one. Clients are told what may have changed between the two, and nothing of each
// other's subscriptions.
func TestInterestsOutliveAChild(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	x, _ := s.open(wire.Version20251125)
	y, _ := s.open(wire.Version20251125)
	_, nextX := x.listen()
	_, nextY := y.listen()
	x.subscribe("a:1")
	x.subscribe("b:dir/file")
	y.subscribe("b:dir")
	if _, err := s.call("exit", 0); err == nil {
		t.Fatal("the child did not exit")
	}
	s.checkTold("subscribe a:1", "subscribe b:dir", "subscribe b:dir/file")
	expect(t, nextX, wire.MethodToolsChanged, `"a:1"`, `"b:dir/file"`)
	expect(t, nextY, wire.MethodToolsChanged, `"b:dir"`)
	s.do("update", "a:1")
	s.do("announce", "")
	expect(t, nextX, `"a:1"`, "list_changed")
	expect(t, nextY, "list_changed")
}

// A subscription needs a session to belong to.
func TestSubscriptionNeedsASession(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	x, _ := s.open(wire.Version20251125)
	_, next := s.listen()
	x.subscribe("a:1")
	for _, method := range []string{"resources/subscribe", "resources/unsubscribe"} {
		if got := s.request(method, "uri", "a:1"); !strings.Contains(got, "no session yet") {
			t.Errorf("%s: got %s", method, got)
		}
	}
	s.checkTold("subscribe a:1")
	s.do("update", "a:1")
	s.do("announce", "")
	expect(t, next, "list_changed")
}
