package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/hop"
	"github.com/recoursehq/recourse/internal/gateway/intake"
	"github.com/recoursehq/recourse/internal/gateway/limits"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/gateway/toollist"
	"github.com/recoursehq/recourse/internal/privacy/redact"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge"
	"github.com/recoursehq/recourse/internal/upstream/many"
	"github.com/recoursehq/recourse/retry"
)

// manyListTimeout limits how long a server may take to answer a list in the background. After that, the next
// request asks again.
const manyListTimeout = 30 * time.Second

// A manyServers holds what an endpoint with several servers needs.
type manyServers struct {
	entry   *config.Endpoint
	conn    *many.Conn
	options *many.Options
	members []*memberConn
}

// newManyEndpoint returns the endpoint for an entry that offers several servers, whose own endpoints are in t
// already. old is as in [newEndpoint].
func newManyEndpoint(g *Gateway, t *table, e *config.Endpoint, old *endpoint) (*endpoint, error) {
	entry := e.Entry()
	on := &endpoint{entry: entry, g: g, redact: redact.Off, secrets: func() []string { return nil }}
	if err := on.begin(t, old); err != nil {
		return nil, err
	}
	on.many = newManyServers(g, e, t.named, old)
	if old != nil && on.access == old.access && old.many != nil && old.many.entry.Same(e) && old.contract.Same(on.contract) &&
		slices.Equal(old.many.options.Servers, on.many.options.Servers) {
		return old, nil
	}
	on.take(relaying{}, answer.PassesBack, enforced, steps)
	on.ask()
	var before *endpoint
	if old != nil && old.many != nil {
		before = old
	}
	if before != nil && old.many.entry.Lists == e.Lists {
		on.backend, on.many.conn = before.backend, old.many.conn
	} else {
		file := e.Lists
		if file == config.ListsNone {
			file = ""
		}
		on.many.conn = many.New(file, on.many.options, func(text string) { g.log.Warn(text, slog.String("server", e.Name)) })
		on.backend = g.backends.New(e.Name, bridge.New(on.many.conn, bridge.Options{Forward: on.forward}), on.many.conn)
	}
	on.up = on.backend.Bridged
	on.guard = newGuard(entry, before)
	on.limits = limits.New(entry)
	return on, nil
}

// newManyServers returns the servers of an endpoint. An unchanged one is taken from old.
func newManyServers(g *Gateway, e *config.Endpoint, named map[string]*endpoint, old *endpoint) *manyServers {
	options := &many.Options{Title: e.Title, Deadline: e.Deadline, Time: manyListTimeout}
	all := &manyServers{entry: e, options: options}
	for i := range e.Servers {
		names := &e.Servers[i]
		on := named[names.Name]
		m := &memberConn{on: on, names: names}
		all.members = append(all.members, m)
		if kept := old.manyServer(on, names); kept != nil {
			all.options.Servers = append(all.options.Servers, kept)
			continue
		}
		all.options.Servers = append(all.options.Servers, &many.Source{
			Name: on.entry.Name, Title: on.entry.Title, Names: names, Place: placeOf(on),
			Relay: &memberConn{on: on, names: names, relays: true}, Ask: m,
			InOrder: on.entry.Command != nil, Always: on.pins != nil, Of: on.listsOf,
			Note: func(text string) {
				g.log.Warn(text, slog.String("endpoint", e.Name), slog.String("server", on.entry.Name))
			},
		})
	}
	return all
}

// offeredAt yields the endpoints with several servers that offer this one, and what it is to them.
func (on *endpoint) offeredAt(t *table) iter.Seq2[*many.Conn, *many.Source] {
	return func(yield func(*many.Conn, *many.Source) bool) {
		for _, all := range t.all {
			if all.many == nil {
				continue
			}
			for i, m := range all.many.members {
				if m.on == on && !yield(all.many.conn, all.many.options.Servers[i]) {
					return
				}
			}
		}
	}
}

// listsDiffer reports whether the server's lists depend on who asks.
func (on *endpoint) listsDiffer() bool {
	return len(on.entry.Forward) > 0 || on.entry.Connection != "" || on.grants != nil || on.entry.Share == config.ShareClient ||
		on.userParam != "" || on.userHeader() != ""
}

