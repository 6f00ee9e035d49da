package gateway

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// routeDelivery does the work of route for a message without an answer of its own: a notification, the client's answer to a
// server's question, the opening of a stream or the end of a session.
func (c *call) routeDelivery() {
	most := c.on.entry.Timeout
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
	if c.isUnopened() && c.req.msg.Method == wire.MethodInitialized {
		c.reply.Accepted() // the server is told when the session is opened there
		return nil
	}
	ends := c.req.method == http.MethodDelete && c.session != nil
	if ends {
		if where, _, _ := c.session.At(); where != c.on.backend.Place { // nobody else knows it
			c.removeSession()
			c.reply.Empty()
			return nil
		}
	}
	for {
		last := end{}
		if e := c.moveSession(); e != nil {
			last = answer.Again(e)
		} else {
			last = try(newAttempt(c))
		}
		switch {
		case last.Why == answer.Answered && ends && last.Status < http.StatusMultipleChoices:
			c.removeSession()
			return nil
		case last.Why == answer.Answered, last.Why == answer.Failed:
			return last.Settled()
		case last.Why == answer.SessionLost && ends: // it has ended at the server as well
			c.removeSession()
			c.reply.Empty()
			return nil
		case last.Why == answer.SessionLost && !c.out.renewed:
			err := c.renew(c.ctx, last.Generation)
			if c.out.renewed = err == nil; c.out.renewed {
				continue
			}
			last.Err = recourse.From(err)
		}
		f := answer.Refuse(statusOf(c.req.method, last.Err), last.Err)
		f.Last = last
		return f
	}
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
	method, resp := c.req.method, c.in.Resp
	switch {
	case method == http.MethodGet && resp.Stream:
		c.later = passStream
	case c.reply.Started: // a stream that is held open continues or ends
		e := c.in.Undelivered()
		if c.hasLost(c.in.Session, resp.Status, e) {
			return end{Why: answer.SessionLost, Err: e}
		}
		return answer.Again(e)
	case resp.Status == http.StatusMethodNotAllowed && method == http.MethodGet && c.hearsPins():
		c.later = (*call).listenAlone
	case resp.Status == http.StatusMethodNotAllowed && method != http.MethodPost:
		return c.reply.PassMethods(c.on.entry.Title)
	case resp.Status >= http.StatusMultipleChoices:
		return m.refusal(c)
	default:
		c.reply.PassOn(c.in.Resp)
	}
	return end{Why: answer.Answered}
}

// passStream passes on a stream without an end of its own, its messages masked. Its end is not a failure: the client opens it again.
func passStream(c *call) *failure {
	dropped := false
	c.mask = nil // the stream has no end: each message has a budget of its own
	c.stream(func(part *wire.Part) *wire.Event {
		if part.First {
			dropped = !part.Complete && !part.Other && c.in.TooLongToMask()
		}
		if dropped {
			return nil
		}
		defer func() { c.mask = nil }()
		event := &part.Event
		if event.First && event.Complete && c.in.Signs != nil && c.in.Forged() {
			event = event.Changed(answer.WithoutRecord(event.Data))
		}
		if c.on.editsLists() && event.First && event.Complete && json.Lookup(event.Data, "/result/tools") != nil {
			event = event.Changed(c.editList(c.pinned(event.Data, true))) // the rest of an answer
		}
		if c.hearsPins() {
			event = c.agreeing(event)
		}
		if event == nil {
			return nil
		}
		return c.in.Spoken(event)
	})
	return nil
}

// stream passes on a stream without an end of its own, each part as spoken returns it if it does, until either side or
// the gateway ends it. Once it has begun, it has no deadline. It may be open for hours, so it holds no memory of a busier call.
func (c *call) stream(spoken func(*wire.Part) *wire.Event) {
	listener, release := c.openStream(c.reply.StartEvents)
	defer release()
	for c.in.Open(); c.in.Next(); {
		part := c.in.Part
		listener.Begin()
		if part.Signs != nil {
			c.listChanged(part.Signs)
		}
		if event := spoken(part); event != nil {
			c.reply.Say(event, c.in.Said())
		}
		if part.Complete {
			listener.End()
		}
		if c.ctx.Err() != nil {
			return
		}
	}
	if c.alone {
		c.stay()
	}
}

// openStream prepares for passing on a stream, and returns who hears what the gateway says on it.
func (c *call) openStream(begin func()) (listener *session.Listener, release func()) {
	c.deadline.Stop()
	resp := c.in.Resp
	stop := context.AfterFunc(c.on.backend.Streams, func() { _ = resp.Close() }) // ends the reading
	c.leave()
	var of *session.Session
	if c.req.method == http.MethodGet {
		of = c.session
	}
	listener = of.Listen(c.reply.Note)
	listener.Begin()
	leave := c.join(listener)
	begin()
	c.reply.W.Flush()
	announceTools(of, c.reply.Note)
	if c.req.method == http.MethodGet { // else the client is first told what it will hear
		listener.End()
	}
	c.in.Messages = new(wire.MessageReader)
	return listener, func() {
		leave()
		listener.Close()
		stop()
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

// holdOpen gives a client its stream although the server is down, and opens it there later on. An error status would end
// the whole session of a client that uses the Go SDK, even though calls can be answered. A client without a session has no
// stream, whether the server is up or not: some that are given one wait in it for an older transport, for ever.
func holdOpen(c *call, next next) *failure {
	if c.req.method == http.MethodGet && c.session == nil && !c.req.stdio {
		c.reply.Header()["Allow"] = []string{http.MethodPost}
		e := recourse.New(recourse.KindInvalidRequest, "Without a session there is no stream to open: send messages with POST.")
		return &failure{Err: e, Status: http.StatusMethodNotAllowed, Expected: true}
	}
	f := next(c)
	if f != nil && f.Err != nil && f.Err.Kind == recourse.KindUnknownMethod && c.in.Resp != nil && c.hearsPins() {
		c.later = (*call).listenAlone
		return nil
	}
	if c.req.method != http.MethodGet {
		return f
	}
	for wait := holdFirst; f != nil && f.Last.Err != nil; wait = min(2*wait, holdMost) {
		if c.req.left() || !isAway(f.Last.Err) {
			if c.reply.Started {
				announceTools(c.session, c.reply.Note)
				return nil
			}
			return f
		}
		if !c.reply.Started {
			c.detach()
			c.reply.BeginEvents()
			c.reply.W.Flush()
			c.survive(c.failing(&f.Last).settle(f.Err), "the server cannot be reached: the stream is held open")
		}
		if !pause.For(c.ctx, wait+rand.N(wait)/2) { // the client or the gateway has ended it
			return nil
		}
		f = next(c)
	}
	return f
}

// isAway reports whether another attempt to open a stream is of use after that failure: the server does not say that it
// offers none.
func isAway(e *recourse.Error) bool {
	status := e.Upstream.Status
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests ||
		status == 0 && (e.Kind == recourse.KindUnreachable || e.Kind == recourse.KindTimeout)
}
