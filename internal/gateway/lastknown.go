package gateway

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/access"
	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/upstream/bridge"
	"github.com/recoursehq/recourse/internal/upstream/many"
)

// slow is how long a client that starts waits for a server: some agents wait for 3 s.
const slow = 2 * time.Second

// newSource returns the server as package many keeps its last answers.
func (on *endpoint) newSource() *many.Source {
	names := &config.Member{Name: on.entry.Name}
	return &many.Source{
		Name: on.entry.Name, Title: on.entry.Title, Names: names, Place: placeOf(on), Ask: &memberConn{on: on, names: names},
		Of:   func(r *upstream.Request) upstream.Caller { return r.Caller },
		Note: func(text string) { on.g.log.Warn(text, slog.String("server", on.entry.Name)) },
	}
}

// lastKnown lets a client start although the server is down: what it asks then is answered with what the server has last said. What
// is wrong it is told when it calls a tool, and only then do most agents show it to anybody.
func lastKnown(c *call, next next) *failure {
	f := next(c)
	if f == nil || !c.isAtStart() || !c.isAway(f) {
		return f
	}
	told := c.failing(&f.Last)
	e := told.settle(f.Err)
	written := c.on.contract.Write(e, told.describe(e, 0))
	if written.Surface == contract.SurfaceHTTP { // the contract's document says so
		return f
	}
	r, method := c.lister(), c.methodAtStart()
	known := c.g.lists.Knows(r, c.on.source, method)
	if !known && c.on.entry.Local && errors.Is(f.Err.Cause(), upstream.ErrNotStarted) {
		return f // the host's own entry is wrong: it says so to its person
	}
	c.survive(e, "the client is told what the server last said")
	if c.session != nil && method == wire.MethodToolsList {
		c.session.Recalled.Store(true)
	}
	if e.Kind == recourse.KindTimeout {
		of := c.session
		c.g.lists.Renew(r, c.on.source, method, func() { announceTools(of, of.Say) })
	}
	c.sendLastKnown(c.g.lists.LastKnown(r, c.on.source, method, written.Record))
	return nil
}

// isAtStart reports whether the request is one that clients make when they start, and is answered although the server is away.
func (c *call) isAtStart() bool {
	if c.member != nil || c.on.source == nil || c.on.to.entry.Errors == config.ErrorsProtocol || !c.req.asks() {
		return false
	}
	switch c.req.msg.Method {
	case wire.MethodInitialize, wire.MethodDiscover:
		return true
	case wire.MethodToolsList:
		return c.req.msg.Cursor == nil
	default:
		return false
	}
}

// methodAtStart returns the method of the modern era.
func (c *call) methodAtStart() string {
	if c.req.msg.Method == wire.MethodToolsList {
		return wire.MethodToolsList
	}
	return wire.MethodDiscover
}

// patienceAtStart returns how long the server may take: not long, unless it is a program that may still have to be installed.
func (c *call) patienceAtStart(usual time.Duration) time.Duration {
	if usual <= slow || !c.isAtStart() || c.on.entry.Command != nil && !c.g.lists.Knows(c.lister(), c.on.source, c.methodAtStart()) {
		return usual
	}
	return slow
}

// announceTools tells a client to which the gateway has shown a list of tools from memory that there may be another one.
func announceTools(to *session.Session, say func(message []byte) error) {
	if to != nil && to.Recalled.CompareAndSwap(true, false) && say(wire.AppendRequest(nil, nil, wire.MethodToolsChanged, nil)) != nil {
		to.Recalled.Store(true)
	}
}

// lister returns the request that asks the server in the client's place. If what it lists depends on who asks, its Caller says who.
func (c *call) lister() *upstream.Request {
	if c.asker != nil {
		return c.asker
	}
	r := c.who.request(c.req.upstreamHeader(c.on, &c.who, &c.rule), nil)
	r.Message, r.Outer, r.Caller = &wire.Message{Meta: c.req.modernMeta()}, c.asOuter(), upstream.Caller{}
	if c.on.listsDiffer() && (!c.who.owner.IsAnonymous() || !c.who.server.IsAnonymous()) {
		r.Caller = upstream.CallerOf(string(c.who.owner[:]), string(c.who.server[:]))
	}
	c.asker = r
	return r
}

// isAway reports whether a request has failed because the server is away: it has not said anything that the client needs to know.
func (c *call) isAway(f *failure) bool {
	if f.Refusal || f.Passed || f.Off || f.Text != nil || c.reply.Started || c.req.left() || access.Lapsed(c.ctx) != nil {
		return false
	}
	switch f.Err.Kind {
	case recourse.KindUnreachable, recourse.KindUnavailable, recourse.KindTimeout, recourse.KindServerError, recourse.KindBadResponse:
		return true
	default:
		return f.Last.Status == http.StatusTooManyRequests
	}
}

// sendLastKnown answers the client. A session that it opens is opened at the server before its first call.
func (c *call) sendLastKnown(result json.Value) {
	m := c.req.msg
	switch {
	case m.Method == wire.MethodInitialize:
		asked := m.ProtocolVersion
		if kept := json.Text(result, "/protocolVersion"); kept != "" && kept < asked {
			asked = kept
		}
		greeting := json.MembersOf(bridge.Greeting(result, asked, c.on.entry.Title))
		greeting.Add("_meta", json.Without(json.Lookup(result, "/_meta"), wire.MetaServerInfo))
		result = greeting.AppendTo(nil)
		c.openSessionLater()
	case m.Method == wire.MethodDiscover:
		result = json.Without(result, "protocolVersion")
	case c.req.era == wire.Legacy:
		result = json.Without(json.Without(json.Without(result, "resultType"), "ttlMs"), "cacheScope")
	}
	text := wire.AppendResult(nil, m.ID, result)
	if c.on.editsList(&c.req) {
		text = c.editList(text)
	}
	c.reply.Message(http.StatusOK, m.ID, text)
}

// hear keeps an answer of the server's for later.
func (c *call) hear(text []byte) {
	if !c.isAtStart() {
		return
	}
	if c.session != nil && c.req.msg.Method == wire.MethodToolsList {
		c.session.Recalled.Store(false)
	}
	result := json.Lookup(text, "/result")
	if c.req.msg.Method == wire.MethodInitialize {
		said := json.MembersOf(bridge.Discovered(result))
		said.Add("protocolVersion", json.Lookup(result, "/protocolVersion"))
		result = said.AppendTo(nil)
	}
	c.g.lists.Heard(c.lister(), c.on.source, c.methodAtStart(), result)
}