// listsOf returns whose lists of the server the sender of a request sees. What grants allow may be up to the roles and scopes of
// the caller's present token.
func (on *endpoint) listsOf(r *upstream.Request) upstream.Caller {
	of, _ := r.Outer.(*outer)
	switch {
	case !on.listsDiffer():
		return upstream.Caller{}
	case on.grants == nil || of == nil:
		return r.Caller
	}
	return upstream.CallerOf(string(r.Caller[:]), strings.Join(of.verified.Roles, "\n"), strings.Join(of.verified.Scopes, "\n"))
}

// manyServer returns the endpoint's server if it has not changed, or nil.
func (on *endpoint) manyServer(of *endpoint, names *config.Member) *many.Source {
	if on == nil || on.many == nil {
		return nil
	}
	for i, m := range on.many.members {
		if m.on == of && m.names.Same(names) {
			return on.many.options.Servers[i]
		}
	}
	return nil
}

// placeOf identifies where an endpoint's server is, without revealing it.
func placeOf(on *endpoint) string {
	sum := sha256.Sum256([]byte(strings.Join(append([]string{on.entry.URL, on.entry.Cwd}, on.entry.Command...), "\x00")))
	return hex.EncodeToString(sum[:8])
}

// asOuter returns the request as the calls see it that are made for it.
func (c *call) asOuter() *outer {
	o := &outer{
		user: c.who.user, token: c.who.token, verified: c.who.verified, id: c.req.id,
		name: c.on.entry.Name, trace: c.trace, stdio: c.req.stdio,
		apart: slices.Clone(c.req.identifiedBy(identityWords(&c.who.verified))),
	}
	from := c.req.from // which is not ours once the call has ended
	o.from = &http.Request{URL: new(url.URL), Host: from.Host, TLS: from.TLS, RemoteAddr: from.RemoteAddr, Header: http.Header{}}
	*o.from.URL = *from.URL
	o.sent = c.req.header["Authorization"]
	if len(o.apart) == 0 && c.session != nil {
		o.apart = []string{"session", c.session.ID}
	}
	return o
}

// modernMeta returns the client's introduction in the form of the modern era.
func (r *request) modernMeta() json.Value {
	if r.era == wire.Modern {
		return r.msg.Meta
	}
	return json.Value(`{"` + wire.MetaProtocolVersion + `":"` + wire.Version20260728 + `","` + wire.MetaClientCapabilities + `":{}}`)
}

// memberReads reports whether a tool that clients call offered only reads, by what is known of all servers
// that may have it.
func (c *call) memberReads(offered string) bool {
	known, r := false, c.who.request(c.upstreamHeader(), nil)
	r.Message = &wire.Message{Meta: c.req.modernMeta()}
	for i, m := range c.on.many.members {
		local, ok := m.names.Local(offered)
		if !ok {
			continue
		}
		raw, listed := c.on.many.conn.Listed(c.ctx, r, c.on.many.options.Servers[i], local)
		if listed && raw == nil {
			continue // it has no such tool
		}
		if m.on.natureOf(local, m.on.entry.Tool(local), toollist.ReadTool(raw)) != retry.Reads {
			return false
		}
		known = true
	}
	return known
}

// An outer is a request at an endpoint with several servers, as seen by the calls that are made for it at the
// servers. It may outlive its own call.
type outer struct {
	user     string // as in its own caller
	token    string
	verified authn.Identity
	from     *http.Request // as the call's own, without headers
	id       string
	name     string // of the endpoint
	stdio    bool
	trace    spanContext
	apart    []string // tells the client apart at a program that is not shared

	relayed bool // a server answers it
	free    bool // limits do not charge for its answer
	spanned bool // a nested call is reported as its span

	sent    []string // the client's credentials
	reading reading
}

// A reading is what nested calls learn about whether the client has got its answer.
type reading struct {
	mu    sync.Mutex
	known bool
	read  bool
	then  []func(read bool)
}

// whenRead calls do when it is known whether the client has got the whole answer.
func (o *outer) whenRead(do func(read bool)) {
	r := &o.reading
	r.mu.Lock()
	known, read := r.known, r.read
	if !known {
		r.then = append(r.then, do)
	}
	r.mu.Unlock()
	if known {
		do(read)
	}
}

// read says whether the client has got the whole answer.
func (o *outer) read(read bool) {
	r := &o.reading
	r.mu.Lock()
	r.known, r.read = true, read
	then := r.then
	r.then = nil
	r.mu.Unlock()
	for _, do := range then {
		do(read)
	}
}

