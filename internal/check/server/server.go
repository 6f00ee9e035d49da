// Package server talks to an MCP server byte for byte: it sends what it is told, right or wrong, and keeps what comes back.
//
// Other clients hide what a check is about: they mend what they send, drop what they did not ask for, and turn what they
// cannot read into an error of their own.
//
//	Server   Program (stdio) or Endpoint (Streamable HTTP)
//	  |  Open
//	Conn     Send: a message, and the Answer to it
//	         Strays: what came that nobody asked for
package server

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// Limits on what a server may say.
const (
	// MaxMessage is how many bytes of one message are kept.
	MaxMessage = 16 << 20
	// maxStrays is how many strays are kept.
	maxStrays = 100
	// maxStray is how many bytes of a stray are kept.
	maxStray = 2 << 10
)

// The ways in which there is no answer.
var (
	ErrSilent = errors.New("no answer in time")
	ErrEnded  = errors.New("the connection ended without an answer")
	ErrLong   = errors.New("the answer is longer than 16 MiB")
)

// A Server is where connections are opened.
type Server interface {
	// Open starts the program, or prepares to reach the endpoint. Nothing is sent.
	Open(ctx context.Context) (Conn, error)
	// Stdio reports whether it is a program.
	Stdio() bool
}

// A Conn is a connection to a server. It is safe for concurrent use.
type Conn interface {
	// Send sends a message, and waits until its answer has come, the connection has ended, or ctx ends.
	Send(ctx context.Context, m Message) Reply
	// Strays returns what came unasked: texts that are no messages, answers to nothing that was sent, second answers.
	Strays() []Stray
	// Close ends the connection as a client does that has nothing more to say, and reports whether the server went along: a
	// program that has to be killed did not.
	Close() (clean bool)
	// Break ends the connection without a word, and whatever runs at its other end.
	Break()
}

// A Message is what is sent.
type Message struct {
	Text []byte
	ID   string      // the id, as it is spelled, of the answer; empty: none is expected
	Also []string    // ids of further requests in the text, whose answers are not waited for. Over stdio only
	Head http.Header // headers that are added, or replaced; an empty value removes one. Over HTTP only
	Gone bool        // the client hangs up once it is sent. Over HTTP only
	Cut  int         // after how many bytes the writer pauses; 0: never. Over stdio only
}

// A Reply is what came back.
type Reply struct {
	Text   []byte      // the response with the message's id; nil: there is none
	Status int         // over HTTP
	Head   http.Header // over HTTP
	Body   []byte      // over HTTP: the whole body, if it was no response with that id
	Err    error       // why there is none; nil where none was expected
}

// A Stray is something that a server said unasked.
type Stray struct {
	What Sort
	Text string // its beginning
}

// A Sort says what a stray is.
type Sort string

// The sorts of strays.
const (
	Garbage Sort = "garbage" // not JSON, where only messages may stand
	Foreign Sort = "foreign" // an answer to an id that was never sent
	Second  Sort = "second"  // another answer to the same id
	Asked   Sort = "asked"   // a request to the client
)

// envelope is what is looked at of a message.
type envelope struct {
	ID     json.Value `json:"id"`
	Method string     `json:"method"`
	Result json.Value `json:"result"`
	Error  json.Value `json:"error"`
}

// read reads a message.
func read(text []byte) (e envelope, ok bool) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || text[0] != '{' || json.UnmarshalLenient(text, &e) != nil {
		return e, false
	}
	return e, true
}

// answers reports whether it is an answer.
func (e *envelope) answers() bool { return e.Method == "" && (e.Result != nil || e.Error != nil) }

// refusal is what a client says that is asked for something, having declared that it can do nothing.
func refusal(id json.Value) []byte {
	return append(append([]byte(`{"jsonrpc":"2.0","id":`), id...),
		`,"error":{"code":-32601,"message":"this client offers nothing to servers"}}`...)
}
