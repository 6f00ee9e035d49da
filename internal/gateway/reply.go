package gateway

import (
	"io"
	"net/http"
	"strconv"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A reply is the only way to answer the client.
type reply struct {
	w      front.Writer
	http   front.HTTPWriter         // the memory of w, over HTTP
	passes func(header string) bool // reports whether a header of the server's answer is passed on

	from    *wire.Answer   // the server's answer
	opening func()         // opens a session before that is passed on; nil: it does not open one
	rewrite *wire.Rewriter // of a large message; nil: it is passed on as it is

	limits  bool // its headers report what remains of the limits
	started bool // part of the answer has been sent
	events  bool // the answer is an event stream
	broken  bool // which was aborted
	held    bool // only progress of the gateway's own has been sent
	wraps   bool // the stream was begun for that: a JSON answer becomes an event of it
	gone    bool // the client does not read it
	status  int
	bytes   int64
}

// A mode is how an endpoint replies: in its contract's form, or only observing.
type mode interface {
	// answer handles the server's answer.
	answer(c *call) end
	// object handles what the gateway itself finds wrong with a call. If it returns no failure, the call
	// continues.
	object(c *call, e *recourse.Error) *failure
	// final says why a call is not repeated; "" means that it may be.
	final(c *call) string
	// passes reports whether a header of the server's answer is passed on.
	passes(name string) bool
}

func (r *reply) header() http.Header { return r.w.Header() }

// send sends a text that need not be a message.
func (r *reply) send(status int, body []byte) {
	r.header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	r.begin(status, false)
	_ = r.put(body)
}

func (r *reply) empty() { r.begin(http.StatusNoContent, false) }

// message sends a JSON-RPC message from the gateway, the answer to the request with that id, as the last event if a
// stream has begun. Nobody knows what an answer without an id answers.
func (r *reply) message(status int, id wire.ID, message []byte) {
	if !r.events {
		r.header()["Content-Type"] = []string{wire.TypeJSON}
		if id.IsZero() {
			r.send(status, message)
			return
		}
		r.header()["Content-Length"] = []string{strconv.Itoa(len(message))}
		r.begin(status, false)
	}
	r.say(wire.MessageEvent(message), front.Answer)
}

// begin sends the status and headers.
func (r *reply) begin(status int, stream bool) {
	r.started, r.status, r.events = true, status, stream
	r.w.Begin(status, stream)
}

// beginEvents begins a stream of the gateway's own.
func (r *reply) beginEvents() {
	header := r.header()
	header["Content-Type"] = []string{wire.TypeEventStream}
	header["Cache-Control"] = []string{"no-cache"}
	r.begin(http.StatusOK, true)
}

// put sends a piece of a text. An error means that the client has gone.
func (r *reply) put(p []byte) error {
	n, err := r.w.Write(p)
	r.bytes += int64(n)
	r.gone = r.gone || err != nil
	return err
}

// say sends an event, or a piece of one.
func (r *reply) say(e *wire.Event, is front.Said) {
	r.held = false
	_ = r.tell(e, is) // it notes whether the client has gone
}

// note sends a notification of the gateway's own.
func (r *reply) note(message []byte) error { return r.tell(wire.MessageEvent(message), front.Notice) }

func (r *reply) tell(e *wire.Event, is front.Said) error {
	n, err := r.w.Event(e, is)
	r.bytes += int64(n)
	r.gone = r.gone || err != nil
	return err
}

// abort breaks the answer off, so that the client notices that it is incomplete. Everything received so far
// is sent first.
func (r *reply) abort() {
	r.w.Flush()
	r.broken = true
}

// copyHeader copies the server's headers that are passed on.
func (r *reply) copyHeader(from *wire.Answer) {
	to := r.header()
	for name, values := range from.Header {
		if r.passes(name) && (!r.limits || !limits.Tells(name)) {
			to[name] = values
		}
	}
	if kind := from.ContentType(); kind != "" && from.Header["Content-Type"] == nil { // it did not come over HTTP
		if to["Content-Type"] = []string{kind}; from.Stream {
			to["Cache-Control"] = []string{"no-cache"}
		}
	}
}

// head sends the status and headers of the server's answer, which has length bytes; 0: it is not known how many.
func (r *reply) head(length int64, stream bool) {
	if r.opening != nil {
		r.opening()
	}
	if length > 0 {
		r.header()["Content-Length"] = []string{strconv.FormatInt(length, 10)}
	}
	r.copyHeader(r.from)
	r.begin(r.from.Status, stream)
}

// passOn sends a text of the server's unchanged; body is the whole of it. If the server breaks it off, so does the gateway.
func (r *reply) passOn(body io.Reader) {
	r.head(r.from.Length, false)
	if _, err := io.Copy(putter{r}, body); err != nil && !r.gone {
		r.abort()
	}
}

// A putter writes to a client with put.
type putter struct{ *reply }

func (p putter) Write(text []byte) (int, error) { return len(text), p.put(text) }

// relay sends a piece of a message of the server's, or what stands between messages, in a stream or as the answer itself.
func (r *reply) relay(piece *wire.Event, stream bool, is front.Said) {
	switch {
	case r.rewrite != nil:
		data := r.rewrite.Append(make([]byte, 0, len(piece.Data)), piece.Data)
		if piece.Complete {
			data = r.rewrite.Close(data)
		}
		piece = piece.Changed(data)
	case r.wraps && !stream:
		piece = piece.Changed(piece.Data)
		piece.Type = []byte("message")
	}
	switch {
	case r.started:
	case stream:
		r.startEvents()
	case r.rewrite != nil: // it changes the length
		r.head(0, false)
	default:
		r.head(r.from.Length, false)
	}
	r.say(piece, is)
}

func (r *reply) startEvents() {
	if !r.started {
		r.head(0, true)
	}
}
