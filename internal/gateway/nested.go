package gateway

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/many"
	"github.com/recoursehq/recourse/internal/seal"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
)

// An outer is a request at an endpoint with several servers, as seen by the calls that are made for it at the
// servers. It travels in a context, and may outlive its own call.
type outer struct {
	who     caller
	request http.Request // without headers
	id      string
	name    string // of the endpoint
	stdio   bool
	trace   spanContext
	apart   []string // tells the client apart at a program that is not shared

	relayed atomic.Bool // a server answers it
	free    atomic.Bool // limits do not charge for its answer
	spanned atomic.Bool // a nested call is reported as its span
}

type outerKey struct{}

// outerOf returns the request for which a nested call is made, or nil.
func outerOf(ctx context.Context) *outer {
	o, _ := ctx.Value(outerKey{}).(*outer)
	return o
}

// within returns a context that carries the request.
func (o *outer) within(ctx context.Context) context.Context {
	if o == nil {
		return ctx
	}
	return context.WithValue(ctx, outerKey{}, o)
}

// A member is one server of an endpoint with several, as a connection: a request takes that server's own
// stages through the gateway, from route on.
type member struct {
	on     *endpoint
	names  *config.Member
	relays bool // the answers are for the client; otherwise the gateway reads them
}

var _ upstream.Connection = (*member)(nil)

// Name returns the server's display name.
func (m *member) Name() string { return m.on.Title }

// Close does nothing: someone else owns the server.
func (*member) Close() {}

var errNotNested = errors.New("a request at an endpoint with several servers comes from nowhere")

// Do implements [upstream.Connection] for requests of the modern era.
func (m *member) Do(ctx context.Context, r *upstream.Request) (*http.Response, error) {
	of := outerOf(ctx)
	if of == nil {
		return nil, recourse.Internal().WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).CausedBy(errNotNested)
	}
	ctx, cancel := context.WithCancel(ctx)
	var c *call
	h := many.NewHop(cancel, func() *recourse.Error { return c.out.record })
	c, err := m.call(ctx, of, r, h)
	if err != nil {
		cancel()
		return nil, err
	}
	go h.Serve(c.serveNested)
	resp, ok := h.Response()
	if !ok {
		cancel()
		return nil, upstream.Broken(ctx, m.on.Title, cmp.Or(context.Cause(ctx), context.Canceled))
	}
	if m.relays {
		of.relayed.Store(true)
	}
	return resp, nil
}

// serveNested runs a nested call through its stages.
func (c *call) serveNested() (broken bool) {
	defer func() {
		if fault := recover(); fault != nil {
			broken = true
			c.g.log.Error("panic",
				slog.String("request_id", c.req.id), slog.Any("cause", fault), slog.String("stack", string(debug.Stack())))
		} else {
			c.release()
		}
	}()
	_ = c.table.nested(c) // the client has its answer
	return c.reply.broken
}

// call returns the call for a request that another endpoint has let in.
func (m *member) call(ctx context.Context, of *outer, r *upstream.Request, h http.ResponseWriter) (*call, error) {
	request := of.request.WithContext(ctx)
	request.Header = r.Header
	c := m.on.target.g.newCall(h, request, of.id, of.stdio)
	c.member, c.req.era, c.req.user, c.req.body = m, wire.Modern, of.who.user, r.Body
	if !c.enterMember() {
		c.release()
		return nil, m.on.target.unserved()
	}
	c.who, c.trace = of.at(c), of.traced(m.relays)
	if err := wire.Parse(c.req.body, c.req.msg); err != nil {
		c.release()
		return nil, recourse.Internal().WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).CausedBy(err)
	}
	return c, nil
}

// enterMember holds the server's target open, as enter does for a request at an endpoint of its own.
func (c *call) enterMember() bool {
	on := c.member.on
	for {
		if c.hold(on) {
			return true
		}
		now := c.g.table.Load().named[on.Name]
		if now == nil || now == on {
			return false
		}
		on = now // the configuration has changed meanwhile
	}
}

