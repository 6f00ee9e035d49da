package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
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
		return x.passStream(resp)
	}
	reader := wire.NewEventReader(resp.Body, int(x.g.config.DecideWithin))
	var wrong error // why a message was no answer
	resumable := false
	for {
		event, err := reader.Next()
		if err != nil {
			return x.streamEnded(resp, err, wrong, resumable)
		}
		resumable = resumable || len(event.ID) > 0
		if len(event.Data) == 0 && event.Complete {
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
				return x.streamEnded(resp, err, wrong, false)
			}
			if done, e := x.relayLarge(resp, reader, &piece, next); done {
				return e
			}
			continue
		}
		if err := x.scan.Close(); err != nil && !x.s.observes() {
			return x.bad(resp, err)
		}
		switch signs := x.scan.Signs(); {
		case signs.Message() != wire.Response:
			x.notice(signs)
			x.forward(resp, event.Raw)
		case !signs.ID.Equal(x.msg.ID) && !x.s.observes():
			wrong = errWrongID // and not the client's: it is dropped
		default:
			x.relayAnswer(resp, event)
			x.drainRest(resp, reader)
			return nil
		}
	}
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
	_, _ = x.w.Write(raw) // the client has gone: the context says so
	_ = http.NewResponseController(x.w).Flush()
}

func (x *exchange) startEvents(resp *http.Response) {
	if x.started {
		return
	}
	x.openSession(resp)
	x.copyHeader(resp.Header)
	x.started, x.events = true, true
	x.w.WriteHeader(http.StatusOK)
}

// relayAnswer deals with the event that holds the answer.
func (x *exchange) relayAnswer(resp *http.Response, event *wire.Event) {
	switch {
	case x.s.observes():
		x.forward(resp, event.Raw)
		x.observeAnswer(event.Data, nil)
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
	if isAnswer && len(signs.ID) > 0 && !signs.ID.Equal(x.msg.ID) && !x.s.observes() {
		return true, x.bad(resp, errWrongID)
	}
	total := int64(len(piece.Data))
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
	if err := x.finish(); err != nil {
		x.abort(err)
	}
	x.late()
	return true, nil
}

// streamEnded deals with a stream that ends without an answer. A server of the old
// era may close a stream whose events have ids: its client resumes it with a GET.
func (x *exchange) streamEnded(resp *http.Response, err, wrong error, resumable bool) *recourse.Error {
	clean := errors.Is(err, io.EOF) || errors.Is(err, wire.ErrUnfinishedEvent)
	switch {
	case !clean:
		return x.s.up.Broken(x.ctx, err)
	case x.s.observes(), resumable && x.era == wire.Old && wrong == nil && errors.Is(err, io.EOF):
		x.startEvents(resp)
		return nil
	case wrong != nil:
		return x.bad(resp, wrong)
	default:
		return x.bad(resp, errNoMessage).WithMessage("%s ended its answer without a result.", x.s.Title)
	}
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

// stream passes the GET stream of a session on.
func (x *exchange) stream() {
	x.rule.Timeout = x.s.Timeout
	ctx, d, stop := withDeadline(x.r.Context(), x.s.Timeout, x.s.Timeout, x.timedOut())
	x.ctx, x.deadline, x.stop = ctx, d, stop
	for renewed := false; ; renewed = true {
		header := x.upstreamHeader()
		delete(header, "Content-Type")
		header["Accept"] = acceptSSE
		generation := x.addSession(header)
		resp, err := x.s.up.Send(ctx, http.MethodGet, header, nil)
		if err != nil {
			e := recourse.From(err)
			x.refuse(statusOf(e), e)
			return
		}
		lost := resp.StatusCode == http.StatusNotFound && x.session != nil
		switch {
		case lost && !renewed && !x.s.observes() && x.session.renew(ctx, x, generation) == nil:
			_ = resp.Body.Close() // it was only read
			continue
		case resp.StatusCode == http.StatusOK && wire.IsMediaType(resp.Header.Get("Content-Type"), wire.TypeEventStream):
			_ = x.passStream(resp) // a stream that ends is no failure: the client opens it again
		default:
			x.passRefusal(resp)
		}
		_ = resp.Body.Close() // it was only read
		return
	}
}

// passRefusal answers for a server that does not give what was asked for, such as
// a GET stream (405) or the end of a session.
func (x *exchange) passRefusal(resp *http.Response) {
	if resp.StatusCode == http.StatusMethodNotAllowed || resp.StatusCode < http.StatusBadRequest || x.passesAuth(resp.StatusCode) {
		if resp.StatusCode == http.StatusMethodNotAllowed && resp.Header.Get("Allow") == "" {
			resp.Header.Set("Allow", http.MethodPost)
		}
		x.passOn(resp)
		return
	}
	if e := x.refusal(resp); e != nil {
		x.refuse(resp.StatusCode, e)
	}
}

// passStream passes a stream without an end of its own on, until either side or
// the gateway ends it. It has no deadline once it has begun.
func (x *exchange) passStream(resp *http.Response) *recourse.Error {
	x.deadline.timer.Stop()
	release := context.AfterFunc(x.g.streams, func() { _ = resp.Body.Close() }) // ends the reading
	defer release()
	x.startEvents(resp)
	_ = http.NewResponseController(x.w).Flush()
	reader := wire.NewEventReader(resp.Body, int(x.g.config.DecideWithin))
	for {
		event, err := reader.Next()
		if err != nil {
			return nil
		}
		if bytes.Contains(event.Data, []byte(wire.MethodToolsChanged)) {
			x.s.tools.changed(x.credentials())
		}
		x.forward(resp, event.Raw)
		if x.ctx.Err() != nil {
			return nil
		}
	}
}

// forwardDelete ends the session at the server. Whatever it says, the session is
// over here.
func (x *exchange) forwardDelete() {
	ctx, d, stop := withDeadline(x.r.Context(), x.s.Timeout, x.s.Timeout, x.timedOut())
	x.ctx, x.deadline, x.stop = ctx, d, stop
	header := x.upstreamHeader()
	delete(header, "Content-Type")
	x.addSession(header)
	resp, err := x.s.up.Send(ctx, http.MethodDelete, header, nil)
	if err != nil {
		e := recourse.From(err)
		x.refuse(statusOf(e), e)
		return
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	if x.session != nil && resp.StatusCode != http.StatusMethodNotAllowed {
		x.s.sessions.remove(x.session)
	}
	if resp.StatusCode == http.StatusNotFound { // it is over at the server as well
		x.w.WriteHeader(http.StatusNoContent)
		return
	}
	x.passRefusal(resp)
}
