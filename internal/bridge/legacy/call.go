package legacy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/bridge/peer"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

// An call is a request that the bridge has made at a server of the legacy era. It may
// take several turns of the client, since the server may ask something meanwhile.
type call struct {
	s      *session
	at     *opened
	header http.Header
	id     wire.ID // at the server, where it is the progress token as well
	method string
	name   string // of the tool, prompt or resource
	body   []byte

	ctx    context.Context //nolint:containedctx // the call outlives the client's requests
	cancel context.CancelCauseFunc
	said   chan said // what the server says, to the turn that there is
	last   chan said // the end of a call that nobody could be told of before
	once   sync.Once

	// While it is held, guarded by Server.mu:
	hold     int64 // 0: it is not
	expires  *time.Timer
	question *question // that the client has been asked
}

// said is what a server says of a call: one of these.
type said struct {
	notice   []byte         // a notification, or an answer to something else
	question *question      // a request to the client
	resp     *http.Response // the answer, which is no event stream
	answer   *wire.Part     // the answer, or its first piece; of has the rest
	of       *hearing
	err      error // the request has failed, or what of hears has ended
}

// newCall makes a request in the session. Its first turn has to be taken.
func (s *session) newCall(at *opened, r *upstream.Request) *call {
	m := r.Message
	c := &call{
		s: s, at: at, header: r.Header.Clone(), id: s.o.newID(), method: m.Method, name: m.Name,
		said: make(chan said), last: make(chan said, 1),
	}
	peer.WithoutEra(c.header)
	at.name(c.header)
	c.body = wire.Splice(nil, m.Raw, wire.Edit{At: m.IDAt, With: c.id}, wire.Edit{At: m.MetaAt, With: legacyMeta(m.Meta, c.id)})
	c.ctx, c.cancel = context.WithCancelCause(s.o.p.Life)
	s.o.stay(s)
	s.mu.Lock()
	s.calls[string(c.id)] = c
	s.mu.Unlock()
	s.o.p.Background(func(context.Context) { c.run() })
	return c
}

// run sends the request and listens to what the server says, up to its answer.
func (c *call) run() {
	resp, err := c.s.post(c.ctx, c.header, c.body)
	if err == nil {
		resp.Body = &abandonable{resp.Body, c.ctx}
	}
	switch {
	case err != nil:
		c.last <- said{err: err}
	case !wire.IsEvents(resp):
		if !c.tell(said{resp: resp}) {
			_ = resp.Body.Close()
			c.last <- said{err: c.s.o.p.Broken(c.ctx, context.Cause(c.ctx))}
		}
	default:
		c.listen(newHearing(resp))
	}
}

// An abandonable is the body of an answer that ends with its call: a server which is told
// that nobody waits may end its answer before it can be seen that it was abandoned.
type abandonable struct {
	io.ReadCloser

	ctx context.Context //nolint:containedctx // that of the call
}

// Read implements io.Reader.
func (a *abandonable) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && a.ctx.Err() != nil {
		err = context.Cause(a.ctx)
	}
	return n, err
}

