package upstream

import (
	"context"
	"fmt"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

const (
	maxSubscriptions = 1000     // of a session
	maxURI           = 4 << 10  // bytes of each
	maxSubscribed    = 16 << 20 // bytes of the URIs of all sessions
)

// changeInterest answers resources/subscribe and resources/unsubscribe of a session that shares its child. The
// child is told when the first session subscribes to a resource and when the last one unsubscribes; each
// session only hears what it has asked for.
func (s *Stdio) changeInterest(ctx context.Context, m *wire.Message, x *childSession) (*wire.Answer, error) {
	if x == nil {
		return sessionRequired(), nil
	}
	if !s.turn.Take(ctx) {
		return nil, EndedBeforeSend(ctx, s.name)
	}
	defer s.turn.Leave()
	uri := json.Text(m.Params, "/uri") // a missing or invalid value is for the child to judge
	if m.Method == wire.MethodSubscribe {
		return s.subscribe(ctx, m, x, uri)
	}
	return s.unsubscribe(ctx, m, x, uri)
}

func (s *Stdio) subscribe(ctx context.Context, m *wire.Message, x *childSession, uri string) (*wire.Answer, error) {
	s.mu.Lock()
	known, wanted := s.wanted.Has(x, uri), s.wanted.IsWanted(uri)
	full := !known && (s.wanted.Count(x) >= maxSubscriptions || len(uri) > maxURI || s.wanted.Bytes()+len(uri) > maxSubscribed)
	if !full && wanted && s.isOpen(x) {
		s.wanted.Add(x, uri)
	}
	s.mu.Unlock()
	switch {
	case full:
		return wire.RespondError(m.ID, wire.CodeInvalidRequest,
			fmt.Sprintf("a session may have at most %d subscriptions, to URIs of at most %d bytes, of which all have %d together",
				maxSubscriptions, maxURI, maxSubscribed)), nil
	case wanted: // the child knows it
		return wire.RespondResult(m.ID, []byte("{}")), nil
	}
	resp, taken, err := s.tellInterest(ctx, m, x)
	if !taken || uri == "" {
		return resp, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOpen(x) {
		s.wanted.Add(x, uri)
	} else {
		s.forget(uri)
	}
	return resp, err
}

func (s *Stdio) unsubscribe(ctx context.Context, m *wire.Message, x *childSession, uri string) (*wire.Answer, error) {
	s.mu.Lock()
	s.wanted.Remove(x, uri)
	wanted := s.wanted.IsWanted(uri)
	s.mu.Unlock()
	if wanted { // the child need not know
		return wire.RespondResult(m.ID, []byte("{}")), nil
	}
	resp, _, err := s.tellInterest(ctx, m, x)
	return resp, err
}

// isOpen reports whether the session still exists. s.mu is held.
func (s *Stdio) isOpen(x *childSession) bool {
	_, ok := s.sessions.Peek(x.id)
	return ok
}

// tellInterest passes on a request, and reports whether the child has taken it.
func (s *Stdio) tellInterest(ctx context.Context, m *wire.Message, x *childSession) (resp *wire.Answer, taken bool, err error) {
	resp, err = s.hand(ctx, recipient{}, func(c *child) (*wire.Answer, error) {
		call, err := c.accept(ctx.Done(), m, x, "")
		if err != nil {
			return nil, err
		}
		said, err := call.last(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, s.giveUp(ctx, c, call)
		case err != nil:
			return nil, err
		}
		taken = json.Lookup(said.text, "/result") != nil
		return answer(ctx, c, call, said), nil
	})
	return resp, taken, err
}

// forget tells the shared child, if there is one, that no client is interested in a resource any more. s.mu
// is held.
func (s *Stdio) forget(uri string) {
	if c := s.ready[""]; c != nil {
		c.orderAbout(wire.MethodUnsubscribe, uri)
	}
}

// orderAbout is order for a request about a resource.
func (c *child) orderAbout(method, uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone == nil {
		c.order(method, wire.OfResource(uri))
	}
}
