package upstream_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
	"github.com/recoursehq/recourse/internal/upstream"
)

func own(args ...string) upstream.Command {
	c := command(args...)
	c.Share = upstream.ShareClient
	return c
}

func TestEachSessionHasItsChild(t *testing.T) {
	t.Parallel()
	s := serve(t, own())
	x, hello := s.open(wire.Version20251125)
	y, _ := s.open(wire.Version20251125)
	want := `{"jsonrpc":"2.0","id":"open","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},` +
		`"serverInfo":{"name":"testkit","version":"1.0.0"},"instructions":"{\"roots\":{}}"}}`
	if diff := cmp.Diff(want, hello); diff != "" {
		t.Errorf("initialize (-want +got):\n%s", diff)
	}
	if x.mustCall("pid", 0) == y.mustCall("pid", 0) {
		t.Error("two sessions share a process")
	}
	for status, session := range map[int]string{http.StatusNotFound: "unknown", http.StatusBadRequest: ""} {
		resp, err := s.in(session).post(toolCall("echo", 0))
		if err != nil || resp.Status != status {
			t.Errorf("session %q: got %v, %v, want %d", session, resp, err, status)
		}
	}
	resp, err := x.Send(t.Context(), http.MethodDelete, x.header(), nil)
	if err != nil || resp.Status != http.StatusNoContent {
		t.Errorf("DELETE: got %v, %v", resp, err)
	}
	testkit.Eventually(t, "its process ends", func() bool { return !child.GroupAlive(pids(s.log)[0]) })
	if resp, err = x.post(toolCall("echo", 0)); err != nil || resp.Status != http.StatusNotFound {
		t.Errorf("after DELETE: got %v, %v", resp, err)
	}
	y.mustCall("echo", 0)
}

// A child's question reaches its client with the answer to a call under way. If there is no call, it comes on the
// session's stream, and waits until there is one.
func TestQuestionsReachTheirClient(t *testing.T) {
	t.Parallel()
	s := serve(t, own("ask-early"))
	x, _ := s.open(wire.Version20251125)
	_, next := x.listen()
	if got, want := next(), `{"jsonrpc":"2.0","id":"early","method":"roots/list"}`; got != want {
		t.Errorf("stream: got %s, want %s", got, want)
	}
	x.mustPost(`{"jsonrpc":"2.0","id":"early","result":{"roots":[]}}`)
	x.mustCall("echo", 0) // after it, the child has read the answer
	resp, err := x.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"question","arguments":{"text":"sampling/createMessage"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	events := wire.NewEventReader(resp, 0)
	question, err := events.Next()
	if err != nil || string(question.Data) != `{"jsonrpc":"2.0","id":"q1","method":"sampling/createMessage"}` {
		t.Fatal(question, err)
	}
	x.mustPost(`{"jsonrpc":"2.0","id":"q1","result":{"model":"m"}}`)
	answer, err := events.Next()
	if err != nil || !strings.Contains(string(answer.Data), `"id":1,"result"`) {
		t.Fatal(answer, err)
	}
	x.mustCall("log", 0)
	if got := next(); !strings.Contains(got, "hello") {
		t.Errorf("stream: got %s", got)
	}
}

// A child's notification during a call reaches its client on the session's stream, or with the call's answer
// if there is no stream.
func TestNoticesReachTheirClient(t *testing.T) {
	t.Parallel()
	x, _ := serve(t, own()).open(wire.Version20251125)
	onCall := func() bool {
		t.Helper()
		resp, err := x.post(toolCall("log", 0))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(content(t, resp), "hello")
	}
	if !onCall() {
		t.Error("without a stream: the notification did not come with the answer")
	}
	stream, next := x.listen()
	for range 2 { // the first notification still waits at the second call
		if onCall() {
			t.Fatal("with a stream: the notification came with the answer")
		}
	}
	for range 2 {
		if got := next(); !strings.Contains(got, "hello") {
			t.Errorf("stream: got %s", got)
		}
	}
	_ = stream.Close()
	if !onCall() {
		t.Error("after the stream: the notification did not come with the answer")
	}
}

// mustPost sends a message that must be accepted without an answer.
func (s *server) mustPost(body string) {
	s.tb.Helper()
	if resp, err := s.post(body); err != nil || resp.Status != http.StatusAccepted {
		s.tb.Fatal(resp, err)
	}
}

func TestQuestionThatIsTooLarge(t *testing.T) {
	t.Parallel()
	s := serve(t, own())
	x, _ := s.open(wire.Version20251125)
	if text := x.mustCall("large-question", 2<<20); !strings.Contains(text, "-32600") {
		t.Errorf("the child was told: got %s", text)
	}
}

// After a crash, the 404 says that the request was not carried out, so that the client can open a new session.
func TestSessionEndsWithItsChild(t *testing.T) {
	t.Parallel()
	s := serve(t, own())
	x, _ := s.open(wire.Version20251125)
	y, _ := s.open(wire.Version20251125)
	_, next := x.listen()
	_, err := x.call("exit", 0)
	if got, want := record(t, err), "unreachable origin=gateway effect=: farm's process ended (exit status 1)."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	resp, err := x.post(toolCall("echo", 0))
	if err != nil || resp.Status != http.StatusNotFound {
		t.Errorf("after the crash: got %v, %v", resp, err)
	}
	if got := next(); got != "EOF" {
		t.Errorf("stream: got %s", got)
	}
	began := time.Now()
	again, _ := s.open(wire.Version20251125)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the new session took %s", took)
	}
	again.mustCall("echo", 0)
	y.mustCall("echo", 0)
}

func TestIdleSessionEnds(t *testing.T) {
	t.Parallel()
	c := own()
	c.Idle = 100 * time.Millisecond
	s := serve(t, c)
	x, _ := s.open(wire.Version20251125)
	y, _ := s.open(wire.Version20251125)
	y.listen()
	testkit.Eventually(t, "it ends", func() bool { return !child.GroupAlive(pids(s.log)[0]) })
	if resp, err := x.post(toolCall("echo", 0)); err != nil || resp.Status != http.StatusNotFound {
		t.Errorf("after it was idle: got %v, %v", resp, err)
	}
	y.mustCall("echo", 0) // kept, since its client listens
}

func TestProcessesAreBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, own())
	s.SetMost(2)
	x, _ := s.open(wire.Version20251125)
	y, _ := s.open(wire.Version20251125)
	x.mustCall("echo", 0)
	z, _ := s.open(wire.Version20251125) // replaces y, which has been idle longest
	for status, session := range map[int]*server{http.StatusOK: x, http.StatusNotFound: y} {
		resp, err := session.post(toolCall("echo", 0))
		if err != nil || resp.Status != status {
			t.Errorf("got %v, %v, want %d", resp, err, status)
		}
	}
	for _, session := range []*server{x, z} {
		resp, err := session.post(progressing("progress-forever", 0))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Close() })
	}
	_, err := s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	if got, want := record(t, err), "unavailable origin=gateway effect=none: All 2 processes of farm are in use."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