// A memberConn is one server of an endpoint with several, as a connection: a request takes that server's own
// stages through the gateway, from connect on.
type memberConn struct {
	on     *endpoint
	names  *config.Member
	relays bool // the answers are for the client; otherwise the gateway reads them
}

var _ upstream.Connection = (*memberConn)(nil)

// Name returns the server's display name.
func (m *memberConn) Name() string { return m.on.entry.Title }

// Close does nothing: someone else owns the server.
func (*memberConn) Close() {}

// Do implements [upstream.Connection] for requests of the modern era.
func (m *memberConn) Do(ctx context.Context, r *upstream.Request) (*wire.Answer, error) {
	of, _ := r.Outer.(*outer)
	if of == nil {
		return nil, internal(errors.New("a request at an endpoint with several servers comes from nowhere"))
	}
	resp, err := m.on.g.nested(ctx, m.on.entry.Title, func(ctx context.Context, c *call) error {
		c.req.come(ctx, http.MethodPost, r.Header, of.from)
		return m.prepare(c, of, r)
	})
	if err == nil && m.relays {
		of.relayed = true
	}
	return resp, err
}

// nested carries out a call that is made for another one, and that prepare begins, for the server of that title. It returns the answer
// once that begins.
func (g *Gateway) nested(ctx context.Context, title string, prepare func(ctx context.Context, c *call) error) (*wire.Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := g.newCall()
	h := hop.New(cancel, func() *recourse.Error { return c.out.Record })
	c.reply.W, c.req.nested = h, true
	if err := prepare(ctx, c); err != nil {
		cancel()
		c.release()
		return nil, err
	}
	c.req.intake = intake.Intake{From: c.req.from}
	g.work.Anyway(func(life context.Context) {
		h.Serve(life, func() (broken bool) {
			defer c.release()
			_ = c.table.nested(c) // there is an answer
			return c.reply.Broken
		})
	})
	if resp, ok := h.Answer(); ok {
		return resp, nil
	}
	cancel()
	return nil, upstream.Broken(ctx, title, cmp.Or(context.Cause(ctx), context.Canceled)) // nobody waits for it
}

// internal is the failure of a call that is not sent because of a fault of the gateway's own.
func internal(cause error) *recourse.Error {
	return recourse.Internal().WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).CausedBy(cause)
}

// prepare makes c the call for a request that another endpoint has let in.
func (m *memberConn) prepare(c *call, of *outer, r *upstream.Request) error {
	c.req.id, c.req.stdio, c.req.era, c.req.user = of.id, of.stdio, wire.Modern, of.user
	c.member, c.of = m, of
	c.req.body, c.req.parsed = r.Body, r.Message
	if r.Message != nil {
		c.req.body = r.Message.Raw
	}
	if !m.enter(c) {
		return m.on.removed()
	}
	verified := of.verified
	verified.Headers = nil // so that forwarded headers tell callers apart there
	c.identify(&verified, of)
	c.trace = of.traced(m.relays)
	if err := c.req.parse(); err != nil {
		return internal(err)
	}
	return nil
}

// enter holds the server's backend open for a call, as [call.enter] does for a request at an endpoint of its own.
func (m *memberConn) enter(c *call) bool {
	on := m.on
	for {
		if c.hold(on) {
			return true
		}
		now := c.g.table.Load().named[on.entry.Name]
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
	switch {
	case t.Own.IsZero():
		return t
	case relays && !o.spanned:
		o.spanned = true
		return t
	}
	return spanContext{Span: observe.Span{Own: t.Own.Child(), Parent: t.Own, State: t.State}, baggage: t.baggage}
}

// isRelayed reports whether a server's own call answers the request, and is reported in its place.
func (o *outer) isRelayed() bool { return o != nil && o.relayed }

// offer tells the contract the names by which clients know the server's tools. A nil member's are the server's own.
func (m *memberConn) offer(call *contract.Call) {
	if m == nil {
		return
	}
	names, has := m.names, call.HasTool
	call.Relay.Offered = func(tool string) (name string, known bool) {
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

// offeredName returns the clients' name for a tool of the server, and whether they are offered that tool.
func (m *memberConn) offeredName(tool string) (name string, ok bool) {
	if m == nil {
		return tool, true
	}
	return m.names.Offered(tool)
}
