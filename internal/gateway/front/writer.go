package front

import (
	"context"
	"io"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A Handler answers what clients send.
type Handler interface {
	http.Handler

	// Answer answers what a host on stdio has sent. It reports false if the answer breaks off, and then whether the call
	// took effect, if that is known.
	Answer(w Writer, r *Request) (whole bool, effect recourse.Effect)
}

// A Request is what a host on stdio has sent: a message (POST), the opening of a stream (GET) or the end of a session
// (DELETE).
type Request struct {
	Context context.Context
	Method  string
	Header  http.Header   // what MCP defines, as far as the message does not say it
	From    *http.Request // the host, and where its messages go; all of them share it
	Line    wire.Line
	Message *wire.Message // the line, which does not change; nil: it is cut, or no message
	Excess  bool          // it is to be refused, since the host has [MaxStdioCalls] under way
}

// A Writer takes the answer to one request. An answer is one text, or a stream of messages with what stands between them.
type Writer interface {
	// Header returns the header fields of HTTP, which count until Begin.
	Header() http.Header
	Begin(status int, stream bool)
	// Event sends a message, or a piece of one, at once: in a stream, or as the text. In a stream it may also be something
	// between messages. An error means that the client has gone.
	Event(e *wire.Event, is Said) (int, error)
	// Writer sends a text that need not be a message.
	io.Writer
	Flush()
}

// Said is what an event says to the client. Of several pieces, the last one knows best.
type Said uint8

// The kinds of events.
const (
	Between Said = iota // it is no message, but stands between those of a stream
	Unknown             // it need not be a message
	Notice              // a message that does not answer the request
	Answer              // the answer to the request
)

// An HTTPWriter writes an answer over HTTP.
type HTTPWriter struct {
	http.ResponseWriter

	stream bool
	room   []byte // memory of an event that did not come as one
}

var _ Writer = (*HTTPWriter)(nil)

// Begin implements [Writer].
func (w *HTTPWriter) Begin(status int, stream bool) {
	w.stream = stream
	w.WriteHeader(status)
}

// Event implements [Writer].
func (w *HTTPWriter) Event(e *wire.Event, _ Said) (int, error) {
	if !w.stream {
		return w.Write(e.Data)
	}
	text := e.Raw
	if text == nil {
		w.room = e.AppendTo(w.room[:0])
		text = w.room
	}
	n, err := w.Write(text)
	if err == nil {
		w.Flush()
	}
	return n, err
}

// Flush implements [Writer].
func (w *HTTPWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() } // not every writer supports it
