package mcptool_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/mcptool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func builtin(tb testing.TB, name string) *contract.Contract {
	tb.Helper()
	c, ok := contract.Builtin().Get(name)
	if !ok {
		tb.Fatalf("no contract %s", name)
	}
	return c
}

// journal is a log that a test can read.
type journal struct{ testkit.Buffer }

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

// A reply is the answer to a request: a result or an error.
type reply struct {
	Result json.RawMessage       `json:"result"`
	Error  *testkit.MessageError `json:"error"`
}

// result returns the tool result.
func (r reply) result(t *testing.T) testkit.ToolResult {
	t.Helper()
	var result testkit.ToolResult
	if r.Result == nil {
		t.Fatalf("got error %+v, want a result", r.Error)
	}
	if err := json.Unmarshal(r.Result, &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// record returns the record in the reply.
func (r reply) record(t *testing.T) *recourse.Error {
	t.Helper()
	e := new(recourse.Error)
	raw := r.result(t).Meta[recourse.MetaKey]
	if err := json.Unmarshal(raw, e); err != nil {
		t.Fatalf("no record in _meta: %v: %s", err, r.Result)
	}
	return e
}

// A caller sends requests to a server, and returns the answers byte for byte.
type caller func(t *testing.T, method, params string) reply

func (c caller) call(t *testing.T, tool, arguments string) reply {
	t.Helper()
	return c(t, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

// wires are the ways to a server.
var wires = []struct {
	name   string
	modern bool
	dial   func(t *testing.T, server *mcp.Server) caller
}{
	{"stdio, legacy era", false, dialStdio},
	{"stdio, modern era", true, dialStdioModern},
	{"http, legacy era", false, dialEra(testkit.Legacy)},
	{"http, modern era", true, dialEra(testkit.Modern)},
}

func dialEra(era testkit.Era) func(t *testing.T, server *mcp.Server) caller {
	return func(t *testing.T, server *mcp.Server) caller {
		t.Helper()
		return dialHTTP(t, serve(t, server, era), era)
	}
}

// serve serves over Streamable HTTP.
func serve(t *testing.T, server *mcp.Server, era testkit.Era) string {
	t.Helper()
	return listen(t, server, handler(server, era))
}

func handler(server *mcp.Server, era testkit.Era) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: era == testkit.Modern, JSONResponse: true})
}

func listen(t *testing.T, server *mcp.Server, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.Close()
		for session := range server.Sessions() {
			_ = session.Close()
		}
	})
	return srv.URL
}

func dialHTTP(t *testing.T, url string, era testkit.Era) caller {
	t.Helper()
	client := testkit.NewClient(t, url, era)
	if _, err := client.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T, method, params string) reply {
		t.Helper()
		a, err := client.Request(t.Context(), method, params)
		if err != nil {
			t.Fatal(err)
		}
		if a.Message == nil {
			t.Fatalf("HTTP %d without a message: %s", a.Status, a.Body)
		}
		return reply{Result: a.Message.Result, Error: a.Message.Error}
	}
}

// dialStdio begins a session of the legacy era.
func dialStdio(t *testing.T, server *mcp.Server) caller {
	t.Helper()
	request, notify := dialPipe(t, server)
	request(t, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	notify(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return request
}

// dialStdioModern makes requests of the modern era, which have no session.
func dialStdioModern(t *testing.T, server *mcp.Server) caller {
	t.Helper()
	request, _ := dialPipe(t, server)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}`
	return func(t *testing.T, method, params string) reply {
		t.Helper()
		return request(t, method, strings.TrimSuffix(params, "}")+","+meta+"}")
	}
}

func dialPipe(t *testing.T, server *mcp.Server) (request caller, notify func(line string)) {
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
	lines := bufio.NewReader(fromServer)
	id := 0
	notify = func(line string) {
		if _, err := io.WriteString(fromClient, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	request = func(t *testing.T, method, params string) reply {
		t.Helper()
		id++
		if _, err := fmt.Fprintf(fromClient, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
			t.Fatal(err)
		}
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				t.Fatal(err)
			}
			var message struct {
				reply

				ID int `json:"id"`
			}
			if json.Unmarshal(line, &message) == nil && message.ID == id {
				return message.reply
			}
		}
	}
	return request, notify
}

func newServer() *mcp.Server {
	return mcp.NewServer(&mcp.Implementation{Name: "farm", Version: "1.0.0"}, nil)
}

func unmarshal(t *testing.T, raw []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
}

// memberOf returns a member of an object.
func memberOf(t *testing.T, object []byte, name string) json.RawMessage {
	t.Helper()
	var members map[string]json.RawMessage
	unmarshal(t, object, &members)
	return members[name]
}
