package gateway

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// A reply is the only way to answer the client.
type reply struct {
	w      http.ResponseWriter
	manner mode

	from    *wire.Answer   // the server's answer
	opening func()         // opens a session before that is passed on; nil: it does not open one
	rewrite *wire.Rewriter // of a large message; nil: it is passed on as it is

	limits  bool // its headers report what remains of the limits
	started bool // part of the answer has been sent
	events  bool // the answer is an event stream
	broken  bool // which was aborted
	held    bool // only progress of the gateway's own has been sent
	wraps   bool // the stream was begun for that: a JSON answer becomes an event of it
	framed  bool // that event has begun
	gone    bool // the client does not read it
	status  int
	bytes   int64
}

// A mode is how an endpoint replies: in its contract's form, or only observing.
type mode interface {
	// answer handles the server's answer.
	answer(c *call) error
	// object handles what the gateway itself finds wrong with a call. If it returns no error, the call
	// continues.
	object(c *call, e *recourse.Error) error
	// final says why a call is not repeated; "" means that it may be.
	final(c *call) string
	// passes reports whether a header of the server's answer is passed on.
	passes(name string) bool
	// holds reports whether a stream is held open while the server is away.
	holds() bool
	// acts reports whether the gateway does anything of its own accord: bounds, hedges and traces calls.
	acts() bool
}

func (r *reply) header() http.Header { return r.w.Header() }

func (r *reply) send(status int, body []byte) {
	r.header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	r.begin(status)
	_ = r.put(body)
}

// readBy limits the time for receiving the request's body, which is up to the same writer.
func (r *reply) readBy(until time.Time) {
	_ = http.NewResponseController(r.w).SetReadDeadline(until) // not every writer has one
}

func (r *reply) empty() { r.begin(http.StatusNoContent) }

// message sends a JSON-RPC message from the gateway, as the last event if a stream has begun.
func (r *reply) message(status int, message []byte) {
	if r.events {
		r.held = false
		_ = r.put(wire.AppendEvent(nil, "", "message", message))
		r.flush()
		return
	}
	r.header()["Content-Type"] = []string{wire.TypeJSON}
	r.send(status, message)
}

// begin sends the status and headers.
func (r *reply) begin(status int) {
	r.started, r.status = true, status
	r.w.WriteHeader(status)
}

// put sends a piece of an answer. An error means that the client has gone.
func (r *reply) put(p []byte) error {
	n, err := r.w.Write(p)
	r.bytes += int64(n)
	r.gone = r.gone || err != nil
	return err
}

// tell sends an event from the gateway at once.
func (r *reply) tell(event []byte) error {
	if err := r.put(event); err != nil {
		return err
	}
	r.flush()
	return nil
}

func (r *reply) flush() { _ = http.NewResponseController(r.w).Flush() } // not every writer supports it

// pour sends everything that a server sends, in pieces of up to size bytes, and aborts the answer if the
// server does. each is called for every piece.
func (r *reply) pour(from io.Reader, size int, each func()) {
	buffer := make([]byte, size)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			each()
			if r.put(buffer[:n]) != nil {
				return // the client has gone
			}
			if r.events {
				r.flush()
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			r.abort()
			return
		}
	}
}

// copied is how much of an answer is copied at a time, in bytes.
const copied = 4 << 10

// abort breaks the answer off, so that the client notices that it is incomplete. Everything received so far
// is sent first.
func (r *reply) abort() {
	r.flush()
	r.broken = true
}

// copyHeader copies the server's headers that are passed on.
func (r *reply) copyHeader(from http.Header) {
	to := r.header()
	for name, values := range from {
		if r.manner.passes(name) && (!r.limits || !limits.Tells(name)) {
			to[name] = values
		}
	}
}

// head sends the status and headers of the server's answer, which has length bytes; 0: it is not known how many.
func (r *reply) head(length int64) {
	if r.opening != nil {
		r.opening()
	}
	if length > 0 {
		r.header()["Content-Length"] = []string{strconv.FormatInt(length, 10)}
	}
	r.copyHeader(r.from.Header)
	r.begin(r.from.Status)
}

// passOn sends the server's answer unchanged; body is the whole of it.
func (r *reply) passOn(body io.Reader) {
	r.head(r.from.Length)
	r.pour(body, copied, func() {})
}

// relay sends a piece of a message of the server's, in an event stream or as the answer itself.
func (r *reply) relay(piece *wire.Event, asEvent bool) {
	switch {
	case r.wraps && !asEvent:
		data := piece.Data
		if r.rewrite != nil {
			data = r.rewrite.Append(make([]byte, 0, len(data)), data)
		}
		r.held = false
		_ = r.tell(r.wrapped(piece, data))
	case asEvent && r.rewrite != nil:
		r.forward(r.rewrite.AppendEvent(nil, piece))
	case asEvent:
		r.forward(piece.Raw)
	case r.rewrite != nil: // it changes the length
		if !r.started {
			r.head(0)
		}
		_ = r.put(r.rewrite.Append(make([]byte, 0, len(piece.Data)), piece.Data)) // put notes whether the client has gone
	default:
		if !r.started {
			r.head(r.from.Length)
		}
		_ = r.put(piece.Data)
	}
}

// forward sends a part of the server's stream at once.
func (r *reply) forward(raw []byte) {
	r.startEvents()
	r.held = false
	_ = r.tell(raw) // the client has gone: the context says so
}

func (r *reply) startEvents() {
	if !r.started {
		r.head(0)
		r.events = true
	}
}
