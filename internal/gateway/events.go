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

// A relay is an event stream on its way to the client.
type relay struct {
	*exchange

	resp      *http.Response
	reader    *wire.EventReader
	wrong     error // why a message that should be the answer is none
	resumable bool  // the server expects its client to come back: events have ids, or it says when
	answered  bool  // the answer has gone out, and the stream is only observed

	strip *wire.Rewriter // takes a record out of a large answer; nil: there is none
}

// relay deals with an answer that is an event stream. Everything in front of the
// answer goes out as it comes: progress, logs, questions to the client. It returns
// the failure of the transport.
func (x *exchange) relay(resp *http.Response) *recourse.Error {
	if x.msg.Method == wire.MethodListen { // the modern era's stream without an end of its own
		x.passStream(resp)
		return nil
	}
	l := &relay{exchange: x, resp: resp, reader: x.eventsOf(resp)}
	for {
		event, err := l.reader.Next()
		switch {
		case err != nil && l.answered:
			return l.restEnded(err)
		case err != nil:
			return l.ended(err)
		}
		l.resumable = l.resumable || len(event.ID) > 0 || event.Retry >= 0
		if done, e := l.next(event); done || e != nil {
			return e
		}
	}
}

// next deals with an event, and reports whether it ends the exchange.
func (l *relay) next(event *wire.Event) (done bool, e *recourse.Error) {
	if event.Complete && (len(event.Data) == 0 || !isMessage(event.Type)) {
		l.forward(l.resp, l.spoken(event, event.Raw))
		return false, nil
	}
	l.scan.Reset()
	_, err := l.scan.Write(event.Data)
	if err == nil && event.Complete {
		err = l.scan.Close()
	}
	switch {
	case err != nil && !l.s.observes():
		return true, l.bad(l.resp, err)
	case !event.Complete:
		return l.large(event)
	}
	return l.whole(event)
}

// whole deals with an event that has come as a whole and was scanned.
func (l *relay) whole(event *wire.Event) (done bool, e *recourse.Error) {
	switch signs := l.scan.Signs(); {
	case signs.Message() != wire.Response:
		l.notice(signs)
		l.forward(l.resp, l.spoken(event, event.Raw))
		return false, nil
	case l.s.observes():
		l.forward(l.resp, event.Raw)
		l.observeAnswer(event.Data, nil)
		l.answered = true
		return false, nil
	case !signs.ID.Equal(l.msg.ID):
		l.wrong = errWrongID // and not the client's: it is dropped
		return false, nil
	case !isWhole(signs):
		return true, l.bad(l.resp, errNoMessage)
	case l.tooMuch(int64(len(event.Data))):
		return true, l.tooLarge(l.resp)
	}
	l.answer(event)
	l.drain()
	return true, nil
}

// isMessage reports whether events of that type hold messages; clients pass over
// all others.
func isMessage(kind []byte) bool { return len(kind) == 0 || string(kind) == "message" }

// eventsOf returns the events of an answer, read into memory that x keeps.
func (x *exchange) eventsOf(resp *http.Response) *wire.EventReader {
	x.events.Reset(resp.Body, int(x.table.config.DecideWithin))
	return &x.events
}

// notice takes note of a message of the server's that is no answer.
func (x *exchange) notice(signs *wire.Signs) {
	switch signs.Message() {
	case wire.Request: // from now on the server waits for its client
		x.asked(signs.ID)
	case wire.Notification:
		switch string(signs.Method) {
		case wire.MethodProgress:
			x.deadline.alive()
		case wire.MethodToolsChanged:
			x.s.tools.changed(x.listKey())
		}
	case wire.Invalid, wire.Response:
	}
}

