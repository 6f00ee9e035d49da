package modern

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge/peer"
)

const (
	// orphanTime is how long a call continues after its client has gone, and maxOrphans how many such calls
	// there may be: a legacy client that disconnects has not cancelled its call (MCP 2025-11-25,
	// basic/transports).
	orphanTime = time.Minute
	maxOrphans = 256
)

// An exchange is a client's request. It runs beside its caller, for whom it begins an answer, and continues if the
// caller disconnects.
type exchange struct {
	srv *Bridge
	s   *clientState // nil: the client has none

	// The request at the server.
	ctx    context.Context
	end    context.CancelCauseFunc
	of     *upstream.Request // on whose behalf
	header http.Header
	text   []byte // in the modern era
	id     wire.ID
	method string
	tool   string // of tools/call
	rounds int

	// The answer to the client.
	clientID wire.ID
	asker    context.Context
	begun    chan beginning // room for one
	answer   *wire.Pipe     // nil: it has not begun, or is a whole text
	isEvents bool           // other messages may come before it
	messages wire.MessageReader
	rewriter wire.Rewriter
	room     []byte // memory of a piece
}

// A beginning is what Do returns.
type beginning struct {
	resp *wire.Answer
	err  error
}

func (srv *Bridge) call(ctx context.Context, s *clientState, r *upstream.Request) (*wire.Answer, error) {
	m := r.Message
	c := &exchange{
		srv: srv, s: s, of: r.For(nil, nil), header: peer.HeaderOf(r.Header), text: renewed(m, s.introduce()),
		id: m.ID.Clone(), method: m.Method, clientID: m.ID.Clone(),
		asker: ctx, begun: make(chan beginning, 1),
	}
	if m.Method == wire.MethodToolsCall {
		c.tool = m.Name
	}
	wire.SetHeaders(c.header, wire.Version20260728, m)
	c.ctx, c.end = context.WithCancelCause(srv.p.Life())
	if !s.enter(c) {
		c.end(context.Canceled)
		return wire.RespondLost(), nil
	}
	stop := context.AfterFunc(ctx, c.leave)
	srv.p.Background(func(context.Context) {
		defer s.exit(c)
		defer stop()
		c.run()
	})
	select {
	case b := <-c.begun:
		return b.resp, b.err
	case <-ctx.Done():
		return nil, srv.p.Broken(ctx, context.Cause(ctx))
	}
}

// enter registers a call. It reports false if the session has ended; s may be nil.
func (s *clientState) enter(c *exchange) bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.calls[c] = struct{}{}
	return true
}

func (s *clientState) exit(c *exchange) {
	c.end(context.Canceled)
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.calls, c)
	}
}

// leave is called when the caller stops waiting. If the client has gone, the call continues for a while.
func (c *exchange) leave() {
	cause := context.Cause(c.asker)
	if !errors.Is(cause, context.Canceled) {
		c.end(cause)
		return
	}
	if c.srv.orphans.Add(1) > maxOrphans {
		c.srv.orphans.Add(-1)
		c.end(cause)
		return
	}
	timer := time.AfterFunc(orphanTime, func() { c.end(context.DeadlineExceeded) })
	context.AfterFunc(c.ctx, func() {
		timer.Stop()
		c.srv.orphans.Add(-1)
	})
}

var errSessionEnded = recourse.Cancelled().WithMessage("The session was ended.").WithOrigin(recourse.OriginCaller)

// cancel ends a call, at the server as well, where closing the connection means that.
func (c *exchange) cancel(e *recourse.Error) { c.end(e.WithProvider(c.srv.p.Name())) }

// cancel ends the calls named in notifications/cancelled.
func (s *clientState) cancel(id wire.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.calls {
		if c.clientID.Equal(id) {
			c.cancel(recourse.Cancelled().WithOrigin(recourse.OriginCaller))
		}
	}
}

// renewed returns a legacy request in modern form: with the introduction in its _meta, and otherwise
// unchanged.
func renewed(m *wire.Message, introduction []byte) []byte {
	var edit wire.Edit
	if m.Meta == nil {
		edit = m.PutMeta(introduction)
	} else { // the client's own members of the same names are replaced
		meta := append([]byte{'{'}, introduction...)
		others := wire.WithoutIntroduction(m.Meta)
		if len(others) > 0 {
			meta = append(meta, ',')
		}
		edit = wire.Edit{At: m.MetaAt, With: append(meta, others.AppendTo(nil)[1:]...)}
	}
	return wire.Splice(nil, m.Raw, edit)
}

// again returns the call's request under a new id, with the answers to the server's questions and its state;
// both may be nil.
func (c *exchange) again(id wire.ID, answers map[string]json.Value, state json.Value) []byte {
	params := json.Lookup(c.text, "/params")
	members := json.MembersOf(json.Without(json.Without(params, "inputResponses"), "requestState"))
	if answers != nil {
		members.Add("inputResponses", append(json.AppendMembers([]byte{'{'}, answers), '}'))
	}
	members.Add("requestState", state)
	return wire.AppendRequest(nil, id, c.method, members.AppendTo(nil))
}
