// Package systemtest holds what the tests of the reference systems share: clients that show what came over
// the wire, and one that repeats calls as a contract requires.
package systemtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/systems"
)

// Quiet returns a log that is discarded.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// A Reply is the answer to a request.
type Reply struct {
	Result json.RawMessage       `json:"result"`
	Error  *testkit.MessageError `json:"error"`

	// Status, Header and Body are those of the HTTP answer; they are empty on stdio.
	Status int         `json:"-"`
	Header http.Header `json:"-"`
	Body   []byte      `json:"-"`
}

// A Client sends requests to a system.
type Client func(t *testing.T, method, params string) Reply

// Call calls a tool; arguments are a JSON object.
func (c Client) Call(t *testing.T, tool, arguments string) Reply {
	t.Helper()
	return c(t, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

// Tools returns the names of the tools that a system offers.
func (c Client) Tools(t *testing.T) []string {
	t.Helper()
	var list struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(c(t, "tools/list", `{}`).Result, &list); err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(list.Tools))
	for i, tool := range list.Tools {
		names[i] = tool.Name
	}
	return names
}

// Tool returns the result of a tool call.
func (r Reply) Tool(t *testing.T) testkit.ToolResult {
	t.Helper()
	var result testkit.ToolResult
	if err := json.Unmarshal(r.Result, &result); err != nil {
		t.Fatalf("no tool result: %v: status %d, %s %+v", err, r.Status, r.Body, r.Error)
	}
	return result
}

// Object decodes the JSON in the text block with that index, which is the tool's answer, into v.
func (r Reply) Object(t *testing.T, block int, v any) {
	t.Helper()
	content := r.Tool(t).Content
	if len(content) <= block {
		t.Fatalf("%d blocks: %s", len(content), r.Result)
	}
	if err := json.Unmarshal([]byte(content[block].Text), v); err != nil {
		t.Fatalf("%v: %s", err, content[block].Text)
	}
}

// Record returns the record in _meta.
func (r Reply) Record(t *testing.T) *recourse.Error {
	t.Helper()
	e := new(recourse.Error)
	if raw := r.Tool(t).Meta[recourse.MetaKey]; raw == nil || json.Unmarshal(raw, e) != nil {
		t.Fatalf("no record: %s", r.Result)
	}
	return e
}

// Read reads the failure in a reply like a client that only knows c: without the record in _meta. It is nil
// for a success.
func (r Reply) Read(t *testing.T, c *contract.Contract) *recourse.Error {
	t.Helper()
	reader := contract.NewReader(c)
	reader.Trusted = true
	switch {
	case r.Status >= http.StatusBadRequest:
		return reader.HTTP(r.Status, r.Header, r.Body).Error()
	case r.Error != nil:
		raw, err := json.Marshal(r.Error)
		if err != nil {
			t.Fatal(err)
		}
		return reader.RPC(raw).Error()
	}
	reading, ok := reader.Result(r.bare(t))
	if !ok {
		return nil
	}
	return reading.Error()
}

// A Wire is a way to a system.
type Wire struct {
	Name   string
	Client func(t *testing.T, s systems.System) Client
}

// Wires returns every way to a system: stdio, and HTTP for both eras.
func Wires() []Wire {
	return []Wire{
		{"stdio", func(t *testing.T, s systems.System) Client {
			t.Helper()
			return Stdio(t, s.MCPServer())
		}},
		{"http, legacy era", func(t *testing.T, s systems.System) Client {
			t.Helper()
			return HTTP(t, s, testkit.Legacy)
		}},
		{"http, modern era", func(t *testing.T, s systems.System) Client {
			t.Helper()
			return HTTP(t, s, testkit.Modern)
		}},
	}
}

// HTTP serves a system until the test ends, and returns a client that sends what its entrance requires.
func HTTP(t *testing.T, s systems.System, era testkit.Era) Client {
	t.Helper()
	return Connect(t, Serve(t, s), era, s.Entrance().Header)
}

// Connect returns a client of the endpoint at url that sends these headers.
func Connect(t *testing.T, url string, era testkit.Era, header http.Header) Client {
	t.Helper()
	client := testkit.NewClient(t, url, era)
	client.Header = header
	if _, err := client.Initialize(t.Context()); err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T, method, params string) Reply {
		t.Helper()
		a, err := client.Request(t.Context(), method, params)
		if err != nil {
			t.Fatal(err)
		}
		r := Reply{Status: a.Status, Header: a.Header, Body: a.Body}
		if a.Message != nil {
			r.Result, r.Error = a.Message.Result, a.Message.Error
		}
		return r
	}
}

// Serve serves a system until the test ends, and returns the URL of its endpoint.
func Serve(t *testing.T, s systems.System) string {
	t.Helper()
	srv := httptest.NewServer(s.Handler())
	t.Cleanup(srv.Close)
	return srv.URL + s.Entrance().Path
}

// SDK serves a system until the test ends, and connects the Go SDK's client to it.
func SDK(t *testing.T, s systems.System) *mcp.ClientSession {
	t.Helper()
	client := &http.Client{Transport: entering{&http.Transport{DisableKeepAlives: true}, s.Entrance}}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1.0.0"}, nil).
		Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: Serve(t, s), HTTPClient: client}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// entering is a RoundTripper that sends what an entrance requires.
type entering struct {
	base     http.RoundTripper
	entrance func() systems.Entrance
}

// RoundTrip sends a request.
func (e entering) RoundTrip(r *http.Request) (*http.Response, error) {
	at := e.entrance()
	r = r.Clone(r.Context())
	r.URL.Path = at.Path
	maps.Copy(r.Header, at.Header)
	return e.base.RoundTrip(r)
}

// SDKText calls a tool and returns the texts that the Go SDK's client sees, and whether the call failed.
func SDKText(t *testing.T, session *mcp.ClientSession, tool, arguments string) (text string, isError bool) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	return textOf(result), result.IsError
}

// textOf returns the texts of a result.
func textOf(result *mcp.CallToolResult) string {
	var texts []string
	for _, block := range result.Content {
		if block, ok := block.(*mcp.TextContent); ok {
			texts = append(texts, block.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Stdio runs a server on a pair of pipes, as on stdin and stdout, until the test ends.
func Stdio(t *testing.T, server *mcp.Server) Client {
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
	request := func(t *testing.T, method, params string) Reply {
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
				Reply

				ID int `json:"id"`
			}
			if json.Unmarshal(line, &message) == nil && message.ID == id {
				return message.Reply
			}
		}
	}
	request(t, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	if _, err := io.WriteString(fromClient, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	return request
}

// bare returns the result without its _meta, which would contain our own record.
func (r Reply) bare(t *testing.T) json.RawMessage {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(r.Result, &members); err != nil {
		t.Fatalf("%v: %s", err, r.Result)
	}
	delete(members, "_meta")
	bare, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return bare
}
