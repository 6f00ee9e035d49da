package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/toollist"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// validate checks a call's arguments against the tool's inputSchema, and the headers that mirror them, so
// that every violation is reported at once and the server never sees the call. If the schema is not known,
// the call passes.
func validate(c *call, next next) *failure {
	refuse := func(t *toolcall.Entry) *recourse.Error { return c.req.refuseArguments(c.ctx, t) }
	if e := c.rule.listed.Check(refuse, c.listAgain); e != nil && c.mayRefuse() {
		if f := c.on.mode.object(c, e); f != nil {
			return f
		}
	}
	return next(c)
}

func (r *request) refuseArguments(ctx context.Context, t *toolcall.Entry) *recourse.Error {
	if r.era == wire.Modern && !r.stdio {
		if err := wire.CheckParamHeaders(r.header, r.msg.Arguments, t.ParamHeaders()); err != nil {
			return door.Refused(err).WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
		}
	}
	return t.Refuse(ctx, r.msg.Arguments)
}

// listRequest is a call as package toollist sees it: it asks for the list of its caller's tools.
type listRequest struct{ *call }

// Key implements [toollist.Call]: callers are told apart by their credentials, and, if each has its own
// program, by the session or its substitute.
func (c listRequest) Key() upstream.Caller {
	switch {
	case len(c.on.entry.Command) == 0 || c.on.entry.Share != config.ShareClient:
		return c.who.id
	case c.session != nil:
		return upstream.CallerOf("session", c.session.ID)
	default:
		return c.who.server
	}
}

// Asker implements [toollist.Call]: a server may list other tools in another session, or for a client with
// more capabilities.
func (c listRequest) Asker() upstream.Caller {
	if c.session != nil {
		return upstream.CallerOf("session", c.session.ID)
	}
	return upstream.CallerOf("client", string(c.req.msg.ClientInfo), string(c.req.msg.ClientCapabilities))
}

func (c listRequest) HeldBack() bool { return c.on.holdsBack(c.rule.lane(&c.req)) != nil }

func (c listRequest) Timeout() time.Duration { return c.on.entry.Timeout }

func (c listRequest) Failed(cause error) (gone bool) {
	c.g.log.LogAttrs(c.ctx, slog.LevelWarn, "tools/list failed: arguments are not checked",
		slog.String("server", c.on.entry.Name), slog.String("request_id", c.req.id), slog.Any("cause", c.private().Mask(cause)))
	return c.req.left()
}

func (c listRequest) Page(ctx context.Context, page int, cursor json.Value, limit int) (json.Value, error) {
	id := wire.ID(fmt.Sprintf(`"%s-tools-%d"`, c.req.id, page))
	params := json.Members{{Name: "cursor", Value: cursor}}
	header := c.upstreamHeader()
	header["Content-Type"] = []string{wire.TypeJSON}
	delete(header, wire.HeaderName)
	maps.DeleteFunc(header, func(name string, _ []string) bool { return strings.HasPrefix(name, wire.HeaderParamPrefix) })
	if c.req.era == wire.Modern {
		header[wire.HeaderMethod] = []string{wire.MethodToolsList}
		params.Add("_meta", json.Without(c.req.msg.Meta, "progressToken")) // nobody listens for a list's progress
	}
	generation := c.session.SetHeader(header)
	body := wire.AppendRequest(nil, id, wire.MethodToolsList, params.AppendTo(nil))
	said, err := upstream.Ask(ctx, c.on.up, c.who.request(header.Clone(), body), id, int64(limit))
	if err != nil {
		return nil, err
	}
	if said.Status != http.StatusOK {
		reading := c.on.reader.HTTP(said.Status, said.Header, said.Body, "")
		if !c.hasLost(header.Get(wire.HeaderSession), said.Status, reading.Error()) || c.renew(ctx, generation) != nil {
			return nil, reading.Error()
		}
		c.session.SetHeader(header)
		if said, err = upstream.Ask(ctx, c.on.up, c.who.request(header, body), id, int64(limit)); err != nil {
			return nil, err
		}
	}
	if said.Result == nil {
		return nil, fmt.Errorf("tools/list: HTTP %d: %.200s%.200s", said.Status, said.Error, said.Body)
	}
	return c.pinnedPage(said.Result, cursor, false)
}

// listAgain fetches the list again before the call is refused because of it, unless it was fetched for this caller
// just now.
func (c *call) listAgain() *toolcall.List {
	newerThan := time.Now()
	if c.rule.list.By == (listRequest{c}).Asker() {
		newerThan = newerThan.Add(-toollist.Fresh)
	}
	newer := c.on.backend.Lists.Get(c.ctx, listRequest{c}, newerThan)
	c.rule.unconfirmed = newer == nil || newer == c.rule.list && listRequest{c}.HeldBack()
	if newer != nil {
		c.rule.list = newer
	}
	return &c.rule.list.List
}

// mayRefuse reports whether the call may be refused because of the list: it was given to this caller, and
// contains the tool, or is complete and up to date.
func (c *call) mayRefuse() bool {
	r := &c.rule
	return r.list.By == listRequest{c}.Asker() && (r.listed.Tool != nil || !r.list.Partial && !r.unconfirmed)
}

// listChanged records the server's announcement that a list of it has changed, if that is what it says.
func (c *call) listChanged(said *wire.Signs) {
	announcement := string(said.Method)
	if !strings.HasSuffix(announcement, "/list_changed") {
		return
	}
	if announcement == wire.MethodToolsChanged {
		c.on.backend.Lists.Changed(listRequest{c}.Key())
	}
	for conn, source := range c.on.offeredAt(c.g.table.Load()) {
		conn.Changed(source, announcement)
	}
}
