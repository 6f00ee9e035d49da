package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/wire"
)

// drainTimeout is how long a server may take to end its stream after its answer,
// so that the connection can be kept.
const drainTimeout = time.Second

// methodListen is the new era's stream without an end of its own.
const methodListen = "subscriptions/listen"

// relay deals with an answer that is an event stream. Everything in front of the
// answer goes out as it comes: progress, logs, questions to the client. It returns
// the failure of the transport.
func (x *exchange) relay(resp *http.Response) *recourse.Error {
	if x.msg.Method == methodListen {
		x.passStream(resp)
		return nil
	}
	reader := x.eventsOf(resp)
	var wrong error // why a message was no answer
	resumable, answered := false, false
	for {
		event, err := reader.Next()
		switch {
		case err != nil && answered:
			return x.restEnded(err)
		case err != nil:
			return x.streamEnded(resp, err, wrong, resumable)
		}
		resumable = resumable || len(event.ID) > 0
		if event.Complete && (len(event.Data) == 0 || !isMessage(event.Type)) {
			x.forward(resp, event.Raw)
			continue
		}
		x.scan.Reset()
		if _, err := x.scan.Write(event.Data); err != nil && !x.s.observes() {
			return x.bad(resp, err)
		}
		if !event.Complete {
			piece := *event
			piece.Raw, piece.Data = bytes.Clone(event.Raw), bytes.Clone(event.Data)
			next, err := reader.Next()
			if err != nil { // it was no large event, but half of one
				if x.s.observes() {
					x.forward(resp, piece.Raw)
				}
				return x.streamEnded(resp, err, wrong, false)
			}
			done, e := x.relayLarge(resp, reader, &piece, next)
			switch {
			case e != nil:
				return e
			case done && !x.s.observes():
				x.drainRest(resp, reader)
				return nil
			}
			answered = answered || done
			continue
		}
		if err := x.scan.Close(); err != nil && !x.s.observes() {
			return x.bad(resp, err)
		}
		switch signs := x.scan.Signs(); {
		case signs.Message() != wire.Response:
			x.notice(signs)
			x.forward(resp, event.Raw)
		case x.s.observes():
			x.forward(resp, event.Raw)
			x.observeAnswer(event.Data, nil)
			answered = true
		case !signs.ID.Equal(x.msg.ID):
			wrong = errWrongID // and not the client's: it is dropped
		case !isWhole(signs):
			return x.bad(resp, errNoMessage)
		case x.tooMuch(int64(len(event.Data))):
			return x.tooLarge(resp)
		default:
			x.relayAnswer(resp, event)
			x.drainRest(resp, reader)
			return nil
		}
	}
}

// isMessage reports whether events of that type hold messages; clients pass over
// all others.
func isMessage(kind []byte) bool { return len(kind) == 0 || string(kind) == "message" }

// eventsOf returns the events of an answer, read into memory that x keeps.
func (x *exchange) eventsOf(resp *http.Response) *wire.EventReader {
	x.events.Reset(resp.Body, int(x.g.config.DecideWithin))
	return &x.events
}

// notice takes note of a message of the server's that is no answer.
func (x *exchange) notice(signs *wire.Signs) {
	switch signs.Message() {
	case wire.Request: // from now on the server waits for its client
		x.deadline.alive(true)
	case wire.Notification:
		switch string(signs.Method) {
		case wire.MethodProgress:
			x.deadline.alive(false)
		case wire.MethodToolsChanged:
			x.s.tools.changed(x.credentials())
		}
	case wire.Invalid, wire.Response:
	}
}

// forward sends a part of the stream on at once.
func (x *exchange) forward(resp *http.Response, raw []byte) {
	x.startEvents(resp)
	_ = x.put(raw) // the client has gone: the context says so
	_ = http.NewResponseController(x.w).Flush()
}

func (x *exchange) startEvents(resp *http.Response) {
	if !x.started {
		x.head(resp)
		x.eventStream = true
	}
}

// relayAnswer deals with the event that holds the answer.
func (x *exchange) relayAnswer(resp *http.Response, event *wire.Event) {
	switch {
	case x.translate(event.Data):
	case string(x.scan.Signs().ID) == string(x.msg.ID):
		x.forward(resp, event.Raw)
	default:
		x.forward(resp, wire.AppendEvent(nil, string(event.ID), string(event.Type), x.spelled(event.Data)))
	}
}

// relayLarge passes an event on that is larger than the window: its first piece,
// its second, and what follows. It reports whether that was the answer, or the end
// of the exchange.
func (x *exchange) relayLarge(resp *http.Response, reader *wire.EventReader, piece, event *wire.Event) (bool, *recourse.Error) {
	signs := x.scan.Signs()
	isAnswer := signs.MethodAt.IsZero()
	total := int64(len(piece.Data))
	switch {
	case !isAnswer || x.s.observes():
	case len(signs.ID) > 0 && !signs.ID.Equal(x.msg.ID):
		return true, x.bad(resp, errWrongID)
	case x.tooMuch(total):
		return true, x.tooLarge(resp)
	}
	x.forward(resp, piece.Raw)
	for {
		total += int64(len(event.Data))
		if err := x.pass(event.Data, total); err != nil && isAnswer {
			x.abort(err)
		}
		x.deadline.alive(false)
		x.forward(resp, event.Raw)
		if event.Complete {
			break
		}
		var err error
		if event, err = reader.Next(); err != nil {
			x.abort(x.s.up.Broken(x.ctx, err))
		}
	}
	if !isAnswer {
		return false, nil
	}
	x.finish()
	return true, nil
}