// traced returns where a nested call is in the trace. The first one that is relayed stands in for the
// request, which has no span of its own.
func (o *outer) traced(relays bool) spanContext {
	t := o.trace
	if t.Own.IsZero() || relays && o.spanned.CompareAndSwap(false, true) {
		return t
	}
	return spanContext{Span: observe.Span{Own: t.Own.Child(), Parent: t.Own, State: t.State}, baggage: t.baggage}
}

// at returns the caller as the server of a nested call sees it.
func (o *outer) at(c *call) caller {
	verified := o.who.verified
	verified.Headers = nil // so that forwarded headers tell callers apart there
	who := c.caller(&verified)
	if len(c.to.Command) > 0 {
		words := slices.Clone(o.apart)
		if c.req.user != "" {
			words = append(words, "user", c.req.user)
		}
		who.server = upstream.CallerOf(words...)
	}
	return who
}

// relayed reports whether a server's own call has ended this one, and has been reported.
func (c *call) relayed() bool { return c.outer != nil && c.outer.relayed.Load() && c.out.record == nil }

// offered tells the contract the names by which the client of a nested call knows the server's tools.
func (c *call) offered(call *contract.Call) {
	if c.member == nil {
		return
	}
	names, has := c.member.names, call.HasTool
	call.Offered = func(tool string) (name string, known bool) {
		if has != nil && !has(tool) {
			return "", false
		}
		name, _ = names.Offered(tool)
		return name, true
	}
	if has == nil {
		return
	}
	call.HasTool = func(tool string) bool {
		if has(tool) {
			return names.Allows(tool)
		}
		local, ok := names.Local(tool) // the text may already use the client's name
		return ok && has(local)
	}
}

// offeredName returns the client's name for a tool of the server, and whether the client is offered that
// tool.
func (c *call) offeredName(tool string) (name string, ok bool) {
	if c.member == nil {
		return tool, true
	}
	return c.member.names.Offered(tool)
}

// bindState ties the state in a server's question to the request that it belongs to.
func (c *call) bindState(text []byte) []byte {
	if c.member == nil || string(c.in.signs.ResultType) != wire.InputRequired {
		return text
	}
	at := c.in.signs.Result
	return wire.Splice(nil, text, wire.Edit{At: at, With: many.BindState(at.Of(text), c.sealer(), c.statePurpose())})
}

// ownState restores the server's own state in a request that returns one.
func (c *call) ownState() *recourse.Error {
	if c.member == nil || json.Lookup(c.req.msg.Params, "/"+wire.RequestState) == nil {
		return nil
	}
	params, ok := many.OwnState(c.req.msg.Params, c.sealer(), c.statePurpose())
	if !ok {
		return recourse.New(recourse.KindInvalidValue, "").
			WithMessage("The requestState was not given to this caller for this request of %s. Call again without it.", c.to.Title).
			WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
	}
	return c.req.change(params)
}

// refuseState returns the failure for a request whose state is not from the server. It is meant for the
// client's program, not for its model, so it is a JSON-RPC error whatever the contract says.
func (c *call) refuseState(e *recourse.Error) error {
	text := wire.AppendError(nil, c.req.msg.ID, wire.CodeInvalidParams, e.Sentence(), nil)
	if c.in.rescan(text) != nil {
		return settled(e)
	}
	return c.rpcFailure(http.StatusOK, text, e)
}

// sealer seals states: with the keys for sessions, so that any replica can open them, or else with a key of
// this process.
func (c *call) sealer() *seal.Sealer {
	if c.table.sealer != nil {
		return c.table.sealer
	}
	return c.g.states
}

// statePurpose says what a state is for.
func (c *call) statePurpose() []byte {
	return []byte(strings.Join([]string{"state", c.on.Name, c.req.msg.Method, c.req.msg.Name, string(c.who.id[:])}, "\x00"))
}
