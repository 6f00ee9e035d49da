package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/masking"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// routeDelivery does the work of route for a message without an answer of its own: a notification, the client's answer to a
// server's question, the opening of a stream or the end of a session.
func (c *call) routeDelivery() {
	most := c.on.to.entry.Timeout
	if c.req.method == http.MethodGet {
		most = min(openTimeout, most)
	}
	if c.req.msg.Kind == wire.Response && c.session != nil {
		c.session.Questions.Answer(c.req.msg.ID)
	}
	c.req.msg.ID = nil // of a response: the id of the server's question
	c.within(most, most)
}

// deliver sends a message that has no answer of its own. It is sent again only if its session was renewed.
func deliver(c *call, try try) *failure {
	ends := c.req.method == http.MethodDelete && c.session != nil
	if ends {
		if where, _, _ := c.session.At(); where != c.on.to.backend.Place { // nobody else knows it
			c.removeSession()
			c.reply.empty()
			return nil
		}
	}
	for {
		last := c.tryToDeliver(try)
		switch {
		case last.why == answered && ends && last.status < http.StatusMultipleChoices:
			c.removeSession()
			return nil
		case last.why == answered, last.why == failed:
			return last.settled()
		case last.why == sessionLost && ends: // it has ended at the server as well
			c.removeSession()
			c.reply.empty()
			return nil
		case last.why == sessionLost && !c.out.renewed:
			err := c.renewSession(c.ctx, last.generation)
			if c.out.renewed = err == nil; c.out.renewed {
				continue
			}
			last.e = recourse.From(err)
		}
		f := refuse(statusOf(c.req.method, last.e), last.e)
		f.last = last
		return f
	}
}

// tryToDeliver sends the message, in a session that its server knows.
func (c *call) tryToDeliver(try try) end {
	if e := c.moveSession(); e != nil {
		return again(e)
	}
	return try(c.attempt())
}

func (c *call) removeSession() {
	scope := c.table.sessions(c.on, c.who.owner)
	scope.Remove(c.ctx, c.session)
}

// statusOf returns the HTTP status for a message that could not be delivered: the server's own, unless it is
// about the way between gateway and server. A notification that the server refuses counts as delivered: a 4xx
// would end the whole session of a client that uses the Go SDK.
func statusOf(method string, e *recourse.Error) int {
	switch status := e.Upstream.Status; {
	case status >= http.StatusInternalServerError, status == http.StatusTooManyRequests:
		return status
	case e.Kind == recourse.KindTimeout:
		return http.StatusGatewayTimeout
	case method == http.MethodPost, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return http.StatusBadGateway
	case e.Kind == recourse.KindUnknownSession:
		return http.StatusNotFound
	case status >= http.StatusBadRequest:
		return status
	default:
		return http.StatusBadGateway
	}
}

// handedOver handles the answer to a message that has none of its own.
func (m enforcing) handedOver(c *call) end {
	method, resp := c.req.method, c.in.resp
	switch {
	case method == http.MethodGet && resp.Stream:
		m.passStream(c) // its end is not a failure: the client opens it again
	case c.reply.started: // a stream that is held open continues or ends
		text, _ := io.ReadAll(io.LimitReader(resp, maxErrorBody)) // if reading fails, the status still counts
		e := c.on.to.reader.HTTP(resp.Status, resp.Header, text, "").Error()
		if c.lostSession(c.in.session, resp.Status, e) {
			return end{why: sessionLost, e: e}
		}
		return again(e)
	case resp.Status == http.StatusMethodNotAllowed && method != http.MethodPost:
		return c.reply.passMethods(c.on.to.entry.Title)
	case resp.Status >= http.StatusMultipleChoices:
		return c.refusal()
	default:
		c.reply.passOn(c.in.resp)
	}
	return end{why: answered}
}

// passMethods tells the client which HTTP methods the server accepts, which is how clients find out that there is no
// stream to listen to. An answer without a message gets one, since some clients would otherwise try an older
// transport.
func (r *reply) passMethods(title string) end {
	resp := r.from
	if resp.Header.Get("Allow") == "" {
		resp.Header.Set("Allow", http.MethodPost)
	}
	if wire.IsMediaType(resp.Header.Get("Content-Type"), wire.TypeJSON) {
		r.passOn(resp)
		return end{why: answered}
	}
	allow := resp.Header["Allow"]
	r.header()["Allow"] = allow
	e := recourse.New(recourse.KindInvalidRequest, fmt.Sprintf("%s takes %s.", title, strings.Join(allow, ", ")))
	return (&failure{e: e, status: resp.Status, expected: true}).end()
}

