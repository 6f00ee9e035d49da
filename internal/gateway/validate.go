package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/toollist"
	"github.com/recoursehq/recourse/internal/policy/pin"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
)

// validate checks a call's arguments against the tool's inputSchema, and the headers that mirror them, so
// that every violation is reported at once and the server never sees the call. If the schema is not known,
// the call passes.
func validate(c *call, next next) *failure {
	refuse := func(t *toolcall.Entry) *recourse.Error { return c.req.refuseArguments(c.ctx, t) }
	if e := c.rule.listed.Check(refuse, listRequest{c}.again); e != nil && (listRequest{c}).mayRefuse() {
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
type listRequest struct{ of *call }

// Key implements [toollist.Call]: callers are told apart by their credentials, and, if each has its own
// program, by the session or its substitute.
func (a listRequest) Key() upstream.Caller {
	c := a.of
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
func (a listRequest) Asker() upstream.Caller {
	c := a.of
	if c.session != nil {
		return upstream.CallerOf("session", c.session.ID)
	}
	return upstream.CallerOf("client", string(c.req.msg.ClientInfo), string(c.req.msg.ClientCapabilities))
}

func (a listRequest) HeldBack() bool { return a.of.on.holdsBack(a.of.rule.lane(&a.of.req)) != nil }

func (a listRequest) Timeout() time.Duration { return a.of.on.entry.Timeout }

func (a listRequest) Failed(cause error) (gone bool) {
	c := a.of
	c.g.log.LogAttrs(c.ctx, slog.LevelWarn, "tools/list failed: arguments are not checked",
		slog.String("server", c.on.entry.Name), slog.String("request_id", c.req.id), slog.Any("cause", c.private().Mask(cause)))
	return c.req.left()
}

func (a listRequest) Page(ctx context.Context, page int, cursor json.Value, limit int) (json.Value, error) {
	c := a.of
	id := wire.ID(fmt.Sprintf(`"%s-tools-%d"`, c.req.id, page))
	params := json.Members{{Name: "cursor", Value: cursor}}
	header := c.req.upstreamHeader(c.on, &c.who, &c.rule)
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
		k := c.keeper()
		if !k.hasLost(c.ctx, header.Get(wire.HeaderSession), said.Status, reading.Error()) || k.renew(ctx, generation) != nil {
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
	return a.pinnedPage(said.Result, cursor, false)
}

// again fetches the list again before the call is refused because of it, unless it was fetched for this caller
// just now.
func (a listRequest) again() *toolcall.List {
	c, newerThan := a.of, time.Now()
	if c.rule.list.By == a.Asker() {
		newerThan = newerThan.Add(-toollist.Fresh)
	}
	newer := c.on.backend.Lists.Get(c.ctx, a, newerThan)
	c.rule.unconfirmed = newer == nil || newer == c.rule.list && a.HeldBack()
	if newer != nil {
		c.rule.list = newer
	}
	return &c.rule.list.List
}

// mayRefuse reports whether the call may be refused because of the list: it was given to this caller, and
// contains the tool, or is complete and up to date.
func (a listRequest) mayRefuse() bool {
	r := &a.of.rule
	return r.list.By == a.Asker() && (r.listed.Tool != nil || !r.list.Partial && !r.unconfirmed)
}

// listChanged records the server's announcement that a list of it has changed, if that is what it says.
func (a listRequest) listChanged(said *wire.Signs) {
	c := a.of
	announcement := string(said.Method)
	if !strings.HasSuffix(announcement, "/list_changed") {
		return
	}
	if announcement == wire.MethodToolsChanged {
		c.on.backend.Lists.Changed(a.Key())
	}
	for _, all := range c.g.table.Load().all {
		if all.many == nil {
			continue
		}
		for i, m := range all.many.members {
			if m.on == c.on {
				all.many.conn.Changed(all.many.options.Servers[i], announcement)
			}
		}
	}
}

// pinsOf returns the pins of a server, which outlive a reload; nil: it has none.
func (g *Gateway) pinsOf(entry *config.Server) (*pin.Guardian, error) {
	if !entry.Pins() {
		return nil, nil
	}
	if g.reach.Pins == nil {
		return nil, errors.New("`pin` needs a store: restart the gateway, which was started without one")
	}
	kept, ok := g.pins.Load(entry.Name)
	if !ok {
		kept, _ = g.pins.LoadOrStore(entry.Name, pin.NewServer(entry.Name, g.reach.Pins, g.log))
	}
	pins, _ := kept.(*pin.Guardian)
	return pins, nil
}

// pinned returns an answer to tools/list with the pinned definitions of its tools; without any if they cannot be known. old says that
// the answer is not what the server says now.
func (a listRequest) pinned(text []byte, old bool) []byte {
	c := a.of
	if c.on.pins == nil || json.Lookup(text, "/result/tools").Kind() != '[' {
		return text
	}
	return json.Change(text, "result", func(result json.Value) json.Value {
		offered, err := a.pinnedPage(result, json.Lookup(c.req.msg.Params, "/cursor"), old)
		if err == nil {
			return offered
		}
		c.g.log.LogAttrs(c.ctx, slog.LevelError, "no tools are offered: their pins cannot be read or written",
			slog.String("server", c.on.entry.Name), slog.String("request_id", c.req.id), slog.String("cause", err.Error()))
		return json.Change(result, "tools", func(json.Value) json.Value { return json.Value(`[]`) })
	})
}

// pinnedPage does the same with a page, the result of tools/list.
func (a listRequest) pinnedPage(result, cursor json.Value, old bool) (json.Value, error) {
	c := a.of
	list := json.Lookup(result, "/tools")
	if c.on.pins == nil || list.Kind() != '[' {
		return result, nil
	}
	page := &pin.ListPage{Cursor: json.Text(cursor, ""), Next: json.Text(result, "/nextCursor"), Private: c.on.listsDiffer(), Old: old}
	page.Tools, _ = json.Items(list, math.MaxInt)
	offered, err := c.on.pins.Offer(c.ctx, page)
	if err != nil {
		return nil, err
	}
	if page.Reread {
		c.on.backend.Lists.Changed(a.Key())
	}
	return json.Change(result, "tools", func(json.Value) json.Value { return json.Array(offered) }), nil
}

// refuseUnpinned refuses the call of a tool that nobody has accepted, as one that there is not, whether or not the server lists it.
func (a listRequest) refuseUnpinned() *failure {
	c := a.of
	if c.on.pins == nil {
		return nil
	}
	offers, err := c.on.pins.Offers(c.ctx, c.req.msg.Name)
	switch {
	case err != nil:
		return answer.Settled(recourse.Unavailable("").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
			WithRetryAfter(storeWait).CausedBy(err).WithMessage("The gateway cannot read at the moment which tools may be called."))
	case offers:
		return nil
	case c.rule.list == nil:
		return answer.Settled(c.member.noneNamed(c.req.msg.Name, nil))
	default:
		return answer.Settled(c.permission().unknownTool())
	}
}