// streamEnded deals with a stream that ends without an answer. A server of the old
// era may close a stream whose events have ids: its client resumes it with a GET.
func (x *exchange) streamEnded(resp *http.Response, err, wrong error, resumable bool) *recourse.Error {
	ended := errors.Is(err, io.EOF)
	var e *recourse.Error
	switch {
	case !ended && !errors.Is(err, wire.ErrUnfinishedEvent):
		e = x.s.up.Broken(x.ctx, err)
	case wrong != nil:
		e = x.bad(resp, wrong)
	default:
		e = x.bad(resp, errNoMessage).WithMessage("%s ended its answer without a result.", x.s.Title)
	}
	switch {
	case resumable && x.era == wire.Old && wrong == nil && ended:
		x.startEvents(resp)
		return nil
	case !x.s.observes():
		return e
	}
	x.startEvents(resp)
	if e.Kind != recourse.KindBadResponse {
		x.abort(e)
	}
	x.observe(e)
	return nil
}

// restEnded deals with the end of a stream that was passed on beyond its answer.
func (x *exchange) restEnded(err error) *recourse.Error {
	if !errors.Is(err, io.EOF) {
		panic(http.ErrAbortHandler) // so that the client sees what the gateway sees
	}
	return nil
}

// drainRest reads what a server still sends after its answer: the end of the
// stream, or a second answer, which is dropped.
func (x *exchange) drainRest(resp *http.Response, reader *wire.EventReader) {
	timer := time.AfterFunc(drainTimeout, func() { _ = resp.Body.Close() }) // nothing of it is wanted
	defer timer.Stop()
	for more := 0; more < int(x.g.config.DecideWithin); {
		event, err := reader.Next()
		if err != nil {
			return
		}
		more += len(event.Raw)
	}
}

const (
	// openTimeout is how long a client waits for its stream to be opened: some SDKs
	// connect no sooner.
	openTimeout = 5 * time.Second
	// A stream that is held open asks for the server after holdFirst, then less and
	// less often, but at least once in about holdMost.
	holdFirst = 500 * time.Millisecond
	holdMost  = 30 * time.Second
)

// stream passes the GET stream of a session on.
func (x *exchange) stream() {
	timeout := min(openTimeout, x.s.Timeout)
	x.ctx, x.deadline, x.stop = withDeadline(x.r.Context(), timeout, timeout, x.timedOut())
	x.hand(http.MethodGet, nil)
}

// holdStream gives the client its stream although the server is away, and waits
// for a while. A status that said so would end the whole session of a client that
// uses the Go SDK, while calls can be answered. It reports false where another
// attempt is of no use: the server does not want to give a stream, or the client
// or the gateway has ended it.
func (x *exchange) holdStream(e *recourse.Error) bool {
	status := e.Upstream.Status
	away := status >= http.StatusInternalServerError || status == http.StatusTooManyRequests ||
		status == 0 && (e.Kind == recourse.KindUnreachable || e.Kind == recourse.KindTimeout)
	if !away || x.s.observes() || x.r.Context().Err() != nil {
		return false
	}
	if !x.started {
		ctx, cancel := context.WithCancel(x.r.Context())
		release := context.AfterFunc(x.g.streams, cancel)
		x.stop()
		x.ctx, x.stop = ctx, func() { release(); cancel() }
		x.hold = holdFirst
		x.w.Header()["Content-Type"] = []string{wire.TypeEventStream}
		x.w.Header()["Cache-Control"] = []string{"no-cache"}
		x.started, x.eventStream = true, true
		x.w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(x.w).Flush()
		x.record(x.settle(e), "the server is away: the stream is held open")
	}
	wait := x.hold + rand.N(x.hold)/2 //nolint:gosec // a wait is no secret
	x.hold = min(2*x.hold, holdMost)
	return pause(x.ctx, wait)
}

// passStream passes a stream without an end of its own on, until either side or
// the gateway ends it. It has no deadline once it has begun.
func (x *exchange) passStream(resp *http.Response) {
	x.deadline.timer.Stop()
	release := context.AfterFunc(x.g.streams, func() { _ = resp.Body.Close() }) // ends the reading
	defer release()
	x.startEvents(resp)
	_ = http.NewResponseController(x.w).Flush()
	reader := x.eventsOf(resp)
	for {
		event, err := reader.Next()
		if err != nil {
			return
		}
		if bytes.Contains(event.Data, []byte(wire.MethodToolsChanged)) {
			x.s.tools.changed(x.credentials())
		}
		x.forward(resp, event.Raw)
		if x.ctx.Err() != nil {
			return
		}
	}
}

// forwardDelete ends the session, here and at the server.
func (x *exchange) forwardDelete() {
	x.ctx, x.deadline, x.stop = withDeadline(x.r.Context(), x.s.Timeout, x.s.Timeout, x.timedOut())
	x.hand(http.MethodDelete, nil)
}
