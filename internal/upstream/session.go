package upstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// maxSessions limits the sessions; the one idle longest is dropped first.
const maxSessions = 100_000

// A childSession is a session of the legacy era with a program. If it has its own child, it ends with that child.
type childSession struct {
	id    string
	child *child // its own; nil if all share one

	// Guarded by Stdio.mu:
	box     *Mailbox // messages for its client besides answers, kept even while it is not listening
	listens bool
}

func newSession() *childSession { return &childSession{id: rand.Text(), box: &Mailbox{}} }

// add is called with s.mu held.
func (s *Stdio) add(x *childSession) {
	for _, oldest := range s.sessions.Trim(1, nil) {
		s.remove(oldest)
	}
	s.sessions.Put(x.id, x, 0)
}

// remove forgets the session and ends its stream. s.mu is held.
func (s *Stdio) remove(x *childSession) {
	s.sessions.Remove(x.id)
	x.box.End(io.EOF)
	for _, uri := range s.wanted.Drop(x) {
		s.forget(uri)
	}
}

// sessionRequired is the answer to a message that belongs to a session but names none.
func sessionRequired() *wire.Answer {
	return wire.Respond(http.StatusBadRequest,
		wire.AppendError(nil, nil, wire.CodeInvalidRequest, "There is no session yet: send initialize first.", nil))
}

