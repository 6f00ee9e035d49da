package gateway

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/wire"
)

// A reply is the only way to the client.
type reply struct {
	w      http.ResponseWriter
	manner manner

	limits  bool // its headers say what remains of the limits
	started bool // something of the answer has gone out
	events  bool // and it is an event stream
	broken  bool // and it breaks off
	gone    bool // the client does not take it
	status  int
	bytes   int64
}

// A manner is how an endpoint replies: by its contract, or by observing only.
type manner interface {
	// answer deals with what the server has answered.
	answer(c *call, resp *http.Response) error
	// object deals with what the gateway itself finds wrong with a call. The call goes on
	// where there is no error.
	object(c *call, e *recourse.Error) error
	// final says why a call is not sent again; "": it may be.
	final(c *call) string
	// passes reports whether a header of the server's answer goes on.
	passes(name string) bool
	// holds reports whether a stream is held open while the server is away.
	holds() bool
}

// header returns the headers of the answer.
func (r *reply) header() http.Header { return r.w.Header() }

// send sends a whole answer.
func (r *reply) send(status int, body []byte) {
	r.header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	r.begin(status)
	_ = r.put(body)
}

// empty sends an answer without content.
func (r *reply) empty() { r.begin(http.StatusNoContent) }

// message sends a JSON-RPC message of the gateway's own, as the event that ends the stream
// where one has begun.
func (r *reply) message(status int, message []byte) {
	if r.events {
		_ = r.put(wire.AppendEvent(nil, "", "message", message))
		r.flush()
		return
	}
	r.header()["Content-Type"] = []string{wire.TypeJSON}
	r.send(status, message)
}

// begin sends the head of an answer.
func (r *reply) begin(status int) {
	r.started, r.status = true, status
	r.w.WriteHeader(status)
}

// put sends a piece of an answer. After an error the client has gone.
func (r *reply) put(p []byte) error {
	n, err := r.w.Write(p)
	r.bytes += int64(n)
	r.gone = r.gone || err != nil
	return err
}

// tell sends an event of the gateway's own at once.
func (r *reply) tell(event []byte) error {
	if err := r.put(event); err != nil {
		return err
	}
	r.flush()
	return nil
}

// flush sends what has been put at once.
func (r *reply) flush() { _ = http.NewResponseController(r.w).Flush() } // not every writer has to

// pour sends all that a server has to say, in pieces of up to size bytes, and breaks the answer off where the server does.
// each is called for each piece.
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

// copied is how much of an answer is passed on at a time, in bytes.
const copied = 4 << 10

// abort breaks the answer off, so that the client sees that it is not whole. What has come
// is passed on.
func (r *reply) abort() {
	r.flush()
	r.broken = true
}

// copyHeader passes the headers of a server's answer on.
func (r *reply) copyHeader(from http.Header) {
	to := r.header()
	for name, values := range from {
		if r.manner.passes(name) && (!r.limits || !tellsLimits(name)) {
			to[name] = values
		}
	}
}

// passedBack are the headers of an answer that say something to a client: of HTTP's
// content, caching and authentication (RFC 9110, 9111), of the protocol and of limits. All
// others are the server's own affair.
var passedBack = map[string]bool{
	"Content-Type": true, "Content-Encoding": true, "Content-Language": true, "Cache-Control": true, "Expires": true,
	"Pragma": true, "Age": true, "Etag": true, "Last-Modified": true, "Allow": true, "Www-Authenticate": true,
	"Retry-After": true, "Ratelimit": true, "Ratelimit-Policy": true, "Deprecation": true, "Sunset": true,
	"X-Accel-Buffering": true,
}

// enforcing writes failures as the contract says.
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
