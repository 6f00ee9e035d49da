package gateway

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/wire"
)

// begin sends the status and headers of an answer that is passed on unchanged.
func (c *call) begin(resp *http.Response) {
	if resp.ContentLength > 0 {
		c.reply.header()["Content-Length"] = []string{strconv.FormatInt(resp.ContentLength, 10)}
	}
	c.head(resp)
}

// head sends the status and headers of an answer whose length may change on the way.
func (c *call) head(resp *http.Response) {
	c.openSession(resp)
	c.reply.copyHeader(resp.Header)
	c.reply.begin(resp.StatusCode)
}

// passOn sends an answer to the client unchanged.
func (c *call) passOn(resp *http.Response) {
	c.begin(resp)
	c.reply.pour(resp.Body, copied, func() {})
}

// forward sends a part of a stream at once.
func (c *call) forward(resp *http.Response, raw []byte) {
	c.startEvents(resp)
	_ = c.reply.put(raw) // the client has gone: the context says so
	c.reply.flush()
}

func (c *call) startEvents(resp *http.Response) {
	if !c.reply.started {
		c.head(resp)
		c.reply.events = true
	}
}

// notice looks at a message from the server that is not an answer.
func (c *call) notice(signs *wire.Signs) {
	switch signs.Message() {
	case wire.Request: // from here on the server waits for its client
		c.asked(signs.ID)
	case wire.Notification:
		switch string(signs.Method) {
		case wire.MethodProgress:
			c.deadline.Alive()
		case wire.MethodToolsChanged:
			c.to.tools.Changed(asking{c}.Key())
		}
	case wire.Invalid, wire.Response:
	}
}

// asked records that the server asks its client something. Without a session, nothing tells which answer is
// the client's.
func (c *call) asked(id wire.ID) {
	if c.session == nil {
		c.deadline.Suspend()
		return
	}
	c.in.asks = true
	c.session.Questions.Ask(id, c.deadline)
}

// passStream passes on a stream without an end of its own, its messages masked.
func (c *call) passStream(resp *http.Response) {
	dropped := false
	c.stream(resp, func(part *wire.Part) []byte {
		if part.First {
			dropped = !part.Complete && !part.Other && c.unspeakable()
		}
		if dropped {
			return nil
		}
		c.mask = nil // the stream has no end: each message has a budget of its own
		raw := c.strippedMessage(&part.Event)
		if c.on.grants != nil && part.First && part.Complete && json.Lookup(part.Data, "/result/tools") != nil {
			raw = part.With(c.granted(part.Data)) // the rest of an answer
		}
		return c.spoken(&part.Event, raw)
	})
}

// stream passes on a stream without an end of its own, each part as spoken returns it, until either side or
// the gateway ends it. Once it has begun, it has no deadline.
func (c *call) stream(resp *http.Response, spoken func(*wire.Part) []byte) {
	c.deadline.Stop()
	release := context.AfterFunc(c.to.streams, func() { _ = resp.Body.Close() }) // ends the reading
	defer release()
	c.leave()
	c.startEvents(resp)
	c.reply.flush()
	var of *session.Session
	if c.req.http.Method == http.MethodGet {
		of = c.session
	}
	listener := of.Listen(c.reply.tell)
	defer listener.Close()
	for c.open(resp); ; {
		part, err := c.in.next()
		if err != nil {
			return
		}
		listener.Begin()
		if bytes.Contains(part.Data, []byte(wire.MethodToolsChanged)) {
			c.to.tools.Changed(asking{c}.Key())
		}
		if raw := spoken(part); raw != nil {
			c.forward(resp, raw)
		}
		if part.Complete {
			listener.End()
		}
		if c.ctx.Err() != nil {
			return
		}
	}
}

const (
	// openTimeout is how long a client waits for its stream to open: some SDKs do not connect before that.
	openTimeout = 5 * time.Second
	// A stream that is held open retries the server after holdFirst, then less and less often, but at least
	// about every holdMost.
	holdFirst = 500 * time.Millisecond
	holdMost  = 30 * time.Second
)

// holdStream gives the client its stream although the server is down, and waits for about wait. An error
// status would end the whole session of a client that uses the Go SDK, even though calls can be answered. It
// reports false if another attempt is useless: the server does not offer a stream, or the client or the
// gateway has ended it.
func (c *call) holdStream(e *recourse.Error, wait time.Duration) bool {
	status := e.Upstream.Status
	away := status >= http.StatusInternalServerError || status == http.StatusTooManyRequests ||
		status == 0 && (e.Kind == recourse.KindUnreachable || e.Kind == recourse.KindTimeout)
	if !away || !c.reply.manner.holds() || c.left() {
		return false
	}
	if !c.reply.started {
		c.deadline.Stop()
		c.cancel(nil)
		c.ctx, c.cancel = context.WithCancelCause(c.req.http.Context())
		cancel := c.cancel
		release := context.AfterFunc(c.to.streams, func() { cancel(nil) })
		c.cancel = func(cause error) { release(); cancel(cause) }
		c.recheck.Ends(c.cancel)
		c.leave()
		header := c.reply.header()
		header["Content-Type"] = []string{wire.TypeEventStream}
		header["Cache-Control"] = []string{"no-cache"}
		c.reply.events = true
		c.reply.begin(http.StatusOK)
		c.reply.flush()
		held := c.failureOf(c.settle(e), "the server cannot be reached: the stream is held open")
		o := c.outcome()
		o.Took = time.Since(c.out.began)
		observe.Log{To: c.g.log}.Failure(o, &held) // at once: the stream may last for hours
	}
	return pause.For(c.ctx, wait+rand.N(wait)/2) //nolint:gosec // a wait is no secret
}