// find returns the session of that id, or the refusal of a message that needs one. If all share a child, a
// message without an id needs none.
func (s *Stdio) find(id string) (*childSession, *wire.Answer) {
	if id == "" && s.command.Share == ShareAll {
		return nil, nil
	}
	if id == "" {
		return nil, sessionRequired()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x, ok := s.sessions.Get(id)
	if !ok {
		return nil, wire.RespondLost()
	}
	return x, nil
}

func (s *Stdio) endSession(id string) *wire.Answer {
	x, refusal := s.find(id)
	switch {
	case refusal != nil:
		return refusal
	case x == nil:
		return sessionRequired()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(x)
	if x.child != nil {
		x.child.stop(errStopped)
	}
	return wire.Respond(http.StatusNoContent, nil)
}

func (s *Stdio) open(ctx context.Context, m *wire.Message, key string) (*wire.Answer, error) {
	if s.command.Share == ShareClient {
		return s.openOwn(ctx, m, key)
	}
	c, err := s.running(ctx, "")
	switch {
	case err != nil:
		return nil, err
	case c.modern.Load():
		return refuseInitialize(m), nil
	}
	x := newSession()
	s.mu.Lock()
	s.add(x)
	s.mu.Unlock()
	version := negotiate(json.Text(m.Params, "/protocolVersion"), json.Text(c.hello, "/protocolVersion"))
	return x.opened(wire.RespondResult(m.ID, withVersion(c.hello, version))), nil
}

// opened returns the answer that opens the session.
func (x *childSession) opened(resp *wire.Answer) *wire.Answer {
	resp.Header = http.Header{wire.HeaderSession: {x.id}}
	return resp
}

var errDiedOpening = errors.New("the process ended before it had answered initialize")

// openOwn starts a child for a session and passes initialize on.
func (s *Stdio) openOwn(ctx context.Context, m *wire.Message, key string) (*wire.Answer, error) {
	for {
		x := newSession()
		var err error
		if x.child, err = s.spawn(ctx, x, key); err != nil {
			return nil, err
		}
		resp, err := s.initializeOwn(ctx, x, m, key)
		if !errors.Is(err, errDiedOpening) {
			return resp, err
		}
	}
}

// initializeOwn passes initialize on to the session's new child. A child that turns out to be of the modern
// era becomes the child of the client with the key.
func (s *Stdio) initializeOwn(ctx context.Context, x *childSession, m *wire.Message, key string) (*wire.Answer, error) {
	c := x.child
	said, err := c.exchange(ctx, m, x)
	switch {
	case err != nil && ctx.Err() != nil: // nothing of it is left, so nothing happened
		c.stop(errStopped)
		return nil, EndedBeforeSend(ctx, s.name)
	case err != nil:
		<-c.ended
		return nil, errDiedOpening
	}
	hello, version, err := readInitResult(said)
	switch {
	case errors.Is(err, errRefused) && c.discovers(ctx):
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.era = wire.Modern; !s.offer(c, key) {
			c.stop(errStopped)
		}
		return refuseInitialize(m), nil
	case err != nil:
		c.stop(errStopped)
		if said.long != nil {
			return nil, BadResponse(s.name, err)
		}
		return said.answer(), nil // whatever it is, the client decides
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, alive := s.children[c]; alive && !s.isClosed() {
		c.ready, s.starts, s.era = true, starts{}, wire.Legacy
		s.add(x)
		s.watchIdle(c)
	}
	if ours := overHTTP(version); ours != version {
		return x.opened(wire.RespondResult(m.ID, withVersion(hello, ours))), nil
	}
	return x.opened(said.answer()), nil
}

// makeRoom ends the child that has been idle longest if the maximum is reached.
func (s *Stdio) makeRoom(ctx context.Context) error {
	s.mu.Lock()
	if len(s.children) < s.most {
		s.mu.Unlock()
		return nil
	}
	oldest := s.retireOldest()
	s.mu.Unlock()
	if oldest == nil {
		return s.unavailable(fmt.Sprintf("All %d processes of %s are in use.", s.most, s.name), nil)
	}
	oldest.stop(errStopped)
	select {
	case <-oldest.ended:
		return nil
	case <-ctx.Done():
		return EndedBeforeSend(ctx, s.name)
	}
}

// retireOldest retires the child that has been idle longest and whose client is not listening; nil if there
// is none. s.mu is held.
func (s *Stdio) retireOldest() *child {
	var oldest *child
	var longest time.Duration
	for c := range s.children {
		if !c.ready || isHeard(c) {
			continue
		}
		if idle := c.idle(); idle > longest {
			oldest, longest = c, idle
		}
	}
	if oldest == nil || !oldest.retire() {
		return nil
	}
	return oldest
}

// isHeard reports whether the client with a child of its own listens to it. Stdio.mu is held.
func isHeard(c *child) bool {
	return c.session != nil && c.session.listens
}

// listen opens the stream of a session, replacing the one that it has.
func (s *Stdio) listen(ctx context.Context, id string) *wire.Answer {
	x, refusal := s.find(id)
	if refusal != nil {
		return refusal
	}
	b := &Mailbox{}
	s.mu.Lock()
	if x != nil {
		for _, m := range x.box.drain(io.EOF) {
			b.Put(m.text)
		}
		delete(s.streams, x.box)
		x.box, x.listens = b, true
	}
	if x == nil || x.child == nil {
		s.streams[b] = x
	}
	if s.isClosed() {
		b.End(io.EOF)
	}
	s.mu.Unlock()
	return b.Answer(ctx, func() { s.leave(x, b) })
}

// leave ends a stream. What its reader has not taken is kept for the next one.
func (s *Stdio) leave(x *childSession, b *Mailbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, b)
	if x != nil && x.box == b {
		x.listens = false
	}
}

// hear handles what the session's child says unasked; it does not block, nor keep text. A question goes to the
// newest call, which it keeps alive, anything else to the stream; if that is missing, each goes to the other,
// and if both are, it waits.
func (x *childSession) hear(c *child, signs *wire.Signs, text []byte) {
	kind, said := signs.Message(), copied(signs, text)
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	boxes := []*Mailbox{x.box}
	if call := c.newestCall(); call != nil {
		boxes = append(boxes, &call.Mailbox)
		if kind == wire.Request || !x.listens {
			slices.Reverse(boxes)
		}
	}
	taken := slices.ContainsFunc(boxes, func(b *Mailbox) bool { return b.put(said) })
	if !taken && kind == wire.Request {
		c.reply(wire.AppendError(nil, signs.ID, wire.CodeInternalError, "the client does not listen", nil))
	}
}
