package testkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// An Answer is the answer to one HTTP request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte  // at most Keep bytes
	Size   int64   // of the whole body
	Tail   []byte  // the last 256 bytes of a body that is longer than Keep; otherwise nil
	Events []Event // of an event stream

	// Message is the JSON-RPC message that answers the request: the whole body, or the first event that is a
	// response. It is nil if there is none.
	Message *Message

	FirstByte time.Duration // from the request until the headers
	Took      time.Duration // from the request until the last byte
}

// A Message is a JSON-RPC message as it came.
type Message struct {
	Raw     json.RawMessage `json:"-"` // all of it
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *MessageError   `json:"error"`
}

// A MessageError is the error member of a message.
type MessageError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// A ToolResult is the result of tools/call.
type ToolResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	StructuredContent json.RawMessage            `json:"structuredContent"`
	IsError           bool                       `json:"isError"`
	Meta              map[string]json.RawMessage `json:"_meta"`
	ResultType        string                     `json:"resultType"`
}

// Text returns the text of the first text block.
func (r ToolResult) Text() string {
	for _, block := range r.Content {
		if block.Type == "text" {
			return block.Text
		}
	}
	return ""
}

var errNoMessage = errors.New("testkit: the answer holds no JSON-RPC message")

// ToolResult returns the result of tools/call in the answer.
func (a *Answer) ToolResult() (ToolResult, error) {
	var result ToolResult
	if a.Message == nil {
		return result, errNoMessage
	}
	if err := json.Unmarshal(a.Message.Result, &result); err != nil {
		return result, fmt.Errorf("testkit: decode the result %q: %w", a.Message.Result, err)
	}
	return result, nil
}

// Result returns the result of tools/call in the answer, and fails the test if there is none.
func (a *Answer) Result(tb testing.TB) ToolResult {
	tb.Helper()
	result, err := a.ToolResult()
	if err != nil {
		tb.Fatalf("got HTTP %d %s: %v", a.Status, a.Body, err)
	}
	return result
}

// ToolNames returns the names of the tools in an answer to tools/list.
func (a *Answer) ToolNames(tb testing.TB) []string {
	tb.Helper()
	var result struct {
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if a.Message == nil || json.Unmarshal(a.Message.Result, &result) != nil {
		tb.Fatalf("got HTTP %d %s, want a list of tools", a.Status, a.Body)
	}
	names := make([]string, len(result.Tools))
	for i, tool := range result.Tools {
		names[i] = tool.Name
	}
	return names
}

// Succeeded reports whether the answer has the result of a tool that did not fail. An answer that is too large to be kept
// whole counts as such.
func (a *Answer) Succeeded() bool {
	if a.Size > int64(len(a.Body)) {
		return true
	}
	result, err := a.ToolResult()
	return err == nil && !result.IsError
}

// tail is an Answer that keeps the end of what is written to it.
type tail Answer

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	const size = 256
	t.Tail = append(t.Tail, p[max(0, len(p)-size):]...)
	t.Tail = slices.Delete(t.Tail, 0, max(0, len(t.Tail)-size))
	return len(p), nil
}

// parse finds the events and the message in the answer's body.
func (a *Answer) parse() {
	if a.Size > int64(len(a.Body)) {
		return
	}
	if mediaType(a.Header) != protocol.TypeSSE {
		a.Message = parseMessage(a.Body)
		return
	}
	scanner := newEventScanner(bytes.NewReader(a.Body))
	for {
		ev, err := scanner.next()
		if err != nil {
			return // the end, or a truncated event, which does not count
		}
		a.Events = append(a.Events, ev)
		if msg := ev.Message(); a.Message == nil && msg != nil && msg.Method == "" {
			a.Message = msg
		}
	}
}

func parseMessage(raw []byte) *Message {
	msg := &Message{Raw: raw}
	if json.Unmarshal(raw, msg) != nil || msg.JSONRPC == "" {
		return nil
	}
	return msg
}
