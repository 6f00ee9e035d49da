package explain

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/lexer"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// MaxAnswer bounds the answers that are read, in bytes.
const MaxAnswer = 4 << 20

// A pasted text is what somebody has pasted. One of its parts is set.
type pasted struct {
	form     string         // what it was taken for
	response *http.Response // with a status of 400 or more
	body     []byte         // of the response
	result   json.Value
	rpcError json.Value
}

// read reads the failure in the answer; ok is false for a success.
func (a *pasted) read(r *contract.Reader) (reading contract.Reading, ok bool) {
	switch {
	case a.response != nil:
		return r.HTTP(a.response.StatusCode, a.response.Header, a.body), true
	case a.rpcError != nil:
		return r.RPC(a.rpcError), true
	default:
		return r.Result(a.result)
	}
}

var (
	errNothing = errors.New("there is nothing to explain")
	errNoReply = errors.New("the event stream has no answer: none of its events is a JSON-RPC response")
)

// parse finds out what a text is: a JSON-RPC message, a result, an event stream, an HTTP response with its headers, or the bare text of
// a tool's error.
func parse(text []byte) (*pasted, error) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	switch {
	case len(text) == 0:
		return nil, errNothing
	case bytes.HasPrefix(text, []byte("HTTP/")):
		return parseResponse(text)
	case text[0] == '{':
		return parseJSON(text)
	case isEventStream(text):
		return parseEvents(text)
	default:
		return toolError("the text of a tool's error", string(text)), nil
	}
}

func isEventStream(text []byte) bool {
	for _, field := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(text, []byte(field)) {
			return true
		}
	}
	return false
}

func parseResponse(text []byte) (*pasted, error) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	head, body, _ := bytes.Cut(text, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	var wireForm bytes.Buffer
	wireForm.WriteString(http1(lines[0]) + "\r\n")
	for _, line := range lines[1:] {
		name, _, _ := strings.Cut(line, ":")
		switch strings.ToLower(name) {
		case "content-length", "transfer-encoding", "content-encoding": // of the body as it was sent, not as it was pasted
		default:
			wireForm.WriteString(line + "\r\n")
		}
	}
	fmt.Fprintf(&wireForm, "Content-Length: %d\r\n\r\n%s", len(body), body)
	resp, err := http.ReadResponse(bufio.NewReader(&wireForm), nil)
	if err != nil {
		return nil, fmt.Errorf("this starts like an HTTP response, but is not a valid one: %w", err)
	}
	_ = resp.Body.Close() // its bytes are in body
	if resp.StatusCode >= http.StatusBadRequest {
		return &pasted{form: "an HTTP response with status " + strings.TrimSpace(resp.Status), response: resp, body: body}, nil
	}
	inner, err := parse(body)
	if err != nil {
		return nil, fmt.Errorf("the body of the HTTP response: %w", err)
	}
	inner.form = "an HTTP response with status " + strings.TrimSpace(resp.Status) + ": " + inner.form
	return inner, nil
}

// http1 turns the status line of HTTP/2 and 3, as tools print it, into that of
// HTTP/1.1.
func http1(line string) string {
	_, status, _ := strings.Cut(line, " ")
	return "HTTP/1.1 " + status
}

// parseEvents finds the answer in an event stream. It takes no [wire.MessageReader], which passes over events that
// clients ignore: here somebody wants to know what they say.
func parseEvents(text []byte) (*pasted, error) {
	reader := wire.NewEventReader(io.MultiReader(bytes.NewReader(text), strings.NewReader("\n\n")), MaxAnswer)
	for {
		event, err := reader.Next()
		if err != nil {
			return nil, errNoReply
		}
		found, err := parseJSON(event.Data)
		if err == nil && found.form == formMessage {
			found.form = "an event stream: " + found.form
			return found, nil
		}
	}
}

const formMessage = "a JSON-RPC response"

// parseJSON tells a message, a result and an error object apart.
func parseJSON(text []byte) (*pasted, error) {
	var scan wire.Scanner
	_, err := scan.Write(text)
	if err == nil {
		err = scan.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("this is not a single JSON object: %w%s", err, place(text, err))
	}
	switch signs := scan.Signs(); signs.Message() {
	case wire.Response:
		if !signs.Error.IsZero() {
			return &pasted{form: formMessage, rpcError: signs.Error.Of(text)}, nil
		}
		return &pasted{form: formMessage, result: signs.Result.Of(text)}, nil
	case wire.Request, wire.Notification:
		return nil, fmt.Errorf("this is not an answer but a %s, %s", signs.Message(), signs.Method)
	default:
	}
	var members map[string]json.Value
	if err := json.UnmarshalLenient(text, &members); err != nil {
		return nil, fmt.Errorf("this is not a JSON object: %w", err)
	}
	for _, name := range []string{"error", "result"} { // a response whose id was not pasted
		if inner := members[name]; members["jsonrpc"] != nil && inner.Kind() == '{' {
			if name == "error" {
				return &pasted{form: formMessage + " without an id", rpcError: inner}, nil
			}
			return &pasted{form: formMessage + " without an id", result: inner}, nil
		}
	}
	if isToolResult(members) {
		return &pasted{form: "a tool result", result: text}, nil
	}
	var inner map[string]json.Value
	if json.UnmarshalLenient(members["result"], &inner) == nil && isToolResult(inner) {
		return &pasted{form: formMessage + " without an id", result: members["result"]}, nil
	}
	return toolError("an error object", string(text)), nil
}

// isToolResult reports whether an object has a member that tool results have.
func isToolResult(members map[string]json.Value) bool {
	return slices.ContainsFunc([]string{"content", "structuredContent", "isError", "_meta"}, func(name string) bool {
		return members[name] != nil
	})
}

// place says in which line and column of text err arose, for people to find.
func place(text []byte, err error) string {
	syntax, ok := errors.AsType[*lexer.SyntaxError](err)
	if !ok {
		return ""
	}
	before := text[:min(max(syntax.Offset, 0), len(text))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	return fmt.Sprintf(" (line %d, column %d)", line, column)
}

// toolError is a tool result that says that it failed, with that text.
func toolError(form, text string) *pasted {
	result := append([]byte(`{"content":[{"type":"text","text":`), json.AppendQuote(nil, text)...)
	return &pasted{form: form, result: append(result, `}],"isError":true}`...)}
}
