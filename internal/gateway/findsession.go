package gateway

import (
	"context"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/wire"
)

// findSession looks up the session that a legacy message names. A session that is unknown, or was opened with
// other credentials, such as a token that has since been refreshed, is answered with 404, which tells clients
// to initialize a new one (MCP 2025-11-25, basic/transports, "Session Management").
func findSession(c *call, next next) error {
	id := c.req.http.Header.Get(wire.HeaderSession)
	if c.req.era != wire.Legacy || id == "" || c.req.msg.Method == wire.MethodInitialize {
		return next(c)
	}
	scope := c.sessions()
	if c.session = scope.Find(c.req.http.Context(), id, c.adoptedHeader); c.session == nil {
		return refuse(http.StatusNotFound, recourse.New(recourse.KindUnknownSession, ""))
	}
	if g, s, redis := c.g, c.session, scope.Redis; redis != nil && s.IsDue() { // the call may be over by then
		g.background(g.reach.Redis, func(ctx context.Context) { s.Extend(ctx, redis, g.log) })
	}
	return next(c)
}

// sessions returns the sessions that the caller can name.
func (c *call) sessions() session.Scope {
	return session.Scope{
		Caller: c.who.owner, Endpoint: c.on.Name, Store: c.to.Sessions, Place: c.to.Place, URL: c.to.URL,
		Sealer: c.table.sealer, Redis: c.table.redis, Log: c.g.log,
	}
}
