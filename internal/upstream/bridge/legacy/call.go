package legacy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge/peer"
)

// An exchange is a request that the bridge has made to the server. It takes several turns of the client if the
// server asks something meanwhile.
type exchange struct {
	s      *session
	at     *opened
	header http.Header
	id     wire.ID // at the server, where it is also the progress token
	method string
	body   []byte
	beside *upstream.Beside

	ctx    context.Context
	cancel context.CancelCauseFunc
	said   chan said   // messages from the server to the current turn
	ending chan ending // has room for one: the turn that reads it may not exist yet
	ended  atomic.Bool // it is known how: no question can be about the call any more
	once   sync.Once

	// While it is held; guarded by Bridge.mu:
	state    string // by which its client continues it; "": it has not been held
	expires  *time.Timer
	question *question // that the client has been asked
}

// said is one of the things that a server says before the answer.
type said struct {
	question *question     // a request to the client
	text     []byte        // anything else: its reader decides
	signs    *wire.Signs   // of text
	notice   *wire.Message // text, if it is a notification
}

// part returns the text for the client, with edits.
func (s *said) part(edits ...wire.Edit) *wire.Part {
	signs := s.signs.Edited(edits...)
	part := wire.Whole(wire.Splice(nil, s.text, edits...))
	wire.OneLine(part.Data)
	part.Signs = &signs
	return &part
}

// An ending is how a call ends.
type ending struct {
	of     *eventReader // where the answer is; nil: no answer has begun
	answer *wire.Part   // its first piece; nil: it is yet to be read
	err    error        // why there is none
}

// newCall makes a request in the session. The caller takes its first turn.
func (s *session) newCall(at *opened, r *upstream.Request) *exchange {
	m := r.Message
	c := &exchange{
		s: s, at: at, header: r.Header.Clone(), id: s.srv.p.NewID(), method: m.Method, beside: r.Beside,
		said: make(chan said), ending: make(chan ending, 1),
	}
	peer.WithoutEra(c.header)
	at.name(c.header)
	c.body = wire.Splice(nil, m.Raw, wire.Edit{At: m.IDAt, With: c.id}, wire.Edit{At: m.MetaAt, With: legacyMeta(m.Meta, c.id)})
	c.ctx, c.cancel = context.WithCancelCause(s.srv.p.Life())
	s.srv.stay(s)
	s.mu.Lock()
	s.calls[string(c.id)] = c
	s.mu.Unlock()
	s.srv.p.Background(func(context.Context) { c.run() })
	return c
}

func (c *exchange) run() {
	resp, err := c.s.post(c.ctx, c.header, c.body, c.beside)
	switch {
	case err != nil:
		c.ends(ending{err: err})
	case resp.Stream:
		c.listen(newHearing(c.own(resp)))
	default:
		c.ends(ending{of: newHearing(c.own(resp))})
	}
}

// ends tells the call's turn how it ends.
func (c *exchange) ends(e ending) {
	c.ended.Store(true)
	c.ending <- e
}

// own closes the answer when the call ends.
func (c *exchange) own(resp *wire.Answer) *wire.Answer {
	context.AfterFunc(c.ctx, func() { _ = resp.Close() }) // its reader finds out why
	return resp
}

// tell passes something to the client's turn, and waits for a turn until the call ends.
func (c *exchange) tell(s said) {
	select {
	case c.said <- s:
	case <-c.ctx.Done():
	}
}

// offer is tell for what is useless later: it does not wait long for a slow client.
func (c *exchange) offer(notice said) {
	ctx, cancel := context.WithTimeout(c.ctx, time.Second)
	defer cancel()
	select {
	case c.said <- notice:
	case <-ctx.Done():
	}
}

// listen reads an event stream up to the answer.
func (c *exchange) listen(l *eventReader) {
	for {
		part, err := l.next()
		switch {
		case err != nil && c.resume(l, err):
		case err != nil:
			c.ends(ending{of: l, err: err})
			return
		case part.Complete && (part.Kind == wire.Request || part.Kind == wire.Notification):
			c.hear(part)
		case part.Complete && part.Kind == wire.Response && !part.Signs.ID.Equal(c.id):
			edit := wire.Edit{At: part.Signs.IDAt, With: nobody}
			signs := part.Signs.Edited(edit)
			c.tell(said{text: wire.Splice(nil, part.Data, edit), signs: &signs})
		default:
			c.ends(ending{of: l, answer: part})
			return
		}
	}
}

// resume continues an event stream that the server has ended on purpose, if the server has said how (MCP
// 2025-11-25, basic/transports).
func (c *exchange) resume(l *eventReader, err error) bool {
	if !errors.Is(err, io.EOF) || l.lastID == "" || !pause.For(c.ctx, max(l.retry, streamFirst)) {
		return false
	}
	resp, err := c.s.without(c.ctx, http.MethodGet, c.at, l.lastID)
	if err != nil {
		return false
	}
	if !resp.Stream {
		drain(resp)
		return false
	}
	_ = l.resp.Close()
	l.lastID = "" // it is only resumed again after new messages
	l.open(c.own(resp))
	return true
}

// nobody is the id of an answer that is not to the client's request.
var nobody = wire.ID("null")

// heard returns a notification, in memory of its own.
func heard(part *wire.Part) said {
	signs := part.Signs.Edited()
	s := said{text: bytes.Clone(part.Data), signs: &signs, notice: new(wire.Message)}
	if wire.Parse(s.text, s.notice) != nil {
		s.notice = nil
	}
	return s
}

func (c *exchange) hear(part *wire.Part) {
	if part.Kind == wire.Notification {
		if c.s.srv.isHeld(c) { // there is nobody to tell
			return
		}
		c.tell(heard(part))
		return
	}
	about := c
	if c.s.srv.p.Program {
		about = c.s.askable()
	}
	if q := c.s.asked(c.at, about, part); q != nil {
		about.tell(said{question: q})
	}
}

// end forgets the call. It reports false if that was done before.
func (c *exchange) end(cause error) (ended bool) {
	c.once.Do(func() {
		ended = true
		c.cancel(cause)
		c.s.mu.Lock()
		delete(c.s.calls, string(c.id))
		c.s.mu.Unlock()
		c.s.srv.leave(c.s)
	})
	return ended
}

// giveUp ends a call without an answer, and notifies the server.
func (c *exchange) giveUp(cause error) {
	if c.end(cause) {
		c.s.srv.p.Background(c.cancelAtServer)
	}
}

func (c *exchange) cancelAtServer(ctx context.Context) {
	params := fmt.Appendf(nil, `{"requestId":%s,"reason":"the caller is no longer waiting"}`, c.id)
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	_ = c.s.tell(ctx, c.at, wire.AppendRequest(nil, nil, wire.MethodCancelled, params)) // the server may as well have gone
}
