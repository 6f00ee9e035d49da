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

// A turn is a client's request about a call, and its answer: the call's result, or a question. It is what that
// answer consists of.
type turn struct {
	c     *exchange
	id    wire.ID
	token []byte // the client's progress token; nil: no progress is wanted
	level wire.LogLevel
	stop  func() bool // makes the call independent of the client's request

	first *wire.Part // of what the client gets, if it is known already
	err   error      // how reading ends after that

	isStream bool         // other messages may come before the answer
	of       *eventReader // where the call's answer is; nil: it has not begun
	answer   *wire.Part   // its first piece; nil: it is yet to be read
	rewriter wire.Rewriter
	part     wire.Part // of the answer in the client's form
	room     []byte    // the memory of its data
	whole    bool      // the answer has been read

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
	t.first = t.next()
	switch {
	case t.asked.Load():
		return wire.RespondMessage(t.first.Data, nil), nil
	case t.of == nil && t.err != nil:
		t.stop()
		t.c.end(errNotWanted)
		return nil, t.err
	}
	resp := wire.RespondParts(t, t)
	if t.isStream = t.of == nil || t.of.resp.Stream; !t.isStream {
		resp.Status, resp.Header, resp.Stream = t.of.resp.Status, peer.AnswerHeader(t.of.resp.Header), false
	}
	return resp, nil
}

// next returns the next message for the client before the answer, or nil if the answer has begun or there
// will be none.
func (t *turn) next() *wire.Part {
	for {
		var part *wire.Part
		select {
		case s := <-t.c.said:
			switch {
			case s.question != nil:
				part = t.ask(s.question)
			case s.notice != nil:
				part = t.notice(&s)
			default:
				part = s.part()
			}
		case e := <-t.c.ending:
			t.end(e)
			return nil
		case <-t.c.ctx.Done():
			t.end(ending{err: t.c.s.srv.p.Broken(t.c.ctx, context.Cause(t.c.ctx))})
			return nil
		}
		if part != nil {
			return part
		}
	}
}

func (t *turn) end(e ending) {
	t.over.Store(true)
	t.of, t.answer, t.err = e.of, e.answer, e.err
	if t.of == nil || t.err != nil {
		return
	}
	if t.isStream && t.of.resp.Status != http.StatusOK { // it is too late to pass the status on
		t.err = t.c.s.srv.p.Refused(t.of.resp)
		return
	}
	t.rewriter.ToModern(t.c.id, t.id, peer.Cacheable(t.c.method))
}

// notice returns a notification in the client's form, or nil if the client does not get it.
func (t *turn) notice(s *said) *wire.Part {
	switch m := s.notice; {
	case m.Method == wire.MethodProgress && t.token != nil && wire.ID(m.ProgressToken).Equal(t.c.id):
		return s.part(wire.Edit{At: m.ProgressTokenAt, With: t.token})
	case m.Method == wire.MethodLog && t.c.s.srv.p.Program && t.c.s.key.of.IsAnonymous():
		return nil // a program says it on behalf of any call
	case m.Method == wire.MethodLog && t.level > 0 && wire.LogLevelOf(json.Text(m.Params, "/level")) >= t.level:
		return s.part()
	default: // it is about somebody else, or not wanted
		return nil
	}
}

// ask makes a question the answer of the turn, or returns nil if it cannot be asked.
func (t *turn) ask(q *question) *wire.Part {
	state, ok := t.c.s.srv.keepCall(t.c, q)
	switch {
	case !ok:
		t.c.s.refuse(t.c.at, q.id, errManyQuestions)
		return nil
	case !t.stop(): // the client has gone, and so has the call
		t.c.s.srv.take(t.c)
		return nil
	}
	t.asked.Store(true)
	t.err = io.EOF
	part := wire.Whole(q.ask(t.id, state))
	return &part
}

// Next implements [wire.Parts].
func (t *turn) Next() (*wire.Part, error) {
	if part := t.first; part != nil {
		t.first = nil
		return part, nil
	}
	for t.err == nil {
		if t.of != nil {
			if part := t.readOn(); part != nil {
				return part, nil
			}
		} else if part := t.next(); part != nil {
			return part, nil
		}
	}
	return nil, t.why()
}

// why returns why reading ends. If the call was given up, that is the reason: a server that was notified may
// end its answer first, which must not look like a complete one.
func (t *turn) why() error {
	if cause := context.Cause(t.c.ctx); cause != nil && !t.asked.Load() {
		return cause
	}
	return t.err
}

// readOn returns the next piece of the answer in the client's form. After the last one, it reads to the end of its stream.
func (t *turn) readOn() *wire.Part {
	part := t.answer
	t.answer = nil
	if part == nil {
		part, t.err = t.of.messages.Next()
	}
	if part == nil || t.whole {
		return nil
	}
	t.room = t.rewriter.Append(t.room[:0], part.Data)
	if t.whole = t.err == nil && part.Complete; t.whole || t.err != nil {
		t.room = t.rewriter.Close(t.room)
	}
	if t.isStream {
		wire.OneLine(t.room)
	}
	t.part = wire.Whole(t.room)
	t.part.First, t.part.Complete = part.First, t.whole
	return &t.part
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

var _ wire.Parts = (*turn)(nil)
