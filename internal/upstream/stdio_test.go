package upstream_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/child"
	"github.com/recoursehq/recourse/internal/upstream"
)

func TestChildIsAnsweredForAsAServerOverHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	tests := map[string]struct {
		body, want, media string
		status            int
	}{
		"a string id": {
			body:   `{"jsonrpc":"2.0","id":"a\u002d1","method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}`,
			status: 200, media: wire.TypeJSON,
			want: `{"jsonrpc":"2.0","id":"a\u002d1","result":{"content":[{"type":"text","text":"hi"}]}}`,
		},
		"on many lines": {
			body:   "{\r\n \"jsonrpc\":\"2.0\",\n \"id\":7,\n \"method\":\"tools/call\",\n\"params\":{\"name\":\"echo\",\"arguments\":{\"message\":\"hi\"}}\n}\n",
			status: 200, media: wire.TypeJSON,
			want: `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"hi"}]}}`,
		},
		"an id beyond the integers of a float": {
			body:   `{"jsonrpc":"2.0","id":9007199254740993,"method":"nothing"}`,
			status: 200, media: wire.TypeJSON,
			want: `{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32601,"message":"unknown method"}}`,
		},
		"progress in front of the answer": {
			body:   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"n":2},"_meta":{"progressToken":"p-1"}}}`,
			status: 200, media: wire.TypeEventStream,
			want: `event: message
data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p-1","progress":0}}

event: message
data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p-1","progress":1}}

event: message
data: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}

