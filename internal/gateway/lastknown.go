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
		InOrder: on.entry.Command != nil,
		Of:      func(r *upstream.Request) upstream.Caller { return r.Caller },
		Note:    func(text string) { on.g.log.Warn(text, slog.String("server", on.entry.Name)) },
	}
}

// lastKnown lets a client start although the server is down: what it asks then is answered with what the server has last said. What
// is wrong it is told when it calls a tool, and only then do most agents show it to anybody.
func lastKnown(c *call, next next) *failure {
	f := next(c)
	if f == nil || !isDown(f) || c.reply.Started || c.req.left() || access.Lapsed(c.ctx) != nil {
		return f
	}
	s := c.start
	if s == nil {
		return f
	}
	told := c.failing(&f.Last)
	e := told.settle(f.Err)
	written := c.on.contract.Write(e, told.describe(e, 0))
	if written.Surface == contract.SurfaceHTTP { // the contract's document says so
		return f
	}
	if !s.isKnown() && c.on.entry.Local && errors.Is(f.Err.Cause(), upstream.ErrNotStarted) {
		return f // the host's own entry is wrong: it says so to its person
	}
	c.survive(e, "the client is told what the server last said")
	result := s.recall(e.Kind == recourse.KindTimeout, written.Record)
	if c.req.msg.Method == wire.MethodInitialize {
		c.reply.Header()[wire.HeaderSession] = []string{c.unopenedSession().ID}
	}
	text := wire.AppendResult(nil, c.req.msg.ID, result)
	if c.on.editsList(&c.req) {
		text = c.editList(c.pinned(text, true))
	}
	c.answer(http.StatusOK, text)
	return nil
}

// isDown reports whether a request has failed because the server is down: it has not said anything that the client needs to know.
func isDown(f *failure) bool {
	if f.Refusal || f.Passed || f.Off || f.Text != nil {
		return false
	}
	switch f.Err.Kind {
	case recourse.KindUnreachable, recourse.KindUnavailable, recourse.KindTimeout, recourse.KindServerError, recourse.KindBadResponse:
		return true
	default:
		return f.Last.Status == http.StatusTooManyRequests
	}
}

// A startup is a request that clients make when they start, and that is answered although the server is down.
type startup struct {
	lists   *many.Conn
	on      *endpoint
	req     *request
	session *session.Session // of a legacy client; nil: it has none yet
	method  string           // of the modern era
	ask     *upstream.Request
}

// startup returns what the call is, or nil if it is none.
func (c *call) startup() *startup {
	m := c.req.msg
	if c.member != nil || c.on.source == nil || c.on.entry.Errors == config.ErrorsProtocol || !c.req.asks() {
		return nil
	}
	method := wire.MethodDiscover
	switch {
	case m.Method == wire.MethodToolsList && m.Cursor == nil:
		method = wire.MethodToolsList
	case m.Method != wire.MethodInitialize && m.Method != wire.MethodDiscover:
		return nil
	}
	s := &startup{lists: c.g.lists, on: c.on, req: &c.req, session: c.session, method: method}
	// It asks the server in the client's place. If what it lists depends on who asks, its Caller says who.
	s.ask = c.who.request(c.upstreamHeader(), nil)
	s.ask.Message, s.ask.Outer, s.ask.Caller = &wire.Message{Meta: c.req.modernMeta()}, c.asOuter(), upstream.Caller{}
	if c.on.listsDiffer() && (!c.who.owner.IsAnonymous() || !c.who.server.IsAnonymous()) {
		s.ask.Caller = upstream.CallerOf(string(c.who.owner[:]), string(c.who.server[:]))
	}
	return s
}

func (s *startup) isKnown() bool { return s.lists.Knows(s.ask, s.on.source, s.method) }

// patience returns how long the server may take: not long, unless it is a program that may still have to be installed.
func (s *startup) patience(usual time.Duration) time.Duration {
	if s == nil || usual <= slow || s.on.entry.Command != nil && !s.isKnown() {
		return usual
	}
	return slow
}

// recall returns what the server has last said, in the form of the client's era. If the server is only slow, it is listened to.
func (s *startup) recall(slow bool, failed *recourse.Error) json.Value {
	of := s.session
	if of != nil && s.method == wire.MethodToolsList {
		of.Recalled.Store(true)
	}
	if slow {
		s.lists.Renew(s.ask, s.on.source, s.method, func() { announceTools(of, of.Say) })
	}
	result := s.lists.LastKnown(s.ask, s.on.source, s.method, failed)
	switch m := s.req.msg; {
	case m.Method == wire.MethodInitialize:
		asked := m.ProtocolVersion
		if kept := json.Text(result, "/protocolVersion"); kept != "" && kept < asked {
			asked = kept
		}
		greeting := json.MembersOf(bridge.Greeting(result, asked, s.on.entry.Title))
		greeting.Add("_meta", json.Without(json.Lookup(result, "/_meta"), wire.MetaServerInfo))
		return greeting.AppendTo(nil)
	case m.Method == wire.MethodDiscover:
		return json.Without(result, "protocolVersion")
	case s.req.era == wire.Legacy:
		return json.Without(json.Without(json.Without(result, "resultType"), "ttlMs"), "cacheScope")
	default:
		return result
	}
}

// hear keeps an answer of the server's for later.
func (s *startup) hear(text []byte) {
	if s == nil {
		return
	}
	if s.session != nil && s.method == wire.MethodToolsList {
		s.session.Recalled.Store(false)
	}
	result := json.Lookup(text, "/result")
	if s.req.msg.Method == wire.MethodInitialize {
		said := json.MembersOf(bridge.Discovered(result))
		said.Add("protocolVersion", json.Lookup(result, "/protocolVersion"))
		result = said.AppendTo(nil)
	}
	s.lists.Heard(s.ask, s.on.source, s.method, result)
}

// announceTools tells a client to which the gateway has shown a list of tools from memory that there may be another one.
func announceTools(to *session.Session, say func(message []byte) error) {
	if to != nil && to.Recalled.CompareAndSwap(true, false) && say(wire.AppendRequest(nil, nil, wire.MethodToolsChanged, nil)) != nil {
		to.Recalled.Store(true)
	}
}
