package gateway

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/gateway/front"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// receive reads the message, and finds out its era.
func receive(c *call, next next) *failure {
	var f *failure
	if c.req.stdio {
		f = c.receiveLine()
	} else {
		f = c.receiveHTTP()
	}
	switch {
	case f != nil:
		return f
	case c.req.overLimit:
		held := notSent(c.to.heldBackFor(busyWait).WithMessage("%d calls of this host are under way. This one was not sent: "+
			"wait for one of them to end, then call again.", front.MaxStdioCalls))
		return held.settled()
	default:
		return next(c)
	}
}

// receiveHTTP reads a message from a body, and checks it against its headers.
func (c *call) receiveHTTP() *failure {
	h := c.req.header
	if c.req.method != http.MethodPost {
		c.req.era = wire.Legacy
		if f := c.readBody(); f != nil { // there should be none
			return f
		}
		if c.req.method == http.MethodGet && !wire.Accepts(h["Accept"], wire.TypeEventStream) {
			return refuse(http.StatusNotAcceptable, recourse.New(recourse.KindInvalidRequest, "Accept must include text/event-stream."))
		}
		return nil
	}
	if !wire.IsMediaType(h.Get("Content-Type"), wire.TypeJSON) || h.Get("Content-Encoding") != "" {
		return refuse(http.StatusUnsupportedMediaType, recourse.New(recourse.KindInvalidRequest,
			"Send the message as Content-Type application/json, without Content-Encoding."))
	}
	if !wire.Accepts(h["Accept"], wire.TypeJSON) || !wire.Accepts(h["Accept"], wire.TypeEventStream) {
		return refuse(http.StatusNotAcceptable, recourse.New(recourse.KindInvalidRequest,
			"Accept must include both application/json and text/event-stream."))
	}
	if f := c.readBody(); f != nil {
		return f
	}
	return c.understand(func() (wire.Era, error) { return wire.CheckHeaders(h, c.req.msg) })
}

// receiveLine takes the message that a host has written on a line.
func (c *call) receiveLine() *failure {
	if c.req.method != http.MethodPost {
		c.req.era = wire.Legacy
		return nil
	}
	c.req.body = c.req.line.Text
	if limit := int64(c.table.config.MaxRequest); int64(c.req.line.Size) > limit {
		return c.refuseEarly(http.StatusRequestEntityTooLarge, recourse.TooLarge(limit))
	}
	n := int64(len(c.req.body))
	if !c.g.inFlight.take(0, n, c.table.maxInFlight()) {
		return c.refuseEarly(c.busy())
	}
	c.req.bytes = n
	return c.understand(func() (wire.Era, error) { return wire.EraOfMessage(c.req.msg) })
}

// understand parses the message, and finds out its era.
func (c *call) understand(era func() (wire.Era, error)) *failure {
	err := c.req.parse()
	if err != nil {
		c.req.msg.ID = nil // an invalid message is not trusted about anything
	} else {
		c.req.era, err = era()
	}
	if err != nil {
		return refuse(http.StatusBadRequest, door.Refused(err))
	}
	return nil
}

// readBody reads the body, up to max_request bytes.
func (c *call) readBody() *failure {
	limit := int64(c.table.config.MaxRequest)
	if len(c.req.from.TransferEncoding) > 0 {
		// It may have had a Content-Length as well, but net/http does not say so: the connection has to be
		// closed (RFC 9112, section 6.1).
		c.reply.header().Set("Connection", "close")
	}
	if c.req.from.ContentLength > limit {
		c.req.body = c.readFirst()
		return c.refuseEarly(http.StatusRequestEntityTooLarge, recourse.TooLarge(limit))
	}
	return c.readAll(limit)
}

// refuseEarly refuses a request without reading its whole body. The answer has the message's id if that is near
// the beginning: the Go SDK ends its session after a 4xx without one.
func (c *call) refuseEarly(status int, e *recourse.Error) *failure {
	c.req.msg.ID = door.FirstID(c.req.body[:min(len(c.req.body), firstPart)])
	c.reply.header().Set("Connection", "close")
	return refuse(status, e)
}