`,
		},
		"a notification":         {body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, status: 202},
		"a response":             {body: `{"jsonrpc":"2.0","id":5,"result":{}}`, status: 202},
		"unknown notification":   {body: `{"jsonrpc":"2.0","method":"notifications/custom"}`, status: 202},
		"half of a message":      {body: `{`, status: 400, media: wire.TypeJSON, want: `{"jsonrpc":"2.0","error":{"code":-32700,"message":"the message is not JSON: end of the text before the end of its value at byte 1"}}`},
		"id null":                {body: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, status: 400, media: wire.TypeJSON, want: `{"jsonrpc":"2.0","error":{"code":-32600,"message":"the id is null; it must be a string or an integer, at byte 22"}}`},
		"a request with no body": {body: ``, status: 400, media: wire.TypeJSON, want: `{"jsonrpc":"2.0","error":{"code":-32700,"message":"the message is not JSON: no JSON text at byte 0"}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := s.post(test.body)
			if err != nil {
				t.Fatal(err)
			}
			type answer struct {
				Status      int
				Media, Text string
			}
			got := answer{resp.Status, resp.ContentType(), content(t, resp)}
			if diff := cmp.Diff(answer{test.status, test.media, test.want}, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// The child gets unique integer ids, whichever ids the clients use.
func TestChildGetsUniqueIDs(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	seen := map[string]bool{}
	for range 3 {
		resp, err := s.post(`{"jsonrpc":"2.0","id":"same","method":"tools/call","params":{"name":"id","_meta":{"progressToken":"same"}}}`)
		if err != nil {
			t.Fatal(err)
		}
		text := content(t, resp)
		if !strings.Contains(text, `"id":"same"`) || strings.Count(text, "same") != 1 {
			t.Errorf("got answer %s", text)
		}
		seen[text] = true
	}
	if len(seen) != 3 {
		t.Errorf("got %d ids for 3 requests: %v", len(seen), seen)
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	answer, err := upstream.Ask(t.Context(), s, &upstream.Request{Header: http.Header{}, Body: []byte(toolCall("echo", 0))}, wire.ID("1"), 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"content":[{"type":"text","text":""}]}`, string(answer.Result)); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	_, err = upstream.Ask(t.Context(), s, &upstream.Request{Header: http.Header{}, Body: []byte(toolCall("large", 1<<11))}, wire.ID("1"), 1<<10)
	if got, want := record(t, err), "bad_response origin=server effect=: farm sent an invalid response."; got != want {
		t.Errorf("an answer over the limit: got %s, want %s", got, want)
	}
}

// A slow answer does not delay others.
func TestCallsShareAChild(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	slow := make(chan error, 1)
	s.mustCall("echo", 0) // starts the child
	go func() {
		_, err := s.call("sleep", 500)
		slow <- err
	}()
	s.mustCall("echo", 0)
	select {
	case err := <-slow:
		t.Errorf("the slow call ended first: %v", err)
	default:
	}
	if err := <-slow; err != nil {
		t.Error(err)
	}
	if n := len(pids(s.log)); n != 1 {
		t.Errorf("got %d processes, want 1", n)
	}
}

func TestCallWhoseContextEndsIsCancelled(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	s.mustCall("echo", 0)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.Send(ctx, http.MethodPost, http.Header{}, []byte(toolCall("never", 0)))
	if got, want := record(t, err), "timeout origin=gateway effect=: farm did not answer in time."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	testkit.Eventually(t, "the child is told", func() bool { return len(strings.Fields(s.mustCall("cancelled", 0))) == 1 })
}

func TestCallWhoseBodyIsClosedIsCancelled(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	resp, err := s.post(progressing("progress-forever", 0))
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(resp)
		read <- err
	}()
	_ = resp.Close()
	if err := <-read; err == nil {
		t.Error("the closed body ended without an error")
	}
	testkit.Eventually(t, "the child is told", func() bool { return len(strings.Fields(s.mustCall("cancelled", 0))) == 1 })
}

func TestCallThatItsClientCancels(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	x, _ := s.open(wire.Version20251125)
	y, _ := s.open(wire.Version20251125)
	resp, err := x.post(strings.Replace(progressing("progress-forever", 0), `"id":1`, `"id":"mine"`, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"mine"}}`
	for _, stranger := range []*server{y, s} {
		stranger.mustPost(cancel)
		if text := x.mustCall("cancelled", 0); text != "" {
			t.Errorf("another session cancelled the call: %s", text)
		}
	}
	x.mustPost(cancel)
	_, err = io.ReadAll(resp)
	if got, want := record(t, err), "cancelled origin=caller effect=: "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if n := len(strings.Fields(x.mustCall("cancelled", 0))); n != 1 {
		t.Errorf("got %d cancellations, want 1", n)
	}
}

func TestSessionsOfASharedChild(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	x, hello := s.open(wire.Version20250618)
	want := `{"jsonrpc":"2.0","id":"open","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},` +
		`"serverInfo":{"name":"testkit","version":"1.0.0"},"instructions":"{}"}}`
	if diff := cmp.Diff(want, hello); diff != "" {
		t.Errorf("initialize (-want +got):\n%s", diff)
	}
	y, _ := s.open(wire.Version20251125)
	_, xNext := x.listen()
	ys, yNext := y.listen()
	x.mustCall("announce", 0)
	for _, next := range []func() string{xNext, yNext} {
		if got, want := next(), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`; got != want {
			t.Errorf("stream: got %s, want %s", got, want)
		}
	}
	resp, err := x.Send(t.Context(), http.MethodDelete, x.header(), nil)
	if err != nil || resp.Status != http.StatusNoContent {
		t.Errorf("DELETE: got %v, %v", resp, err)
	}
	if got := xNext(); got != "EOF" {
		t.Errorf("stream of the ended session: got %s", got)
	}
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		resp, err := x.Send(t.Context(), method, x.header(), []byte(toolCall("echo", 0)))
		if err != nil || resp.Status != http.StatusNotFound {
			t.Errorf("%s in the ended session: got %v, %v", method, resp, err)
		}
	}
	y.mustCall("announce", 0)
	if got := yNext(); !strings.Contains(got, "list_changed") {
		t.Errorf("the other stream: got %s", got)
	}
	_ = ys.Close()
	if got := yNext(); got != "the answer was closed" {
		t.Errorf("closed stream: got %s", got)
	}
	if n := len(pids(s.log)); n != 1 {
		t.Errorf("got %d processes, want 1", n)
	}
}

// A shared child is told of no client capabilities, so its requests are refused.
func TestRequestsOfASharedChildAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, command())
	for method, want := range map[string]string{
		"roots/list": `{"code":-32601,"message":"no client capabilities were declared"}`,
		"ping":       `{}`,
	} {
		resp, err := s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"question","arguments":{"text":"` + method + `"}}}`)
		if err != nil {
			t.Fatal(err)
		}
		if text := content(t, resp); !strings.Contains(text, strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%s: got %s, want %s", method, text, want)
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	tests := []struct{ child, asked, want string }{
		{"2025-11-25", "2025-11-25", "2025-11-25"},
		{"2025-11-25", "2025-03-26", "2025-03-26"},
		{"2025-11-25", "2024-11-05", "2024-11-05"},
		{"2025-06-18", "2025-11-25", "2025-06-18"},
		{"2025-06-18", "1999-01-01", "2025-06-18"},
		{"2024-11-05", "2025-11-25", "2025-03-26"}, // the first version with Streamable HTTP
	}
	for _, share := range []upstream.Share{upstream.ShareAll, upstream.ShareClient} {
		for _, test := range tests {
			if share == upstream.ShareClient && test.asked != "2025-11-25" {
				continue // the client agrees on a version with the child itself
			}
			c := command("version=" + test.child)
			c.Share = share
			s := serve(t, c)
			_, hello := s.open(test.asked)
			if want := `"protocolVersion":"` + test.want + `"`; !strings.Contains(hello, want) {
				t.Errorf("share %d, child %s, client %s: got %s, want %s", share, test.child, test.asked, hello, want)
			}
			s.Close()
		}
	}
}

func TestIdleChildIsStoppedAndStartedAgain(t *testing.T) {
	t.Parallel()
	c := command()
	c.Idle = time.Second
	s := serve(t, c)
	x, _ := s.open(wire.Version20251125)
	x.mustCall("sleep", 1500) // a child with a call under way is not idle
	first := x.mustCall("pid", 0)
	testkit.Eventually(t, "the child is stopped", func() bool { return strings.Contains(s.log.String(), "process stopped") })
	if second := x.mustCall("pid", 0); second == first {
		t.Error("the same process answers")
	}
	if strings.Contains(s.log.String(), "process ended") {
		t.Error("the stop is logged as a crash")
	}
}

func TestEnvironmentOfTheChild(t *testing.T) {
	t.Parallel()
	c := command()
	lookup := func(name string) (string, bool) {
		value, ok := map[string]string{"PATH": "/bin", "HOME": "/home/ada", "SECRET": "x"}[name]
		return value, ok
	}
	c.Env = upstream.Environ(lookup, map[string]string{child.Variable: "1", "GORACE": "atexit_sleep_ms=0", "TOKEN": "t", "HOME": "/srv"})
	s := serve(t, c)
	want := noLinger + "\nHOME=/srv\nPATH=/bin\n" + child.Variable + "=1\nTOKEN=t"
	got, _, _ := strings.Cut(s.mustCall("environ", 0), "\nRECOURSE_PROCESS=") // the gateway finds the child's processes by this variable
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestInvalidCommand(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	missing := "unavailable origin=gateway effect=none: farm could not be started: its program or working directory does not exist."
	useless := "unavailable origin=gateway effect=none: farm could not be started: its program cannot be executed."
	text := filepath.Join(folder, "text")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	type test struct {
		command upstream.Command
		want    string
	}
	tests := map[string]test{
		"no such name":      {upstream.Command{Path: "recourse-test-no-such-program"}, missing},
		"no such file":      {upstream.Command{Path: filepath.Join(folder, "server")}, missing},
		"no such folder":    {upstream.Command{Path: command().Path, Dir: filepath.Join(folder, "no")}, missing},
		"relative to a dir": {upstream.Command{Path: "./server", Dir: folder}, missing},
		"a file as folder":  {upstream.Command{Path: command().Path, Dir: text}, missing},
	}
	if runtime.GOOS != "windows" { // Windows decides by the name what can be executed
		tests["a folder"] = test{upstream.Command{Path: folder}, useless}
		tests["a text file"] = test{upstream.Command{Path: text}, useless}
	}
	for name, test := range tests {
		for _, share := range []upstream.Share{upstream.ShareAll, upstream.ShareClient} {
			test.command.Share = share
			s := serve(t, test.command)
			if log := s.log.String(); strings.Count(log, `"msg":"cannot start the program","cause":"`) != 1 {
				t.Errorf("%s: the log at the start: got %s", name, log)
			}
			for range 5 { // each call fails at once
				_, err := s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
				if got := record(t, err); got != test.want {
					t.Errorf("%s: call: got %s, want %s", name, got, test.want)
				}
				if got := recourse.From(err).RetryAdvice(); got != recourse.RetryAfterSetup {
					t.Errorf("%s: got advice %s", name, got)
				}
			}
		}
	}
	if _, err := upstream.NewStdio("farm", upstream.Command{}, nil); err == nil {
		t.Error("NewStdio accepts a command without a path")
	}
	if s := serve(t, command()); s.log.String() != "" {
		t.Errorf("log before the first start: got %s", s.log)
	}
}

func TestNothingIsServedAfterClose(t *testing.T) {
	t.Parallel()
	program := child.NewProgram(t)
	s := serve(t, command(program.Arguments()...))
	under := make(chan error, 1)
	s.mustCall("echo", 0)
	go func() {
		_, err := s.call("never", 0)
		under <- err
	}()
	stream, err := s.Send(t.Context(), http.MethodGet, http.Header{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	testkit.Eventually(t, "the call is under way", func() bool { return program.Calls("never") == 1 })
	s.Close()
	if e := recourse.From(<-under); e.Kind != recourse.KindUnreachable {
		t.Errorf("call under way: got %v", e)
	}
	if _, err := io.ReadAll(stream); err != nil {
		t.Errorf("stream: got %v", err)
	}
	_, err = s.call("echo", 0)
	if got, want := record(t, err), "unavailable origin=gateway effect=none: farm is no longer served."; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