// asked notes that the server asks its client something. Without a session nothing
// tells which answer is the client's.
func (x *exchange) asked(id wire.ID) {
	if x.session == nil {
		x.deadline.suspend()
		return
	}
	x.asks = true
	x.session.questions.ask(id, x.deadline)
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

// answer deals with the event that holds the answer.
func (l *relay) answer(event *wire.Event) {
	if l.translate(event.Data) {
		return
	}
	raw := withoutComments(event.Raw)
	if text := l.passed(event.Data); !bytes.Equal(text, event.Data) {
		raw = wire.AppendEvent(nil, string(event.ID), string(event.Type), text)
	}
	l.forward(l.resp, raw)
}

// large deals with an event that is larger than the window, of which this is the
// first piece, or with half of one that the stream ends in.
func (l *relay) large(first *wire.Event) (done bool, e *recourse.Error) {
	piece := *first
	piece.Raw, piece.Data = bytes.Clone(first.Raw), bytes.Clone(first.Data)
	if l.unspeakable() {
		return l.dropRest()
	}
	if !l.s.observes() && l.beginsFailed(piece.Data) {
		return true, l.failedEvent(&piece)
	}
	second, err := l.reader.Next()
	if err != nil {
		if l.s.observes() {
			l.forward(l.resp, piece.Raw)
		}
		l.resumable = false
		return true, l.ended(err)
	}
	signs := l.scan.Signs()
	isAnswer := signs.MethodAt.IsZero()
	switch {
	case !isAnswer || l.s.observes():
	case len(signs.ID) > 0 && !signs.ID.Equal(l.msg.ID):
		return true, l.bad(l.resp, errWrongID)
	case l.tooMuch(int64(len(piece.Data))):
		return true, l.tooLarge(l.resp)
	}
	if isAnswer && l.forged() {
		l.strip = recordPruner()
	}
	l.forwardPiece(&piece)
	l.passLarge(second, int64(len(piece.Data)), isAnswer)
	switch {
	case !isAnswer:
		return false, nil
	case l.s.observes():
		l.answered = true
		return false, nil
	}
	l.drain()
	return true, nil
}

// dropRest reads an event to its end and passes nothing of it on.
func (l *relay) dropRest() (done bool, e *recourse.Error) {
	for {
		event, err := l.reader.Next()
		switch {
		case err != nil:
			return true, l.ended(err)
		case event.Complete:
			return false, nil
		}
	}
}

// passLarge passes the pieces of an event on from the second one, with total bytes
// of data before it.
func (l *relay) passLarge(event *wire.Event, total int64, isAnswer bool) {
	for {
		total += int64(len(event.Data))
		if err := l.pass(event.Data, total); err != nil && isAnswer {
			l.abort(err)
		}
		l.deadline.alive()
		l.forwardPiece(event)
		if event.Complete {
			break
		}
		var err error
		if event, err = l.reader.Next(); err != nil {
			l.abort(l.s.up.Broken(l.ctx, err))
		}
	}
	if isAnswer {
		l.finish()
	}
}

// forwardPiece sends a piece of a large event on.
func (l *relay) forwardPiece(event *wire.Event) {
	if l.strip == nil {
		l.forward(l.resp, event.Raw)
		return
	}
	l.forward(l.resp, strippedEvent(l.strip, event))
}

// ended deals with a stream that ends without an answer. A server of the legacy era may
// close a stream on purpose: its client resumes it with a GET.
func (l *relay) ended(err error) *recourse.Error {
	clean := errors.Is(err, io.EOF)
	var e *recourse.Error
	switch {
	case !clean && !errors.Is(err, wire.ErrUnfinishedEvent):
		e = l.s.up.Broken(l.ctx, err)
	case l.wrong != nil:
		e = l.bad(l.resp, l.wrong)
	default:
		e = l.bad(l.resp, errNoMessage).WithMessage("%s ended its answer without a result.", l.s.Title)
	}
	switch {
	case l.resumable && l.era == wire.Legacy && l.wrong == nil && clean:
		l.startEvents(l.resp)
		return nil
	case !l.s.observes():
		return e
	}
	l.startEvents(l.resp)
	if e.Kind != recourse.KindBadResponse {
		l.abort(e)
	}
	l.observe(e)
	return nil
}

// restEnded deals with the end of a stream that was passed on beyond its answer.
func (l *relay) restEnded(err error) *recourse.Error {
	if !errors.Is(err, io.EOF) {
		panic(http.ErrAbortHandler) //nolint:forbidigo // net/http's way to show the client what the gateway sees
	}
	return nil
}

// drain reads what a server still sends after its answer: the end of the stream, or
// a second answer, which is dropped.
func (l *relay) drain() {
	timer := time.AfterFunc(drainTimeout, func() { _ = l.resp.Body.Close() }) // nothing of it is wanted
	defer timer.Stop()
	for more := 0; more < int(l.table.config.DecideWithin); {
		event, err := l.reader.Next()
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
		release := context.AfterFunc(x.s.streams, cancel)
		x.stop()
		x.ctx, x.stop = ctx, func() { release(); cancel() }
		x.leave()
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
	release := context.AfterFunc(x.s.streams, func() { _ = resp.Body.Close() }) // ends the reading
	defer release()
	x.leave()
	x.startEvents(resp)
	_ = http.NewResponseController(x.w).Flush()
	reader := x.eventsOf(resp)
	dropped := false
	for {
		event, err := reader.Next()
		if err != nil {
			return
		}
		if bytes.Contains(event.Data, []byte(wire.MethodToolsChanged)) {
			x.s.tools.changed(x.listKey())
		}
		if event.First {
			dropped = x.dropsLong(event)
		}
		if dropped {
			continue
		}
		x.mask = nil // the stream has no end: each message has a budget of its own
		x.forward(resp, x.spoken(event, x.strippedMessage(event)))
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
