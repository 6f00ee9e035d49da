package gateway

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/retry"
)

// findSession looks up the session that a legacy message names. A session that is unknown, or was opened with
// other credentials, such as a token that has since been refreshed, is answered with 404, which tells clients
// to initialize a new one (MCP 2025-11-25, basic/transports, "Session Management").
func findSession(c *call, next next) *failure {
	id := c.req.header.Get(wire.HeaderSession)
	if c.req.era != wire.Legacy || id == "" || c.req.msg.Method == wire.MethodInitialize {
		return next(c)
	}
	scope := c.sessions()
	header := func() http.Header { return adopted(c.on.kept(c.upstreamHeader())) }
	var err error
	switch c.session, err = scope.Find(c.req.ctx, id, header); {
	case err != nil:
		return answer.Settled(recourse.Unavailable("").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
			WithRetryAfter(sessionWait).CausedBy(err).WithMessage("The session cannot be looked up at the moment."))
	case c.session == nil:
		return answer.Refuse(http.StatusNotFound, recourse.New(recourse.KindUnknownSession, ""))
	}
	if g, s, redis := c.g, c.session, scope.Redis; redis != nil && s.IsDue() { // the call may be over by then
		g.background(g.reach.Redis, func(ctx context.Context) { s.Extend(ctx, redis, g.log) })
	}
	return next(c)
}

// sessions returns those that the caller can name at the endpoint.
func (c *call) sessions() session.Scope {
	return session.Scope{
		Caller: c.who.owner, Endpoint: c.on.entry.Name, Store: c.on.backend.Sessions, Place: c.on.backend.Place, URL: c.on.entry.URL,
		Sealer: c.table.sealer, Redis: c.table.redis, Work: c.g.work, Log: c.g.log,
	}
}

const (
	// sessionWait is how long a client is told to wait for Redis, which knows its session.
	sessionWait = time.Second
	// maxInitialize limits how much of the answer to initialize is read for a session.
	maxInitialize = 1 << 20
	// renewTimeout limits how long renewing a session at the server may take.
	renewTimeout = 15 * time.Second
)

// openSession creates a session from the answer to initialize, if the server assigned it an id.
func (c *call) openSession() {
	if id := c.in.Resp.Header.Get(wire.HeaderSession); id != "" {
		c.session = c.newSession(c.ctx, c.sessions(), id)
		c.reply.Header()[wire.HeaderSession] = []string{c.session.ID}
	}
}

// newSession creates a session that the server knows by that id.
func (c *call) newSession(ctx context.Context, in session.Scope, id string) *session.Session {
	return in.Open(ctx, id, session.Opening{Body: c.req.body, ID: c.req.msg.ID, Header: c.on.kept(c.upstreamHeader())})
}

// unopenedSession creates a session that no server knows yet.
func (c *call) unopenedSession() *session.Session {
	scope := c.sessions()
	scope.Place, scope.URL = nil, ""
	return c.newSession(c.req.ctx, scope, "")
}

// removeSession ends the client's session, whose id is then unknown.
func (c *call) removeSession() {
	scope := c.sessions()
	scope.Remove(c.ctx, c.session)
}

// isUnopened reports whether the client's session has not been opened at any server.
func (c *call) isUnopened() bool {
	if c.session == nil {
		return false
	}
	where, _, _ := c.session.At()
	return where == nil
}

// kept removes the headers that concern a single request, such as tracing: with the others its session can be opened
// again.
func (on *endpoint) kept(header http.Header) http.Header {
	maps.DeleteFunc(header, func(name string, _ []string) bool {
		return strings.HasPrefix(name, wire.HeaderParamPrefix) || slices.Contains(ofOneRequest, name) && !on.forwards(name)
	})
	return header
}

// ofOneRequest are headers that concern a single request.
var ofOneRequest = []string{
	wire.HeaderTraceParent, wire.HeaderTraceState, wire.HeaderBaggage, wire.HeaderRequestID,
	wire.HeaderLastEventID, wire.HeaderMethod, wire.HeaderName,
}

// adopted turns the kept headers of a later request into those of the initialize that opened its session in another
// process.
func adopted(header http.Header) http.Header {
	header.Del(wire.HeaderSession)
	header.Del(wire.HeaderVersion) // initialize has none
	header["Content-Type"] = []string{wire.TypeJSON}
	return header
}

// moveSession opens the session at the server if that has replaced the one at which the session was opened. Nothing has
// been sent yet, so this is safe for any message.
func (c *call) moveSession() *recourse.Error {
	if c.session == nil {
		return nil
	}
	where, _, generation := c.session.At()
	if where == c.on.backend.Place {
		return nil
	}
	return c.openAgain(generation)
}

// openAgain renews the session, if necessary with several attempts: nothing is sent but initialize.
func (c *call) openAgain(generation int) *recourse.Error {
	for attempt := 1; ; attempt++ {
		err := c.renew(c.ctx, generation)
		if err == nil {
			return nil
		}
		e := recourse.From(err).WithEffect(recourse.EffectNone)
		d := c.on.policy.Decide(e, retry.Reads, attempt, c.deadline.Left())
		if !d.Repeat || !c.on.backend.Budget.Take() || !pause.For(c.ctx, d.Wait) {
			return e
		}
	}
}

