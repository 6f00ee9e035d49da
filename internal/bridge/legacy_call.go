package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/wire"
)

// An legacyCall is a request that the bridge has made at a server of the legacy era. It may
// take several turns of the client, since the server may ask something meanwhile.
type legacyCall struct {
	s      *legacySession
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

	// While it is held, guarded by legacyServer.mu:
	hold     int64 // 0: it is not
	expires  *time.Timer
	question *question // that the client has been asked
}

// said is what a server says of a call: one of these.
type said struct {
	notice   []byte         // a notification, or an answer to something else
	question *question      // a request to the client
	resp     *http.Response // the answer, which is no event stream
	events   *wire.EventReader
	event    *wire.Event // the answer, or its first piece; events has the rest
	body     *http.Response
	err      error // the request has failed, or the event stream of body has ended
}

// newCall makes a request in the session. Its first turn has to be taken.
func (s *legacySession) newCall(at *opened, header http.Header, m *wire.Message) *legacyCall {
	c := &legacyCall{
		s: s, at: at, header: header.Clone(), id: s.o.newID(), method: m.Method, name: m.Name,
		said: make(chan said), last: make(chan said, 1),
	}
	withoutEra(c.header)
	at.name(c.header)
	c.body = wire.Splice(nil, m.Raw, wire.Edit{At: m.IDAt, With: c.id}, wire.Edit{At: m.MetaAt, With: legacyMeta(m.Meta, c.id)})
	c.ctx, c.cancel = context.WithCancelCause(s.o.b.life)
	s.o.stay(s)
	s.mu.Lock()
	s.calls[string(c.id)] = c
	s.mu.Unlock()
	s.o.b.background(func(context.Context) { c.run() })
	return c
}

