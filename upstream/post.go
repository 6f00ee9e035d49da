package upstream

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
)

// messages keeps the memory of parsers.
var messages = sync.Pool{New: func() any { return new(wire.Message) }}

// post takes a client's message.
func (s *Stdio) post(ctx context.Context, id string, text []byte) (*http.Response, error) {
	m, _ := messages.Get().(*wire.Message)
	defer messages.Put(m)
	if err := wire.Parse(text, m); err != nil {
		return malformed(m.ID, err), nil
	}
	if m.Kind == wire.Request && m.Method == wire.MethodInitialize {
		return s.open(ctx, m)
	}
	if m.Kind == wire.Request && m.Method == wire.MethodDiscover && id == "" && s.command.Share == ShareClient {
		// There is no child yet that could say that it is of the old era.
		return respond(http.StatusOK, wire.TypeJSON, wire.AppendError(nil, m.ID, wire.CodeMethodNotFound, "unknown method", nil)), nil
	}
	x, refusal := s.find(id)
	switch {
	case refusal != nil:
		return refusal, nil
	case m.Kind == wire.Request:
		return s.request(ctx, m, x)
	default:
		return s.deliver(ctx, m, x)
	}
}

// malformed returns the answer to what is no message.
func malformed(id wire.ID, err error) *http.Response {
	refusal, ok := errors.AsType[*wire.Error](err)
	if !ok {
		refusal = &wire.Error{Code: wire.CodeParseError, Message: "the message cannot be read"}
	}
	return respond(http.StatusBadRequest, wire.TypeJSON, wire.AppendError(nil, id, refusal.Code, refusal.Message, nil))
}

// askedVersion returns the protocolVersion of initialize's params.
func askedVersion(params []byte) string {
	var version string
	if json.Unmarshal(json.Lookup(params, "/protocolVersion"), &version) != nil {
		return ""
	}
	return version
}

// hand gives a message to the child that it is for: use does so, and returns
// errUnsent when the child takes no more, and errDone. A shared child that is gone is
// waited for to be replaced; with its own child a session is lost.
func (s *Stdio) hand(ctx context.Context, x *session, use func(c *child) (*http.Response, error)) (*http.Response, error) {
	for {
		own := x != nil && x.child != nil
		var c *child
		var err error
		if own {
			c = x.child
		} else if c, err = s.running(ctx); err != nil {
			return nil, err
		}
		resp, err := use(c)
		switch {
		case errors.Is(err, errDone):
			return nil, s.unsent(ctx)
		case !errors.Is(err, errUnsent):
			return resp, err
		case own:
			return refuse(http.StatusNotFound, lostSession), nil
		}
		select {
		case <-c.ended:
		case <-ctx.Done():
			return nil, s.unsent(ctx)
		}
	}
}

// request sends a request and returns the beginning of its answer.
func (s *Stdio) request(ctx context.Context, m *wire.Message, x *session) (*http.Response, error) {
	return s.hand(ctx, x, func(c *child) (*http.Response, error) {
		session := ""
		if x != nil {
			session = x.id
		}
		call, err := c.accept(ctx.Done(), m, session)
		if err != nil {
			return nil, err
		}
		if x != nil && x.child != nil {
			s.catchUp(x, call)
		}
		said, err := call.next(ctx, nil)
		if err != nil && ctx.Err() != nil {
			return nil, s.giveUp(ctx, c, call)
		}
		if err != nil {
			return nil, err
		}
		return answer(ctx, c, call, said), nil
	})
}

// noLonger is the reason that a child is told.
const noLonger = "the caller does not wait any longer"

// giveUp gives up a call whose ctx has ended.
func (s *Stdio) giveUp(ctx context.Context, c *child, call *call) *recourse.Error {
	sent := c.abandon(call, noLonger)
	call.discard()
	if !sent {
		return s.unsent(ctx)
	}
	return broken(ctx, s.name, context.Cause(ctx))
}

// catchUp gives the session's client what its child has said while there was no way
// to it.
func (s *Stdio) catchUp(x *session, call *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range x.unheard() {
		call.put(text)
	}
}

// answer returns the answer that begins with said.
func answer(ctx context.Context, c *child, call *call, said message) *http.Response {
	if said.last && said.spool == nil {
		return respond(http.StatusOK, wire.TypeJSON, said.text)
	}
	if said.last {
		resp := head(http.StatusOK, wire.TypeJSON)
		resp.Body = &spoolBody{ctx: ctx, spool: said.spool}
		return resp
	}
	resp := head(http.StatusOK, wire.TypeEventStream)
	resp.Header["Cache-Control"] = []string{"no-cache"}
	body := newEventBody(ctx, &call.mailbox, func() {
		c.abandon(call, noLonger)
		call.discard()
	})
	body.load(said)
	resp.Body = body
	return resp
}

// kept are the notifications that are between a client and the gateway where all
// share a child: it was initialized without them, and told of no capabilities.
var kept = map[string]bool{
	"notifications/initialized":        true,
	"notifications/roots/list_changed": true,
	wire.MethodProgress:                true,
}

// deliver takes a notification, or an answer to what the child has asked.
func (s *Stdio) deliver(ctx context.Context, m *wire.Message, x *session) (*http.Response, error) {
	own := x != nil && x.child != nil
	switch {
	case m.Method == wire.MethodCancelled:
		s.cancel(m, x)
		return respond(http.StatusAccepted, "", nil), nil
	case !own && (m.Kind == wire.Response || kept[m.Method]): // it has asked nothing
		return respond(http.StatusAccepted, "", nil), nil
	}
	return s.hand(ctx, x, func(c *child) (*http.Response, error) {
		if err := c.tell(ctx.Done(), m.Raw); err != nil {
			return nil, err
		}
		return respond(http.StatusAccepted, "", nil), nil
	})
}

// cancel passes a cancellation on, if there is a child that it can be for. Without
// a session the id that it names may be anybody's.
func (s *Stdio) cancel(m *wire.Message, x *session) {
	if x == nil {
		return
	}
	c := x.child
	if c == nil {
		s.mu.Lock()
		c = s.shared
		s.mu.Unlock()
	}
	if c != nil {
		c.cancel(m, x.id)
	}
}