// renew reopens the session at a server that does not know that generation of it. However many callers find this
// out, it is done once, and all of them wait for it.
func (c *call) renew(ctx context.Context, generation int) error {
	g, up, of, open, r := c.g, c.on, c.session, c.session.Opening(), c.reopening() // the call may be over when they are used
	scope := c.sessions()
	renewal, begun := of.Renew(generation)
	if renewal == nil {
		return nil
	}
	switch {
	case !begun:
	case !up.backend.Hold():
		renewal.End("", nil, up.removed())
	default:
		g.background(min(renewTimeout, up.entry.Timeout), func(ctx context.Context) {
			defer up.backend.Leave()
			id, err := up.reopen(ctx, r, open.ID)
			renewal.End(id, up.backend.Place, err)
			if err == nil {
				up.askAgain(ctx, r, scope.Asked(ctx, of))
			}
		})
	}
	select {
	case <-renewal.Done:
		return renewal.Err
	case <-ctx.Done():
		return up.broken(ctx, context.Cause(ctx))
	}
}

// reopening returns the client's own initialize that opened the session, on behalf of the caller. A program sees no
// credentials, so its clients may change theirs within a session: the caller's are used.
func (c *call) reopening() *upstream.Request {
	open := c.session.Opening()
	header := open.Header.Clone()
	if header != nil {
		header[wire.HeaderRequestID] = []string{c.req.id}
		if c.who.verified.Known() { // the credentials may have been refreshed since
			for _, name := range c.on.forward {
				header[name] = c.req.forwarded(name)
			}
		}
	}
	return c.who.request(header, open.Body)
}

// reopen sends the client's own initialize again with that id, and then what follows it.
func (on *endpoint) reopen(ctx context.Context, r *upstream.Request, id wire.ID) (serverID string, err error) {
	if r.Body == nil {
		return "", recourse.New(recourse.KindUnknownSession, "").WithOrigin(recourse.OriginServer)
	}
	said, err := upstream.Ask(ctx, on.up, r.Clone(), id, maxInitialize)
	if err != nil {
		return "", err
	}
	if said.Status != http.StatusOK {
		return "", on.reader.HTTP(said.Status, said.Header, said.Body, "").Error()
	}
	serverID = said.Header.Get(wire.HeaderSession)
	if said.Error != nil {
		return "", recourse.BadResponse(on.entry.Title).WithMessage("%s refused to open the session again.", on.entry.Title).
			WithOrigin(recourse.OriginServer).WithEffect(recourse.EffectNone)
	}
	if serverID != "" {
		r.Header[wire.HeaderSession] = []string{serverID}
	}
	if version := json.Text(said.Result, "/protocolVersion"); version != "" {
		r.Header[wire.HeaderVersion] = []string{version}
	}
	r.Body = wire.AppendRequest(nil, nil, wire.MethodInitialized, nil)
	resp, err := on.up.Do(ctx, r.Clone())
	if err != nil {
		return "", err
	}
	return serverID, resp.Close()
}

// askAgain asks of a session that has just been opened again, with the headers of that, what was asked of the one before it.
func (on *endpoint) askAgain(ctx context.Context, r *upstream.Request, all []session.Asked) {
	for i, asked := range all {
		id, ask := wire.ID(fmt.Sprintf(`"again-%d"`, i)), r.Clone()
		ask.Body = wire.AppendRequest(nil, id, asked.Method, asked.Params)
		_, _ = upstream.Ask(ctx, on.up, ask, id, maxPong) // a server that refuses it now tells nothing
	}
}

// hasLost reports whether the server does not know the session that it was sent, and so did nothing. A
// 404 says so (MCP 2025-11-25, basic/transports, "Session Management"). The words of a 400 alone prove
// nothing: the server is asked whether the session is gone.
func (c *call) hasLost(sent string, status int, e *recourse.Error) bool {
	switch {
	case c.session == nil || sent == "":
		return false
	case status == http.StatusNotFound:
		return true
	case status != http.StatusBadRequest || e.Kind != recourse.KindUnknownSession:
		return false
	}
	header := c.upstreamHeader()
	header["Content-Type"] = []string{wire.TypeJSON}
	header[wire.HeaderSession] = []string{sent}
	id := wire.ID(fmt.Sprintf(`"%s-ping"`, c.req.id))
	return c.on.lost(c.ctx, c.who.request(header, wire.AppendRequest(nil, id, wire.MethodPing, nil)), id)
}

// pingTimeout limits how long a server may take to answer a ping.
const pingTimeout = 5 * time.Second

// maxPong limits how much is read of the answer to a ping, or to another request without a result worth reading.
const maxPong = 64 << 10

// lost asks the server, with a ping, whether it has lost the session that the ping names.
func (on *endpoint) lost(ctx context.Context, ping *upstream.Request, id wire.ID) bool {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	said, err := upstream.Ask(ctx, on.up, ping, id, maxPong)
	return err == nil && (said.Status == http.StatusNotFound || said.Status == http.StatusBadRequest)
}
