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
	"github.com/recoursehq/recourse/internal/gateway/session"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

const (
	// maxInitialize limits how much of the answer to initialize is read for a session.
	maxInitialize = 1 << 20
	// renewTimeout limits how long renewing a session at the server may take.
	renewTimeout = 15 * time.Second
)

// openSession creates a session from the answer to initialize, if the server assigned it an id.
func (c *call) openSession() {
	if id := c.in.resp.Header.Get(wire.HeaderSession); id != "" {
		scope := c.table.sessions(c.on, c.who.owner)
		c.session = scope.Open(c.ctx, id, session.Opening{Body: c.req.body, ID: c.req.msg.ID, Header: c.on.kept(c.upstreamHeader())})
		c.reply.header()[wire.HeaderSession] = []string{c.session.ID}
	}
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

// moveSession opens c's session at its server if that server has replaced the one at which the session was
// opened. Nothing has been sent yet, so this is safe for any message.
func (c *call) moveSession() *recourse.Error {
	if c.session == nil {
		return nil
	}
	where, _, generation := c.session.At()
	if where == c.on.to.backend.Place {
		return nil
	}
	if err := c.renewSession(c.ctx, generation); err != nil {
		return recourse.From(err).WithEffect(recourse.EffectNone)
	}
	return nil
}

// renewSession reopens the session at a server that does not know that generation of it. However many callers
// find this out, it is done once, and all of them wait for it.
func (c *call) renewSession(ctx context.Context, generation int) error {
	up, open, r := c.on.to, c.session.Opening(), c.opening() // the call may be over when they are used
	renewal, begun := c.session.Renew(generation)
	if renewal == nil {
		return nil
	}
	switch {
	case !begun:
	case !up.backend.Hold():
		renewal.End("", nil, up.removed())
	default:
		c.g.background(min(renewTimeout, up.entry.Timeout), func(ctx context.Context) {
			defer up.backend.Leave()
			id, err := up.reopen(ctx, r, open.ID)
			renewal.End(id, up.backend.Place, err)
		})
	}
	select {
	case <-renewal.Done:
		return renewal.Err
	case <-ctx.Done():
		return c.on.to.broken(ctx, context.Cause(ctx))
	}
}

// opening returns the client's own initialize, on behalf of c's caller. A program sees no credentials, so its
// clients may change theirs within a session: c's are used.
func (c *call) opening() *upstream.Request {
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
	return c.request(header, open.Body)
}

// reopen sends the client's own initialize again with that id, and then what follows it.
func (to *target) reopen(ctx context.Context, r *upstream.Request, id wire.ID) (serverID string, err error) {
	if r.Body == nil {
		return "", recourse.New(recourse.KindUnknownSession, "").WithOrigin(recourse.OriginServer)
	}
	answer, err := upstream.Ask(ctx, to.up, r.Clone(), id, maxInitialize)
	if err != nil {
		return "", err
	}
	if answer.Status != http.StatusOK {
		return "", to.reader.HTTP(answer.Status, answer.Header, answer.Body, "").Error()
	}
	serverID = answer.Header.Get(wire.HeaderSession)
	if answer.Error != nil {
		return "", recourse.BadResponse(to.entry.Title).WithMessage("%s refused to open the session again.", to.entry.Title).
			WithOrigin(recourse.OriginServer).WithEffect(recourse.EffectNone)
	}
	if serverID != "" {
		r.Header[wire.HeaderSession] = []string{serverID}
	}
	if version := json.Text(answer.Result, "/protocolVersion"); version != "" {
		r.Header[wire.HeaderVersion] = []string{version}
	}
	r.Body = wire.AppendRequest(nil, nil, wire.MethodInitialized, nil)
	resp, err := to.up.Do(ctx, r)
	if err != nil {
		return "", err
	}
	return serverID, resp.Close()
}

// lostSession reports whether the server does not know the session that it was sent, and so did nothing. A
// 404 says so (MCP 2025-11-25, basic/transports, "Session Management"). The words of a 400 alone prove
// nothing: the server is asked whether the session is gone.
func (c *call) lostSession(sent string, status int, e *recourse.Error) bool {
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
	return c.on.to.lost(c.ctx, c.request(header, wire.AppendRequest(nil, id, wire.MethodPing, nil)), id)
}

// pingTimeout limits how long a server may take to answer a ping.
const pingTimeout = 5 * time.Second

// lost asks the server, with a ping, whether it has lost the session that the ping names.
func (to *target) lost(ctx context.Context, ping *upstream.Request, id wire.ID) bool {
	const maxPong = 64 << 10
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	answer, err := upstream.Ask(ctx, to.up, ping, id, maxPong)
	return err == nil && (answer.Status == http.StatusNotFound || answer.Status == http.StatusBadRequest)
}
