package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
	"github.com/recoursehq/recourse/internal/upstream"
)

// A server is a Stdio whose child is this test binary, as the program of testkit/child.
type server struct {
	*upstream.Stdio

	tb      testing.TB
	log     *testkit.Buffer
	session string
	token   string // credentials of its requests; "": none
}

// noLinger makes a program with the race detector end at once instead of after a second.
const noLinger = "GORACE=atexit_sleep_ms=0"

// command returns the command that runs the child program.
func command(args ...string) upstream.Command {
	return upstream.Command{Path: os.Args[0], Args: args, Env: []string{child.Variable + "=1", noLinger}}
}

// serve returns the server that c starts. At its end the test checks that no process is left.
func serve(tb testing.TB, c upstream.Command) *server {
	tb.Helper()
	log := &testkit.Buffer{}
	s, err := upstream.NewStdio("farm", c, slog.New(slog.NewJSONHandler(log, nil)))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		s.Close()
		for _, pid := range pids(log) {
			if child.GroupAlive(pid) {
				tb.Errorf("process group %d is left over", pid)
			}
		}
		if tb.Failed() {
			tb.Logf("log:\n%.8000s", log)
		}
	})
	return &server{Stdio: s, tb: tb, log: log}
}

// pids returns the ids of all processes that were started.
func pids(log *testkit.Buffer) []int {
	var pids []int
	for line := range strings.Lines(log.String()) {
		var entry struct {
			Msg string `json:"msg"`
			PID int    `json:"pid"`
		}
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "process started" {
			pids = append(pids, entry.PID)
		}
	}
	return pids
}

// stderrOf returns the lines that children have written to stderr.
func stderrOf(log *testkit.Buffer) []string {
	var lines []string
	for text := range strings.Lines(log.String()) {
		var entry struct {
			Msg  string `json:"msg"`
			Line string `json:"line"`
		}
		if json.Unmarshal([]byte(text), &entry) == nil && entry.Msg == "stderr" {
			lines = append(lines, entry.Line)
		}
	}
	return lines
}

// in returns the server for a session of its own.
func (s *server) in(session string) *server {
	c := *s
	c.session = session
	return &c
}

func (s *server) header() http.Header {
	h := http.Header{}
	if s.token != "" {
		h.Set("Authorization", "Bearer "+s.token)
	}
	if s.session != "" {
		h.Set(wire.HeaderSession, s.session)
	}
	return h
}

// Send makes a request for the caller with the credentials in header.
func (s *server) Send(ctx context.Context, method string, header http.Header, body []byte) (*wire.Answer, error) {
	return s.Do(ctx, &upstream.Request{Method: method, Header: header, Body: body, Caller: upstream.CallerOf(header["Authorization"]...)})
}

// post sends a message with a generous deadline.
func (s *server) post(body string) (*wire.Answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	s.tb.Cleanup(cancel)
	return s.Send(ctx, http.MethodPost, s.header(), []byte(body))
}

// open initializes a session.
func (s *server) open(version string) (*server, string) {
	s.tb.Helper()
	resp, err := s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":%q,"capabilities":{"roots":{}}}}`, version))
	if err != nil {
		s.tb.Fatal(err)
	}
	text := content(s.tb, resp)
	id := resp.Header.Get(wire.HeaderSession)
	if id == "" {
		s.tb.Fatalf("initialize gave no session: %d %s", resp.Status, text)
	}
	x := s.in(id)
	resp, err = x.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if err != nil || resp.Status != http.StatusAccepted {
		s.tb.Fatalf("initialized: %v, %v", resp, err)
	}
	return x, text
}

// listen opens the stream of the session. next returns its next message.
func (s *server) listen() (body io.Closer, next func() string) {
	s.tb.Helper()
	resp, err := s.Send(context.Background(), http.MethodGet, s.header(), nil)
	if err != nil || resp.Status != http.StatusOK {
		s.tb.Fatal(resp, err)
	}
	s.tb.Cleanup(func() { _ = resp.Close() })
	events := wire.NewEventReader(resp, 4<<20)
	return resp, func() string {
		event, err := events.Next()
		if err != nil {
			return err.Error()
		}
		return string(event.Data)
	}
}

func content(tb testing.TB, resp *wire.Answer) string {
	tb.Helper()
	defer resp.Close()
	text, err := io.ReadAll(resp)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// toolCall returns a call with id 1 of a tool of the child program.
func toolCall(tool string, n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"n":%d}}}`, tool, n)
}

// progressing returns a toolCall with a progress token.
func progressing(tool string, n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"n":%d},"_meta":{"progressToken":"p"}}}`, tool, n)
}

// call returns the text that a tool answers with.
func (s *server) call(tool string, n int) (string, error) {
	resp, err := s.post(toolCall(tool, n))
	if err != nil {
		return "", err
	}
	defer resp.Close()
	body, err := io.ReadAll(resp)
	if err != nil {
		return "", err
	}
	var answer struct {
		ID     json.RawMessage `json:"id"`
		Result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"result"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || string(answer.ID) != "1" || len(answer.Result.Content) == 0 {
		return "", fmt.Errorf("HTTP %d, %.300s: %w", resp.Status, body, err)
	}
	return answer.Result.Content[0].Text, nil
}

// mustCall is call that must succeed.
func (s *server) mustCall(tool string, n int) string {
	s.tb.Helper()
	text, err := s.call(tool, n)
	if err != nil {
		s.tb.Fatalf("%s: %v", tool, err)
	}
	return text
}

// record returns the parts of a failure that the client sees.
func record(tb testing.TB, err error) string {
	tb.Helper()
	e, ok := errors.AsType[*recourse.Error](err)
	if !ok {
		tb.Fatalf("got %v (%T), want a record", err, err)
	}
	return fmt.Sprintf("%s origin=%s effect=%s: %s", e.Kind, e.Origin, e.Effect, e.Message)
}
