package bridge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"

	"github.com/recoursehq/recourse/internal/wire"
)

// A turn is a request of the client about a call, and what it is answered with: the
// call's result, or a question. It is the body of an answer that is an event stream.
type turn struct {
	c     *legacyCall
	id    wire.ID
	token []byte // of progress, as the client spelled it; nil: it does not want any
	level wire.LogLevel
	stop  func() bool // ends the call's dependence on the client's request

	out []byte // not read yet from at on
	at  int
	err error // what reading ends with when out has been read

	rewriter *rewriter         // of the answer, once it has begun
	events   *wire.EventReader // with the rest of it
	whole    bool              // it has been read

	// Of these Close needs to know, which may be called while another goroutine reads.
	asked    atomic.Bool // the turn has ended with a question: the call is the next turn's
	answered atomic.Bool // the answer has begun, or none will come
	body     atomic.Pointer[http.Response]
}

// turn begins a turn of the client. When its ctx ends, so does the call.
func (c *legacyCall) turn(ctx context.Context, m *wire.Message) *turn {
	t := &turn{c: c, id: m.ID.Clone(), level: wire.LogLevelOf(m.LogLevel)}
	if len(m.ProgressToken) > 0 {
		t.token = bytes.Clone(m.ProgressToken)
	}
	t.stop = context.AfterFunc(ctx, func() { c.giveUp(context.Cause(ctx)) })
	return t
}

// next waits for what the server says.
func (t *turn) next() said {
	select {
	case s := <-t.c.said:
		return s
	case s := <-t.c.last:
		return s
	}
}

// begin returns the answer as soon as it is known in which form it comes.
func (t *turn) begin() (*http.Response, error) {
	for {
		s := t.next()
		switch {
		case s.err != nil && s.body == nil:
			t.stop()
			t.c.end(errNotWanted)
			return nil, s.err
		case s.resp != nil:
			return t.pass(s.resp), nil
		case s.question != nil:
			if text := t.ask(s.question); text != nil {
				return respond(http.StatusOK, text), nil
			}
		default:
			if t.take(s); len(t.out) > 0 || t.answered.Load() {
				return respondEvents(t), nil
			}
		}
	}
}

// pass makes an answer that is one JSON text that of the client.
func (t *turn) pass(resp *http.Response) *http.Response {
	t.begun(resp)
	body := newRewriting(t.newRewriter(), resp.Body)
	answer := *resp
	answer.Body = struct {
		io.Reader
		io.Closer
	}{body, t}
	answer.ContentLength = -1
	answer.Header = resp.Header.Clone()
	delete(answer.Header, "Content-Length")
	delete(answer.Header, wire.HeaderSession)
	return &answer
}

// begun notes that the answer has begun, in the body of resp.
func (t *turn) begun(resp *http.Response) {
	t.body.Store(resp)
	t.answered.Store(true)
}

func (t *turn) newRewriter() *rewriter {
	cacheable := cacheable(t.c.method)
	return newRewriter(t.c.id, t.id, func(signs *wire.Signs) []byte {
		var more []byte
		add := func(member string) {
			if more != nil {
				more = append(more, ',')
			}
			more = append(more, member...)
		}
		if signs.ResultType == nil {
			add(`"resultType":"complete"`)
		}
		if cacheable && !signs.TTL {
			add(`"ttlMs":0`)
		}
		if cacheable && !signs.CacheScope {
			add(`"cacheScope":"private"`)
		}
		return more
	})
}

// take makes of what the server says what the client reads.
func (t *turn) take(s said) {
	switch {
	case s.err != nil:
		t.begun(s.body)
		t.err = s.err
	case s.event != nil:
		t.begun(s.body)
		t.rewriter, t.events = t.newRewriter(), s.events
		t.rewrite(s.event)
	default:
		if text := t.notice(s.notice); text != nil {
			t.out = wire.AppendEvent(t.out, "", "message", text)
		}
	}
}

// rewrite passes an event that is the answer on, or a piece of it.
func (t *turn) rewrite(event *wire.Event) {
	if event.First {
		t.out = append(t.out, "event: message\ndata: "...)
	}
	from := len(t.out)
	t.out = t.rewriter.write(t.out, event.Data)
	if event.Complete {
		t.out = t.rewriter.end(t.out)
	}
	if lines := t.out[from:]; bytes.IndexByte(lines, '\n') >= 0 {
		t.out = append(t.out[:from], bytes.ReplaceAll(lines, []byte("\n"), []byte("\ndata: "))...)
	}
	if event.Complete {
		t.out, t.whole = append(t.out, "\n\n"...), true
	}
}

// notice returns a notification as the client gets it; nil: it does not.
func (t *turn) notice(text []byte) []byte {
	var m wire.Message
	if wire.Parse(text, &m) != nil {
		return text // such as an answer to nobody: that is for whoever reads this to judge
	}
	switch {
	case m.Method == wire.MethodProgress && t.token != nil && wire.ID(m.ProgressToken).Equal(t.c.id):
		return wire.Splice(nil, text, wire.Edit{At: m.ProgressTokenAt, With: t.token})
	case m.Method == wire.MethodLog && t.c.s.o.b.options.Program && t.c.s.key.of.isAnonymous():
		return nil // a program says it on any call's behalf
	case m.Method == wire.MethodLog && t.level > 0 && wire.LogLevelOf(param(text, "/level")) >= t.level:
		return text
	default: // it is about somebody else, or not wanted
		return nil
	}
}

// ask makes the server's question the client's answer; nil: it cannot be asked.
func (t *turn) ask(q *question) []byte {
	state, ok := t.c.s.o.keepCall(t.c, q)
	switch {
	case !ok:
		t.c.s.refuse(t.c.at, q.id, tooManyQuestions)
		return nil
	case !t.stop(): // the client has gone, and the call with it
		t.c.s.o.takeCall(t.c.hold)
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
		if t.events != nil {
			t.readOn()
			continue
		}
		s := t.next()
		if s.question == nil {
			t.take(s)
			continue
		}
		if text := t.ask(s.question); text != nil {
			t.out = wire.AppendEvent(t.out, "", "message", text)
		}
	}
	n := copy(p, t.out[t.at:])
	t.at += n
	return n, nil
}

// readOn reads the rest of the answer, and drops what follows it.
func (t *turn) readOn() {
	event, err := t.events.Next()
	switch {
	case err != nil:
		t.err = err
	case !t.whole:
		t.rewrite(event)
	}
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

var errNotWanted = errors.New("the answer is not wanted any more")

var _ io.ReadCloser = (*turn)(nil)
