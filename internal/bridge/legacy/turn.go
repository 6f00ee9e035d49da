package legacy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/recoursehq/recourse/internal/bridge/peer"
	"github.com/recoursehq/recourse/internal/wire"
)

// A turn is a request of the client about a call, and its answer: the call's result, or a
// question. It is the body of an answer that is an event stream.
type turn struct {
	c     *call
	id    wire.ID
	token []byte // of progress, as the client spelled it; nil: none is wanted
	level wire.LogLevel
	stop  func() bool // ends the call's dependence on the client's request

	out []byte // out[at:] is not read yet
	at  int
	err error // with which reading ends after that

	passage wire.Passage // of the answer, once it has begun
	of      *hearing     // where that stands; nil before
	whole   bool         // it has been read

	// For Close, which may be called while another goroutine reads:
	asked    atomic.Bool // the turn has ended with a question: the call is the next turn's
	answered atomic.Bool // the answer has begun, or none will come
	body     atomic.Pointer[http.Response]
}

// turn begins a turn. When ctx ends, so does the call.
func (c *call) turn(ctx context.Context, m *wire.Message) *turn {
	t := &turn{c: c, id: m.ID.Clone(), level: wire.LogLevelOf(m.LogLevel)}
	if len(m.ProgressToken) > 0 {
		t.token = bytes.Clone(m.ProgressToken)
	}
	t.stop = context.AfterFunc(ctx, func() { c.giveUp(context.Cause(ctx)) })
	return t
}

func (t *turn) next() said {
	select {
	case s := <-t.c.said:
		return s
	case s := <-t.c.last:
		return s
	}
}

// begin returns the answer as soon as its form is known.
func (t *turn) begin() (*http.Response, error) {
	for {
		s := t.next()
		switch {
		case s.err != nil && s.of == nil:
			t.stop()
			t.c.end(errNotWanted)
			return nil, s.err
		case s.resp != nil:
			return t.text(s.resp), nil
		case s.question != nil:
			if text := t.ask(s.question); text != nil {
				return wire.Respond(http.StatusOK, text), nil
			}
		default:
			if t.take(s); len(t.out) > 0 || t.answered.Load() {
				return wire.RespondEvents(t), nil
			}
		}
	}
}

// text turns an answer that is one JSON text into the client's.
func (t *turn) text(resp *http.Response) *http.Response {
	t.pass(newHearing(resp), nil, false)
	answer := *resp
	answer.Body = t
	answer.ContentLength = -1
	answer.Header = resp.Header.Clone()
	delete(answer.Header, "Content-Length")
	delete(answer.Header, wire.HeaderSession)
	return &answer
}

// take turns what the server says into what the client reads.
func (t *turn) take(s said) {
	switch {
	case s.err != nil:
		t.begun(s.of)
		t.err = s.err
	case s.answer != nil:
		t.pass(s.of, s.answer, true)
	default:
		if text := t.notice(s.notice); text != nil {
			t.out = wire.AppendMessage(t.out, text)
		}
	}
}

// begun notes that the answer stands in what l hears.
func (t *turn) begun(l *hearing) {
	t.body.Store(l.resp)
	t.answered.Store(true)
}

// pass begins to pass the answer on. part is its first piece; nil: that is to be read.
func (t *turn) pass(l *hearing, part *wire.Part, asEvent bool) {
	t.begun(l)
	t.of = l
	t.passage.ToModern(t.c.id, t.id, peer.Cacheable(t.c.method))
	t.passage.Begin(&l.messages, part, asEvent)
	if part != nil {
		t.readOn()
	}
}

// notice returns a notification as the client gets it; nil: it does not get it.
func (t *turn) notice(text []byte) []byte {
	var m wire.Message
	if wire.Parse(text, &m) != nil {
		return text // such as an answer to nobody: that is for whoever reads this to judge
	}
	switch {
	case m.Method == wire.MethodProgress && t.token != nil && wire.ID(m.ProgressToken).Equal(t.c.id):
		return wire.Splice(nil, text, wire.Edit{At: m.ProgressTokenAt, With: t.token})
	case m.Method == wire.MethodLog && t.c.s.srv.p.Program && t.c.s.key.of.IsAnonymous():
		return nil // a program says it on any call's behalf
	case m.Method == wire.MethodLog && t.level > 0 && wire.LogLevelOf(param(text, "/level")) >= t.level:
		return text
	default: // it is about somebody else, or not wanted
		return nil
	}
}

// ask makes a question the answer of the turn; nil: it cannot be asked.
func (t *turn) ask(q *question) []byte {
	state, ok := t.c.s.srv.keepCall(t.c, q)
	switch {
	case !ok:
		t.c.s.refuse(t.c.at, q.id, errManyQuestions)
		return nil
	case !t.stop(): // the client has gone, and the call with it
		t.c.s.srv.takeCall(t.c.hold)
		return nil
	}
	t.asked.Store(true)
	t.err = io.EOF
	return q.ask(t.id, state)
}

// Read implements io.Reader for an answer that is an event stream.
func (t *turn) Read(p []byte) (int, error) {
	for t.at == len(t.out) {
		if t.err != nil {
			return 0, t.err
		}
		t.out, t.at = t.out[:0], 0
		if t.of != nil {
			t.readOn()
			continue
		}
		s := t.next()
		if s.question == nil {
			t.take(s)
			continue
		}
		if text := t.ask(s.question); text != nil {
			t.out = wire.AppendMessage(t.out, text)
		}
	}
	n := copy(p, t.out[t.at:])
	t.at += n
	return n, nil
}

// readOn reads more of the answer, and then to the end of its stream.
func (t *turn) readOn() {
	if t.whole {
		_, t.err = t.of.messages.Next()
		return
	}
	var piece []byte
	piece, t.whole, t.err = t.passage.Next()
	t.out = append(t.out, piece...)
}

// Close implements io.Closer. A call whose answer has not come is given up.
func (t *turn) Close() error {
	t.stop()
	switch {
	case t.asked.Load():
		return nil
	case t.answered.Load():
		t.c.end(errNotWanted)
		return t.body.Load().Body.Close()
	default:
		t.c.giveUp(errNotWanted)
		return nil
	}
}

var errNotWanted = errors.New("the answer is no longer needed")

var _ io.ReadCloser = (*turn)(nil)
