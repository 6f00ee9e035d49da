package gatewaytest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// Before returns a gateway in front of a server, called farm. top has lines of the configuration's top level.
func Before(tb testing.TB, srv *testkit.Server, top ...string) (*gateway.Gateway, *Log) {
	tb.Helper()
	return New(tb, strings.Join(top, "\n")+"\nservers:\n  farm:\n    url: "+srv.URL()+"\n    timeout: 10s\n")
}

// Path is that of the server farm.
const Path = "/farm/mcp"

// A Host is a client of the server farm over stdio.
type Host struct {
	Lines chan string // from the gateway; closed at its end

	tb   testing.TB
	in   *io.PipeWriter
	done chan error
}

// StartHost serves a new host until the test ends.
func StartHost(tb testing.TB, g *gateway.Gateway) *Host {
	tb.Helper()
	fromHost, in := io.Pipe()
	out, toHost := io.Pipe()
	h := &Host{tb: tb, in: in, Lines: make(chan string, 100), done: make(chan error, 1)}
	go func() {
		err := g.ServeStdio(context.Background(), Path, fromHost, toHost)
		_ = toHost.Close()
		h.done <- err
	}()
	go func() {
		defer close(h.Lines)
		reader := bufio.NewReader(out)
		for {
			text, err := reader.ReadString('\n')
			if err != nil {
				return
			}
			h.Lines <- text
		}
	}()
	tb.Cleanup(func() { _ = h.Close() }) // the test has asked for it if it matters
	return h
}

// Close ends the host's side, and returns the result of ServeStdio.
func (h *Host) Close() error {
	_ = h.in.Close()
	err, ok := <-h.done
	if ok {
		close(h.done)
	}
	return err
}

// Send writes lines.
func (h *Host) Send(lines ...string) {
	h.tb.Helper()
	for _, text := range lines {
		if _, err := io.WriteString(h.in, text+"\n"); err != nil {
			h.tb.Fatal(err)
		}
	}
}

// HostMessage is a message to the host.
type HostMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result *struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
	Error *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// Next returns the next message.
func (h *Host) Next() HostMessage {
	h.tb.Helper()
	var m HostMessage
	select {
	case text, ok := <-h.Lines:
		if !ok {
			h.tb.Fatal("the output has ended")
		}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			h.tb.Fatalf("got line %q, want a message", text)
		}
	case <-time.After(20 * time.Second):
		h.tb.Fatal("the gateway wrote nothing")
	}
	return m
}

// Outcome describes a message in a few words.
func (m *HostMessage) Outcome() string {
	id := string(m.ID)
	switch {
	case m.Method != "":
		return "method " + m.Method
	case m.Error != nil:
		return fmt.Sprintf("%s error %d", id, m.Error.Code)
	case m.Result != nil && m.Result.IsError:
		return id + " failed"
	case m.Result != nil && len(m.Result.Content) > 0:
		return id + " " + m.Result.Content[0].Text
	default:
		return id + " result"
	}
}

// Hello and Ready open a session.
const (
	Hello = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"host","version":"1"}}}`
	Ready = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// EchoLine calls the tool echo; id is JSON.
func EchoLine(id, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"echo","arguments":{"message":%q}}}`, id, message)
}

// Initialize opens a session.
func (h *Host) Initialize() {
	h.tb.Helper()
	h.Send(Hello, Ready)
	m := h.Next()
	if got := m.Outcome(); got != `"init" result` {
		h.tb.Fatal(got)
	}
}
