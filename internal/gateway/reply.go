package gateway

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/wire"
)

// A reply is the only way to answer the client.
type reply struct {
	w      http.ResponseWriter
	manner manner

	limits  bool // its headers report what remains of the limits
	started bool // part of the answer has been sent
	events  bool // the answer is an event stream
	broken  bool // which was aborted
	gone    bool // the client does not read it
	status  int
	bytes   int64
}

// A manner is how an endpoint replies: in its contract's form, or only observing.
type manner interface {
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

// passedBack are headers of an answer that matter to clients: HTTP's content, caching and authentication
// headers (RFC 9110, 9111), the protocol's, and those about limits. All others are the server's own business.
var passedBack = map[string]bool{
	"Content-Type": true, "Content-Encoding": true, "Content-Language": true, "Cache-Control": true, "Expires": true,
	"Pragma": true, "Age": true, "Etag": true, "Last-Modified": true, "Allow": true, "Www-Authenticate": true,
	"Retry-After": true, "Ratelimit": true, "Ratelimit-Policy": true, "Deprecation": true, "Sunset": true,
	"X-Accel-Buffering": true,
}

// begin sends the status and headers of a server's answer that is passed on unchanged.
func (c *call) begin() {
	if size := c.in.resp.ContentLength; size > 0 {
		c.reply.header()["Content-Length"] = []string{strconv.FormatInt(size, 10)}
	}
	c.head()
}

// head sends the status and headers of an answer whose length may change on the way.
func (c *call) head() {
	c.openSession()
	c.reply.copyHeader(c.in.resp.Header)
	c.reply.begin(c.in.resp.StatusCode)
}

// passOn sends an answer to the client unchanged.
func (c *call) passOn() {
	c.begin()
	c.reply.pour(c.in.resp.Body, copied, func() {})
}

// forward sends a part of a stream at once.
func (c *call) forward(raw []byte) {
	c.startEvents()
	_ = c.reply.put(raw) // the client has gone: the context says so
	c.reply.flush()
}

func (c *call) startEvents() {
	if !c.reply.started {
		c.head()
		c.reply.events = true
	}
}

// enforcing writes failures in the contract's form.
type enforcing struct{}

func (enforcing) object(_ *call, e *recourse.Error) error { return settled(e) }

func (enforcing) final(c *call) string {
	if c.reply.started {
		return "part of the answer has been sent"
	}
	return ""
}

func (enforcing) passes(name string) bool {
	return passedBack[name] || strings.HasPrefix(name, "X-Ratelimit-") || strings.HasPrefix(name, "Ratelimit-") ||
		strings.HasPrefix(name, "Mcp-") && name != wire.HeaderSession // what the protocol may add
}

func (enforcing) holds() bool { return true }

func (enforcing) acts() bool { return true }