// hurry limits the time for receiving a body. The limit stays even if the body is not read: net/http still
// waits for the rest of it.
func (c *call) hurry(until time.Time) {
	if c.req.from.ContentLength != 0 {
		c.reply.w.ReadBy(until)
	}
}

// Only the beginning of a message that is too large is read, if it comes at once.
const (
	firstPart    = 1 << 10
	firstTimeout = 100 * time.Millisecond
)

// readFirst reads the beginning of a message when the rest is not needed.
func (c *call) readFirst() []byte {
	if c.req.line != nil {
		return c.req.line.Text
	}
	if c.req.from.ContentLength == 0 || c.req.header.Get("Expect") != "" { // the body has not been sent yet
		return nil
	}
	c.hurry(time.Now().Add(firstTimeout))
	text := make([]byte, firstPart)
	n, _ := io.ReadFull(c.req.from.Body, text) // what has arrived is enough
	return text[:n]
}

// readAll reads the body to its end, up to limit bytes. The memory for it counts as in flight before any of
// it arrives, and grows with what arrives: a client that announces a large body does not have to send it.
func (c *call) readAll(limit int64) *failure {
	const first = 16 << 10
	body := c.req.from.Body
	for {
		have := len(c.req.body)
		if have == cap(c.req.body) {
			more := max(have, first)
			if rest := c.req.from.ContentLength + 1 - int64(have); rest > 0 { // one more byte, to see the end
				more = int(min(int64(more), rest))
			}
			if !c.g.inFlight.take(c.req.bytes, int64(more), c.table.maxInFlight()) {
				return c.refuseEarly(c.busy())
			}
			c.req.bytes += int64(more)
			c.req.body = append(make([]byte, 0, have+more), c.req.body...)
		}
		n, err := body.Read(c.req.body[have:cap(c.req.body)])
		c.req.body = c.req.body[:have+n]
		switch {
		case int64(have+n) > limit:
			return c.refuseEarly(http.StatusRequestEntityTooLarge, recourse.TooLarge(limit))
		case errors.Is(err, io.EOF):
			c.hurry(time.Time{})
			return nil
		case err != nil:
			e := recourse.New(recourse.KindMalformed, "The message did not arrive in full.").CausedBy(err)
			return c.refuseEarly(http.StatusBadRequest, e)
		}
	}
}

const (
	// One part in smallShare of the memory is reserved for requests of up to smallRequest, so that they get
	// through when large ones use the rest.
	smallRequest = 64 << 10
	smallShare   = 4
	// busyWait is how long a client is told to wait if it was refused for lack of memory.
	busyWait = time.Second
)

// inFlight counts the requests in progress, and the bytes that they hold.
type inFlight struct{ requests, bytes atomic.Int64 }

// take counts n more bytes for a request that holds have, and reports whether all requests together stay
// within most.
func (f *inFlight) take(have, n, most int64) bool {
	if have+n > smallRequest+1 { // of these, the last one is never read
		most -= most / smallShare
	}
	if f.bytes.Add(n) > most {
		f.bytes.Add(-n)
		return false
	}
	return true
}

// maxInFlight returns how many bytes all requests may hold together.
func (t *table) maxInFlight() int64 {
	return max(int64(t.config.MaxInFlight), 2*int64(t.config.MaxRequest)) // else the largest would never have room
}

// busy returns the refusal of a request for which there is no memory.
func (c *call) busy() (status int, e *recourse.Error) {
	c.reply.header()["Retry-After"] = []string{strconv.Itoa(int(busyWait.Seconds()))}
	return http.StatusTooManyRequests, recourse.RateLimited(busyWait).
		WithMessage("The gateway is busy with other requests. This one was not carried out: repeat it in %s.",
			recourse.FormatWait(busyWait)).
		WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone)
}