// tell hands something to the client's turn, and waits for one where there is none. It
// reports false when the call has ended.
func (c *call) tell(s said) bool {
	select {
	case c.said <- s:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// offer is tell for what is of no use later: the server's other messages do not wait for
// a client that is slow.
func (c *call) offer(notice []byte) {
	const patience = time.Second
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case c.said <- said{notice: notice}:
	case <-c.ctx.Done():
	case <-timer.C:
	}
}

// listen reads the event stream that the answer is the last part of.
func (c *call) listen(l *hearing) {
	for {
		part, err := l.next()
		switch {
		case err != nil:
			if c.resume(l, err) {
				continue
			}
			c.last <- said{err: err, of: l}
			return
		case part.Complete && (part.Kind == wire.Request || part.Kind == wire.Notification):
			c.hear(l, part)
			continue
		case part.Complete && part.Kind == wire.Response && !part.Signs.ID.Equal(c.id):
			if c.tell(said{notice: wire.SpliceID(nil, part.Data, part.Signs.IDAt, nobody)}) {
				continue
			}
		}
		if !c.tell(said{answer: part, of: l}) {
			_ = l.resp.Body.Close()
			c.last <- said{err: context.Cause(c.ctx), of: l}
		}
		return
	}
}

// resume opens the event stream again where it has ended, if the server has told how:
// it may end a stream on purpose (MCP 2025-11-25, basic/transports).
func (c *call) resume(l *hearing, err error) bool {
	if !errors.Is(err, io.EOF) || l.lastID == "" || !pause.For(c.ctx, max(l.retry, streamFirst)) {
		return false
	}
	resp, err := c.s.without(c.ctx, http.MethodGet, c.at, l.lastID)
	if err != nil {
		return false
	}
	if !wire.IsEvents(resp) {
		drain(resp)
		return false
	}
	_ = l.resp.Body.Close()
	resp.Body = &abandonable{resp.Body, c.ctx}
	l.lastID = "" // only what comes now is a reason to come back
	l.open(resp)
	return true
}

// nobody is the id of an answer to nothing that the client has asked.
var nobody = wire.ID("null")

// hear deals with what the server says before its answer.
func (c *call) hear(l *hearing, part *wire.Part) {
	if part.Kind == wire.Notification {
		if !c.s.o.isHeld(c) { // else there is nobody to tell
			c.tell(said{notice: bytes.Clone(l.text)})
		}
		return
	}
	about := c
	if c.s.o.p.Program {
		about = c.s.onlyOwn()
	}
	if q := c.s.asked(c.at, about, l.text, part.Signs); q != nil {
		about.tell(said{question: q})
	}
}

// A hearing is what a server says in an answer or on a stream, message by message.
type hearing struct {
	resp     *http.Response
	messages wire.MessageReader
	text     []byte // the message, when it is whole

	lastID string        // of an event: where the stream goes on when it is opened again
	retry  time.Duration // after which it may be
}

const (
	// maxHeard bounds a message of a server that is no answer, in bytes.
	maxHeard = 4 << 20
	// maxRetry bounds the time after which a stream is opened again.
	maxRetry = 5 * time.Minute
)

// errUnheard ends a stream on which a message is too long, or none after all.
var errUnheard = fmt.Errorf("a message on a stream cannot be read: %w", wire.ErrUnfinishedEvent)

func newHearing(resp *http.Response) *hearing {
	l := new(hearing)
	l.open(resp)
	return l
}

// open goes on with another answer.
func (l *hearing) open(resp *http.Response) {
	l.resp = resp
	l.messages.Reset(resp.Body, wire.IsEvents(resp), resp.ContentLength, 0)
}

// next returns the next message, or the first piece of one that is large and may be an
// answer.
func (l *hearing) next() (*wire.Part, error) {
	for {
		part, err := l.messages.Next()
		if err != nil {
			return nil, err
		}
		l.note(part)
		if part.Other {
			continue
		}
		l.text = part.Data
		if part.Complete || part.Err != nil || part.Signs.MethodAt.IsZero() {
			return part, nil //nolint:nilerr // whoever gets the part sees what is wrong with it
		}
		switch l.text, err = l.messages.Rest(part, maxHeard); {
		case errors.Is(err, wire.ErrTooLong), err == nil && part.Kind == wire.Invalid:
			return nil, errUnheard
		case err != nil:
			return nil, err
		}
		l.note(part)
		return part, nil
	}
}

// note remembers how the stream can be opened again.
func (l *hearing) note(part *wire.Part) {
	if part.HasID {
		l.lastID = string(part.ID)
	}
	if part.Retry >= 0 {
		l.retry = min(part.Retry, maxRetry)
	}
}

// end forgets the call, which is answered, or of no interest any more. It reports
// whether that is new.
func (c *call) end(cause error) (ended bool) {
	c.once.Do(func() {
		ended = true
		c.cancel(cause)
		c.s.mu.Lock()
		delete(c.s.calls, string(c.id))
		c.s.mu.Unlock()
		c.s.o.leave(c.s)
	})
	return ended
}

// giveUp ends a call that is not answered, and tells the server.
func (c *call) giveUp(cause error) {
	if c.end(cause) {
		c.s.o.p.Background(c.cancelAtServer)
	}
}

// cancelAtServer tells the server that nobody waits for its answer.
func (c *call) cancelAtServer(ctx context.Context) {
	params := fmt.Appendf(nil, `{"requestId":%s,"reason":"the caller does not wait any longer"}`, c.id)
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	_ = c.s.tell(ctx, c.at, wire.AppendRequest(nil, nil, wire.MethodCancelled, params)) // the server may as well have gone
}
