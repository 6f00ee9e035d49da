package legacy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream/bridge/peer"
)

// A turn is a client's request about a call, and its answer: the call's result, or a question. It is the body
// of that answer.
type turn struct {
	c     *exchange
	id    wire.ID
	token []byte // the client's progress token; nil: no progress is wanted
	level wire.LogLevel
	stop  func() bool // makes the call independent of the client's request

	out []byte // out[at:] is not read yet
	at  int
	err error // how reading ends after that

	isEvents bool         // the answer is an event stream, and not one JSON text
	of       *eventReader // where the call's answer is; nil: it has not begun
	passage  wire.Passage // of that
	whole    bool         // it has been read

	// For Close, which may be called while another goroutine reads:
	asked atomic.Bool // the turn ended with a question: the call belongs to the next turn
	over  atomic.Bool // the call ended: its answer has begun, or there will be none
}

// turn begins a turn. When ctx ends, so does the call.
func (c *exchange) turn(ctx context.Context, m *wire.Message) *turn {
	t := &turn{c: c, id: m.ID.Clone(), level: wire.LogLevelOf(m.LogLevel)}
	if len(m.ProgressToken) > 0 {
		t.token = bytes.Clone(m.ProgressToken)
	}
	t.stop = context.AfterFunc(ctx, func() { c.giveUp(context.Cause(ctx)) })
	return t
}

// begin returns the answer as soon as its form is known.
func (t *turn) begin() (*wire.Answer, error) {
	text := t.next()
	switch {
	case t.asked.Load():
		return wire.Respond(http.StatusOK, text), nil
	case t.of == nil && t.err != nil:
		t.stop()
		t.c.end(errNotWanted)
		return nil, t.err
	case t.of != nil && !t.of.resp.Stream:
		resp := wire.RespondText(t)
		resp.Status, resp.Header = t.of.resp.Status, peer.AnswerHeader(t.of.resp.Header)
		return resp, nil
	case text != nil:
		t.out = wire.AppendMessage(t.out, text)
	}
	t.isEvents = true
	return wire.RespondEvents(t), nil
}

// next returns the next message for the client before the answer, or nil if the answer has begun or there
// will be none.
func (t *turn) next() []byte {
	for {
		var text []byte
		select {
		case s := <-t.c.said:
			switch {
			case s.question != nil:
				text = t.ask(s.question)
			case s.notice != nil:
				text = t.notice(s.notice)
			default:
				text = s.text
			}
		case e := <-t.c.ending:
			t.end(e)
			return nil
		case <-t.c.ctx.Done():
			t.end(ending{err: t.c.s.srv.p.Broken(t.c.ctx, context.Cause(t.c.ctx))})
			return nil
		}
		if text != nil {
			return text
		}
	}
}

func (t *turn) end(e ending) {
	t.over.Store(true)
	t.of, t.err = e.of, e.err
	if t.of == nil || t.err != nil {
		return
	}
	if t.isEvents && t.of.resp.Status != http.StatusOK { // it is too late to pass the status on
		t.err = t.c.s.srv.p.Refused(t.of.resp)
		return
	}
	t.passage.ToModern(t.c.id, t.id, peer.Cacheable(t.c.method))
	t.passage.Begin(&t.of.messages, e.answer, t.isEvents || t.of.resp.Stream)
}

// notice returns a notification in the client's form, or nil if the client does not get it.
func (t *turn) notice(m *wire.Message) []byte {
	switch {
	case m.Method == wire.MethodProgress && t.token != nil && wire.ID(m.ProgressToken).Equal(t.c.id):
		return wire.Splice(nil, m.Raw, wire.Edit{At: m.ProgressTokenAt, With: t.token})
	case m.Method == wire.MethodLog && t.c.s.srv.p.Program && t.c.s.key.of.IsAnonymous():
		return nil // a program says it on behalf of any call
	case m.Method == wire.MethodLog && t.level > 0 && wire.LogLevelOf(json.Text(m.Params, "/level")) >= t.level:
		return m.Raw
	default: // it is about somebody else, or not wanted
		return nil
	}
}

// ask makes a question the answer of the turn, or returns nil if it cannot be asked.
func (t *turn) ask(q *question) []byte {
	state, ok := t.c.s.srv.keepCall(t.c, q)
	switch {
	case !ok:
		t.c.s.refuse(t.c.at, q.id, errManyQuestions)
		return nil
	case !t.stop(): // the client has gone, and so has the call
		t.c.s.srv.takeCall(t.c.hold)
		return nil
	}
	t.asked.Store(true)
	t.err = io.EOF
	return q.ask(t.id, state)
}

// Read implements io.Reader.
func (t *turn) Read(p []byte) (int, error) {
	for t.at == len(t.out) {
		if t.err != nil {
			return 0, t.why()
		}
		t.out, t.at = t.out[:0], 0
		if t.of != nil {
			t.readOn()
		} else if text := t.next(); text != nil {
			t.out = wire.AppendMessage(t.out, text)
		}
	}
	n := copy(p, t.out[t.at:])
	t.at += n
	return n, nil
}

// why returns why reading ends. If the call was given up, that is the reason: a server that was notified may
// end its answer first, which must not look like a complete one.
func (t *turn) why() error {
	if cause := context.Cause(t.c.ctx); cause != nil && !t.asked.Load() {
		return cause
	}
	return t.err
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

// Close implements io.Closer. A call that has not been answered is given up.
func (t *turn) Close() error {
	t.stop()
	switch {
	case t.asked.Load():
	case t.over.Load():
		t.c.end(errNotWanted)
	default:
		t.c.giveUp(errNotWanted)
	}
	return nil
}

var errNotWanted = errors.New("the answer is no longer needed")

var _ io.ReadCloser = (*turn)(nil)
