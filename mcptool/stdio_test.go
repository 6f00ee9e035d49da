package mcptool_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/mcptool"
)

// A line that is not a valid message is answered, and the next line is read.
func TestStdioAnswersInvalidLines(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		line string
		id   string // of the answer; "" if it has none
		code int    // 0 means that the SDK answers with a result
		kind recourse.Kind
	}{
		"plain text":         {`hello`, "", -32700, recourse.KindMalformed},
		"half a message":     {`{"jsonrpc":"2.0","id":7,"method":`, "7", -32700, recourse.KindMalformed},
		"invalid UTF-8":      {"\"\xff\"", "", -32700, recourse.KindMalformed},
		"something after":    {`{"jsonrpc":"2.0","id":7,"method":"ping"} x`, "7", -32700, recourse.KindMalformed},
		"a batch":            {`[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, "", -32600, recourse.KindInvalidRequest},
		"no method":          {`{"jsonrpc":"2.0","id":"a"}`, `"a"`, -32600, recourse.KindInvalidRequest},
		"another version":    {`{"jsonrpc":"1.0","id":7,"method":"ping"}`, "7", -32600, recourse.KindInvalidRequest},
		"an object as id":    {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, "", -32600, recourse.KindInvalidRequest},
		"a duplicate member": {`{"jsonrpc":"2.0","id":7,"method":"ping","method":"ping"}`, "7", -32600, recourse.KindInvalidRequest},
		"too deep":           {strings.Repeat("[", 1000) + strings.Repeat("]", 1000), "", -32600, recourse.KindInvalidRequest},
		"too large":          {`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"` + strings.Repeat("x", 5<<20) + `"}}`, "7", -32600, recourse.KindTooLarge},
		"spaces":             {" \t" + `{"jsonrpc":"2.0","id":7,"method":"ping"}` + " \t\r", "7", 0, ""},
		"empty lines":        {"\n \n\r\n" + `{"jsonrpc":"2.0","id":7,"method":"ping"}`, "7", 0, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := newHost(t, newServer())
			host.send(t, test.line)
			got := host.next(t)
			if string(got.ID) != test.id || got.code() != test.code || got.kind() != test.kind {
				t.Errorf("%s", got.text)
			}
			host.send(t, `{"jsonrpc":"2.0","id":9,"method":"ping"}`)
			if got := host.next(t); string(got.ID) != "9" || got.Error != nil {
				t.Errorf("the next answer: %s", got.text)
			}
		})
	}
}

// A malformed answer is ignored: an error with its id would look like the answer to one of the host's requests.
func TestStdioIgnoresMalformedAnswers(t *testing.T) {
	t.Parallel()

	host := newHost(t, newServer())
	host.send(t, `{"jsonrpc":"2.0","id":7,"error":{"code":"x"}}`)
	host.send(t, `{"jsonrpc":"2.0","id":8,"error":5}`)
	host.send(t, `{"jsonrpc":"2.0","id":9,"method":"ping"}`)
	if got := host.next(t); string(got.ID) != "9" || got.Error != nil {
		t.Errorf("%s", got.text)
	}
}

// A fault of a line is reported in full, even if the line is cut off.
func TestStdioRecord(t *testing.T) {
	t.Parallel()

	host := newHost(t, newServer())
	host.send(t, `{"jsonrpc":"2.0","id":7,"method":3}`)
	got := host.next(t)
	if diff := cmp.Diff(recourse.OriginCaller, got.Error.Data.Origin); diff != "" {
		t.Errorf("origin (-want +got):\n%s", diff)
	}
	if e := got.Error.Data; e.Effect != recourse.EffectNone || e.RequestID == "" || !strings.HasPrefix(got.Error.Message, e.Message) || len(e.Hints) == 0 {
		t.Errorf("%s", got.text)
	}
}

// A server ends when nobody reads its output.
func TestStdioEndsWithItsHost(t *testing.T) {
	t.Parallel()

	gone := errors.New("the host is gone")
	err := newServer().Run(t.Context(), mcptool.Stdio(io.NopCloser(strings.NewReader("x\ny\n")), failingWriter{gone}))
	if !errors.Is(err, gone) {
		t.Errorf("Run returned %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// A host talks to a server over pipes.
type host struct {
	in    io.Writer
	lines *bufio.Reader
}

type said struct {
	ID    json.RawMessage `json:"id"`
	Error *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    recourse.Error `json:"data"`
	} `json:"error"`

	text []byte
}

func (s *said) code() int {
	if s.Error == nil {
		return 0
	}
	return s.Error.Code
}

func (s *said) kind() recourse.Kind {
	if s.Error == nil {
		return ""
	}
	return s.Error.Data.Kind
}

func newHost(t *testing.T, server *mcp.Server) *host {
	t.Helper()
	toServer, fromClient := io.Pipe()
	fromServer, toClient := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Run(ctx, mcptool.Stdio(toServer, toClient))
	}()
	t.Cleanup(func() {
		_ = fromClient.Close()
		cancel()
		<-ended
		_ = fromServer.Close()
	})
	return &host{fromClient, bufio.NewReader(fromServer)}
}

func (h *host) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (h *host) next(t *testing.T) *said {
	t.Helper()
	line, err := h.lines.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	next := &said{text: line}
	unmarshal(t, line, next)
	return next
}
