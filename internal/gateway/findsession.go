package gateway

import (
	"context"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// findSession looks up the session that a legacy message names. A session that is unknown, or was opened with
// other credentials, such as a token that has since been refreshed, is answered with 404, which tells clients
// to initialize a new one (MCP 2025-11-25, basic/transports, "Session Management").
func findSession(c *call, next next) *failure {
	id := c.req.header.Get(wire.HeaderSession)
	if c.req.era != wire.Legacy || id == "" || c.req.msg.Method == wire.MethodInitialize {
		return next(c)
	}
	scope, header := c.table.sessions(c.on, c.who.owner), func() http.Header { return adopted(c.on.kept(c.upstreamHeader())) }
	if c.session = scope.Find(c.req.ctx, id, header); c.session == nil {
		return refuse(http.StatusNotFound, recourse.New(recourse.KindUnknownSession, ""))
	}
	if g, s, redis := c.g, c.session, scope.Redis; redis != nil && s.IsDue() { // the call may be over by then
		g.background(g.reach.Redis, func(ctx context.Context) { s.Extend(ctx, redis, g.log) })
	}
	return next(c)
}

// sessions returns the sessions that a caller can name at an endpoint.
func (t *table) sessions(on *endpoint, owner upstream.Caller) session.Scope {
	to := on.to
	return session.Scope{
		Caller: owner, Endpoint: on.entry.Name, Store: to.backend.Sessions, Place: to.backend.Place, URL: to.entry.URL,
		Sealer: t.sealer, Redis: t.redis, Log: on.g.log,
	}
}