// passStream passes on a stream without an end of its own, its messages masked.
func (enforcing) passStream(c *call) {
	dropped := false
	c.stream(func(part *wire.Part) *wire.Event {
		if part.First {
			dropped = !part.Complete && !part.Other && c.on.tooLongToMask(c.in.signs, c.req.id)
		}
		if dropped {
			return nil
		}
		c.unmask() // the stream has no end: each message has a budget of its own
		event := &part.Event
		if event.First && event.Complete && c.in.signs != nil && c.in.forged() {
			event = event.Changed(withoutRecord(event.Data))
		}
		if c.on.grants != nil && event.First && event.Complete && json.Lookup(event.Data, "/result/tools") != nil {
			event = event.Changed(granted(event.Data, c.sees)) // the rest of an answer
		}
		return c.spoken(event)
	})
}

// stream passes on a stream without an end of its own, each part as spoken returns it if it does, until either side or
// the gateway ends it. Once it has begun, it has no deadline.
func (c *call) stream(spoken func(*wire.Part) *wire.Event) {
	c.deadline.Stop()
	resp := c.in.resp
	release := context.AfterFunc(c.on.to.backend.Streams, func() { _ = resp.Close() }) // ends the reading
	defer release()
	c.leave()
	c.reply.startEvents()
	c.reply.w.Flush()
	var of *session.Session
	if c.req.method == http.MethodGet {
		of = c.session
	}
	listener := of.Listen(c.reply.note)
	defer listener.Close()
	for c.in.open(); c.in.next(); {
		part := c.in.part
		listener.Begin()
		if bytes.Contains(part.Data, []byte(wire.MethodToolsChanged)) {
			c.on.to.backend.Lists.Changed(listRequest{c}.Key())
		}
		if event := spoken(part); event != nil {
			c.reply.say(event, c.in.said())
		}
		if part.Complete {
			listener.End()
		}
		if c.ctx.Err() != nil {
			return
		}
	}
}

// spoken masks an event that is not an answer.
func (c *call) spoken(event *wire.Event) *wire.Event {
	if c.on.redact == redact.Off {
		return event
	}
	return masking.Event(c.masker, event)
}

// tooLongToMask reports whether a message that is larger than decide_within is a notification: it cannot be masked,
// and nobody waits for it.
func (on *endpoint) tooLongToMask(signs *wire.Signs, requestID string) bool {
	if on.redact == redact.Off || !bytes.HasPrefix(signs.Method, []byte("notifications/")) {
		return false
	}
	on.g.log.Warn("a notification was dropped: it is longer than decide_within and cannot be masked",
		slog.String("server", on.entry.Name), slog.String("request_id", requestID),
		slog.String("method", observe.Beginning(string(signs.Method))))
	return true
}

const (
	// openTimeout is how long a client waits for its stream to open: some SDKs do not connect before that.
	openTimeout = 5 * time.Second
	// A stream that is held open retries the server after holdFirst, then less and less often, but at least
	// about every holdMost.
	holdFirst = 500 * time.Millisecond
	holdMost  = 30 * time.Second
)

// holdOpen gives a client its stream although the server is down, and opens it there later on. An error status would end
// the whole session of a client that uses the Go SDK, even though calls can be answered.
func holdOpen(c *call, next next) *failure {
	f := next(c)
	if c.req.method != http.MethodGet {
		return f
	}
	for wait := holdFirst; f != nil && f.last.e != nil; wait = min(2*wait, holdMost) {
		if c.req.left() || !f.last.isAway() {
			if c.reply.started {
				return nil
			}
			return f
		}
		if !c.reply.started {
			c.detach()
			c.reply.beginEvents()
			c.reply.w.Flush()
			c.survive(c.failing(&f.last).settle(f.e), "the server cannot be reached: the stream is held open")
		}
		if !pause.For(c.ctx, wait+rand.N(wait)/2) { // the client or the gateway has ended it
			return nil
		}
		f = next(c)
	}
	return f
}

// isAway reports whether another attempt to open a stream is of use: the server does not say that it offers none.
func (t *end) isAway() bool {
	status := t.e.Upstream.Status
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests ||
		status == 0 && (t.e.Kind == recourse.KindUnreachable || t.e.Kind == recourse.KindTimeout)
}
