package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

func (s *Stdio) post(ctx context.Context, r *Request, m *wire.Message) (*wire.Answer, error) {
	id, to := r.Header.Get(wire.HeaderSession), recipient{}
	if m.Method == wire.MethodToolsCall {
		to.stamp, to.beside = r.Header.Get(wire.HeaderRequestID), r.Beside
	}
	if s.isStateless(id, m) {
		to.key = s.clientKey(r.Caller)
		resp, err := s.postModern(ctx, m, id, to)
		if !errors.Is(err, errOtherEra) {
			return resp, err
		}
	}
	if m.Kind == wire.Request && m.Method == wire.MethodInitialize {
		return s.open(ctx, m, s.clientKey(r.Caller))
	}
	x, refusal := s.find(id)
	to.session, to.key = x, ""
	switch {
	case refusal != nil && m.Method == wire.MethodDiscover && id == "":
		return refuseDiscover(m), nil // outside a session, no child can say that it is of the legacy era
	case refusal != nil:
		return refusal, nil
	case m.Kind == wire.Request && s.command.Share == ShareAll &&
		(m.Method == wire.MethodSubscribe || m.Method == wire.MethodUnsubscribe):
		return s.changeInterest(ctx, m, x)
	default:
		return s.pass(ctx, m, to)
	}
}

// pass takes a message that goes to a child unchanged.
func (s *Stdio) pass(ctx context.Context, m *wire.Message, to recipient) (*wire.Answer, error) {
	if m.Kind != wire.Request {
		return s.deliver(ctx, m, to)
	}
	if !s.isShared(to.key) {
		return s.request(ctx, m, to)
	}
	if resp := refuseShared(m); resp != nil {
		return resp, nil
	}
	plain, err := withoutTask(m)
	if err != nil {
		return wire.RespondMalformed(m.ID, err), nil
	}
	return s.request(ctx, plain, to)
}

// A recipient is the child that a message is for: a session's, a modern client's, or the shared one.
type recipient struct {
	session *childSession // nil: the message belongs to none
	key     string        // of the client
	stamp   string        // the id of the request that a call is given; empty: none
	beside  *Beside       // of a call
}

func (r recipient) own() *child {
	if r.session == nil {
		return nil
	}
	return r.session.child
}

// hand lets use give a message to the child that it is for. If that child takes no more (errUnsent), a shared
// child is replaced, while a session ends with its own child.
func (s *Stdio) hand(ctx context.Context, to recipient, use func(c *child) (*wire.Answer, error)) (*wire.Answer, error) {
	for {
		c := to.own()
		if c == nil {
			var err error
			if c, err = s.running(ctx, to.key); err != nil {
				return nil, err
			}
		}
		resp, err := use(c)
		switch {
		case errors.Is(err, errDone):
			return nil, EndedBeforeSend(ctx, s.name)
		case !errors.Is(err, errUnsent):
			return resp, err
		case to.own() != nil:
			return wire.RespondLost(), nil
		}
		select {
		case <-c.ended:
		case <-ctx.Done():
			return nil, EndedBeforeSend(ctx, s.name)
		}
	}
}

// request sends a request and returns the beginning of its answer.
func (s *Stdio) request(ctx context.Context, m *wire.Message, to recipient) (*wire.Answer, error) {
	return s.hand(ctx, to, func(c *child) (*wire.Answer, error) {
		if m.Method == wire.MethodDiscover && c.era() == wire.Legacy {
			return refuseDiscover(m), nil // even if the client knows it: answers go to a session
		}
		from := c.last.now()
		call, err := c.accept(ctx.Done(), m, to.session, to.stamp)
		if err != nil {
			return nil, err
		}
		to.beside.attend(c, call, from)
		if to.own() != nil {
			s.catchUp(to.session, call)
		}
		said, err := call.next(ctx)
		switch {
		case errors.Is(err, io.EOF): // the child ended a subscription before saying anything on it
			parts := stream(ctx, c, call)
			return wire.RespondParts(parts, parts), nil
		case err != nil && ctx.Err() != nil:
			return nil, s.giveUp(ctx, c, call)
		case err != nil:
			return nil, err
		}
		return answer(ctx, c, call, said), nil
	})
}

// gaveUp is what a child is told when a call is given up.
const gaveUp = "the caller is no longer waiting"

func (s *Stdio) giveUp(ctx context.Context, c *child, call *pending) *recourse.Error {
	sent := c.abandon(call, gaveUp)
	call.discard()
	if !sent {
		return EndedBeforeSend(ctx, s.name)
	}
	return Broken(ctx, s.name, context.Cause(ctx))
}

// catchUp gives a client what its child said while the client was not listening.
func (s *Stdio) catchUp(x *childSession, call *pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.listens {
		return
	}
	for _, m := range x.box.take() {
		call.put(m)
	}
}

func answer(ctx context.Context, c *child, call *pending, said delivery) *wire.Answer {
	if said.last && said.long == nil {
		return said.answer()
	}
	parts := stream(ctx, c, call)
	parts.first(said)
	resp := wire.RespondParts(parts, parts)
	resp.Stream = !said.last
	return resp
}

// answer returns the message as the whole answer to a request.
func (m *delivery) answer() *wire.Answer {
	return wire.RespondMessage(m.text, m.signs)
}

// stream returns what the child says about the call from now on.
func stream(ctx context.Context, c *child, call *pending) *mailboxParts {
	return call.parts(ctx, func() {
		c.abandon(call, gaveUp)
		call.discard()
	})
}

// kept are notifications that a shared child does not get: it was initialized without the clients, and told
// of no capabilities.
var kept = map[string]bool{
	wire.MethodInitialized:  true,
	wire.MethodRootsChanged: true,
	wire.MethodProgress:     true,
}

// deliver takes a notification, or an answer to a child's question.
func (s *Stdio) deliver(ctx context.Context, m *wire.Message, to recipient) (*wire.Answer, error) {
	switch {
	case m.Method == wire.MethodCancelled:
		s.cancel(m, to.session)
		return wire.Respond(http.StatusAccepted, nil), nil
	case to.own() == nil && (m.Kind == wire.Response || kept[m.Method]): // it did not ask anything
		return wire.Respond(http.StatusAccepted, nil), nil
	}
	return s.hand(ctx, to, func(c *child) (*wire.Answer, error) {
		if err := c.tell(ctx.Done(), m.Raw); err != nil {
			return nil, err
		}
		return wire.Respond(http.StatusAccepted, nil), nil
	})
}

// cancel passes on a cancellation. Without a session the id in it could be anyone's, so it is ignored.
func (s *Stdio) cancel(m *wire.Message, x *childSession) {
	if x == nil {
		return
	}
	c := x.child
	if c == nil {
		s.mu.Lock()
		c = s.ready[""]
		s.mu.Unlock()
	}
	if c != nil {
		c.cancel(m, x)
	}
}