// run sends the request and listens to what the server says, up to its answer.
func (c *legacyCall) run() {
	resp, err := c.s.o.b.next.Send(c.ctx, http.MethodPost, c.header, c.body)
	if err == nil {
		resp.Body = &abandonable{resp.Body, c.ctx}
	}
	switch {
	case err != nil:
		c.last <- said{err: err}
	case !isEvents(resp):
		if !c.tell(said{resp: resp}) {
			_ = resp.Body.Close()
			c.last <- said{err: c.s.o.b.Broken(c.ctx, context.Cause(c.ctx))}
		}
	default:
		c.listen(resp)
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
func (c *legacyCall) tell(s said) bool {
	select {
	case c.said <- s:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// offer is tell for what is of no use later: the server's other messages do not wait for
// a client that is slow.
func (c *legacyCall) offer(notice []byte) {
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
func (c *legacyCall) listen(resp *http.Response) {
	l := &hearing{events: wire.NewEventReader(resp.Body, 0)}
	for {
		event, err := l.next()
		switch {
		case err != nil:
			if again := c.resume(l, err); again != nil {
				_ = resp.Body.Close()
				resp = again
				continue
			}
			c.last <- said{err: err, body: resp}
			return
		case event.Complete && l.kind != wire.Response && l.kind != wire.Invalid:
			c.hear(l)
			continue
		case event.Complete && l.kind == wire.Response && !l.scan.Signs().ID.Equal(c.id):
			text := wire.SpliceID(nil, event.Data, l.scan.Signs().IDAt, nobody)
			if c.tell(said{notice: text}) {
				continue
			}
		case c.tell(said{events: l.events, event: event, body: resp}):
			return
		}
		_ = resp.Body.Close()
		c.last <- said{err: context.Cause(c.ctx), body: resp}
		return
	}
}

// resume opens the event stream again where it has ended, if the server has told how:
// it may end a stream on purpose (MCP 2025-11-25, basic/transports). It returns nil when
// it has not, or does not give it.
func (c *legacyCall) resume(l *hearing, err error) *http.Response {
	if !errors.Is(err, io.EOF) || l.lastID == "" || !pause(c.ctx, max(l.retry, streamFirst)) {
		return nil
	}
	h := c.s.headerAt(c.at)
	delete(h, "Content-Type")
	h[wire.HeaderLastEventID] = []string{l.lastID}
	l.lastID = "" // only what comes now is a reason to come back
	resp, err := c.s.o.b.next.Send(c.ctx, http.MethodGet, h, nil)
	if err != nil {
		return nil
	}
	if !isEvents(resp) {
		drain(resp)
		return nil
	}
	resp.Body = &abandonable{resp.Body, c.ctx}
	l.events = wire.NewEventReader(resp.Body, 0)
	return resp
}

// pause waits, and reports false when ctx ends meanwhile.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// nobody is the id of an answer to nothing that the client has asked.
var nobody = wire.ID("null")

// hear deals with what the server says before its answer.
func (c *legacyCall) hear(l *hearing) {
	if l.kind == wire.Notification {
		if !c.s.o.isHeld(c) { // else there is nobody to tell
			c.tell(said{notice: bytes.Clone(l.text)})
		}
		return
	}
	about := c
	if c.s.o.b.options.Program {
		about = c.s.onlyOwn()
	}
	if q := c.s.asked(c.at, about, l); q != nil {
		about.tell(said{question: q})
	}
}

// A hearing is what a server says on an event stream, message by message.
type hearing struct {
	events *wire.EventReader
	scan   wire.Scanner
	kind   wire.Kind // of the message
	text   []byte    // the message, when it is whole

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

// next returns the next event that holds a message, or the first piece of one that is
// large and may be an answer.
func (l *hearing) next() (*wire.Event, error) {
	for {
		event, err := l.events.Next()
		if err != nil {
			return nil, err
		}
		l.note(event)
		if event.Complete && (len(event.Data) == 0 || len(event.Type) > 0 && string(event.Type) != "message") {
			continue
		}
		l.scan.Reset()
		_, err = l.scan.Write(event.Data)
		if err == nil && event.Complete {
			err = l.scan.Close()
		}
		l.text, l.kind = event.Data, l.scan.Signs().Message()
		switch {
		case err != nil:
			l.kind = wire.Invalid
		case !event.Complete && !l.scan.Signs().MethodAt.IsZero():
			if event, err = l.collect(event); err != nil {
				return nil, err
			}
		}
		return event, nil
	}
}

// note remembers how the stream can be opened again.
func (l *hearing) note(event *wire.Event) {
	if event.HasID {
		l.lastID = string(event.ID)
	}
	if event.Retry >= 0 {
		l.retry = min(event.Retry, maxRetry)
	}
}

// collect reads the rest of a message that is no answer.
func (l *hearing) collect(event *wire.Event) (*wire.Event, error) {
	text := bytes.Clone(event.Data)
	for !event.Complete {
		var err error
		if event, err = l.events.Next(); err != nil {
			return nil, err
		}
		l.note(event)
		if text = append(text, event.Data...); len(text) > maxHeard {
			return nil, errUnheard
		}
		if _, err := l.scan.Write(event.Data); err != nil {
			return nil, errUnheard
		}
	}
	l.text, l.kind = text, l.scan.Signs().Message()
	if l.scan.Close() != nil {
		l.kind = wire.Invalid
	}
	return event, nil
}

// end forgets the call, which is answered, or of no interest any more. It reports
// whether that is new.
func (c *legacyCall) end(cause error) (ended bool) {
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
func (c *legacyCall) giveUp(cause error) {
	if c.end(cause) {
		c.s.o.b.background(c.cancelAtServer)
	}
}

// cancelAtServer tells the server that nobody waits for its answer.
func (c *legacyCall) cancelAtServer(ctx context.Context) {
	text := append([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), c.id...)
	text = append(text, `,"reason":"the caller does not wait any longer"}}`...)
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	_ = c.s.tell(ctx, c.at, text) // the server may as well have gone
}
