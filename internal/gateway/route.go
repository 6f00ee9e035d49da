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
	"github.com/recoursehq/recourse/internal/config"
	door "github.com/recoursehq/recourse/internal/endpoint"
	"github.com/recoursehq/recourse/internal/gateway/toollist"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/toolcall"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// route finds out what the request wants from the server, and how long it may take.
func route(c *call, next next) error {
	c.rule.Timeout = c.to.Timeout
	if c.on.many != nil {
		c.routeMany()
	}
	if !c.req.asks() {
		c.routeDelivery()
		return next(c)
	}
	if e := c.ownState(); e != nil {
		return c.refuseState(e)
	}
	c.rule.nature = natureOfMethod(c.req.msg.Method)
	name, ownTool := c.req.msg.Name, c.req.isCall() && c.on.many == nil // else the server's own stages know more of it
	if ownTool {
		c.rule.Tool = c.to.Tool(name)
		c.rule.nature = c.on.natureOf(name, c.rule.Tool, nil)
	}
	c.within(c.rule.Timeout, c.to.MaxTimeout)
	if err := c.moveSession(); err != nil {
		return settled(recourse.From(err))
	}
	if !ownTool {
		return next(c)
	}
	c.rule.list = c.to.Lists.Get(c.ctx, asking{c}, time.Time{})
	if c.rule.list == nil {
		return next(c)
	}
	c.rule.listed = c.rule.list.In(name)
	e := c.rule.listed.Find(name, c.relist)
	c.rule.nature = c.on.natureOf(name, c.rule.Tool, c.rule.listed.Tool)
	if e != nil && c.mayRefuse() {
		if err := c.reply.manner.object(c, c.unknownTool()); err != nil {
			return err
		}
	}
	return next(c)
}

// natureOfMethod returns the nature of a method other than tools/call.
func natureOfMethod(method string) retry.Nature {
	switch {
	case wire.ReadsOnly(method):
		return retry.Reads
	case method == "logging/setLevel", method == "resources/subscribe", method == "resources/unsubscribe":
		return retry.Idempotent
	default:
		return retry.Writes
	}
}

// natureOf returns the nature of a tool; entry is the tool's entry in the configuration, and listed its
// description in the server's list, or nil.
func (on *endpoint) natureOf(name string, entry config.Tool, listed *toolcall.Tool) retry.Nature {
	said := toolcall.Said{ReadOnly: entry.ReadOnly, Idempotent: entry.Idempotent, Verified: entry.Verify != nil, Reads: on.reads(name)}
	if *on.TrustAnnotations {
		said.Annotated = listed
	}
	return said.Nature()
}

// reads reports whether a tool only reads according to the contract that clients see. The contract in `reads`
// says how failures are written, on a server that may have other tools: it is not believed when it says that
// a tool reads, only when it says that one writes.
func (on *endpoint) reads(tool string) bool {
	weak := on.target.reader.Weak
	return on.contract.Reads(tool) && (weak == nil || !weak.Writes(tool))
}

// validate checks a call's arguments against the tool's inputSchema, and the headers that mirror them, so
// that every violation is reported at once and the server never sees the call. If the schema is not known,
// the call passes.
func validate(c *call, next next) error {
	if e := c.rule.listed.Check(c.refuseArguments, c.relist); e != nil && c.mayRefuse() {
		if err := c.reply.manner.object(c, e); err != nil {
			return err
		}
	}
	return next(c)
}

func (c *call) refuseArguments(t *toolcall.Tool) *recourse.Error {
	if c.req.era == wire.Modern && !c.req.stdio {
		if err := wire.CheckParamHeaders(c.req.http.Header, c.req.msg.Arguments, t.ParamHeaders()); err != nil {
			return door.Refused(err).WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
		}
	}
	return t.Refuse(c.ctx, c.req.msg.Arguments)
}

// relist fetches the list again before a call is refused because of it, unless it was fetched for this caller
// just now.
func (c *call) relist() *toolcall.List {
	newerThan := time.Now()
	if c.rule.list.By == (asking{c}).Asker() {
		newerThan = newerThan.Add(-toollist.Fresh)
	}
	if newer := c.to.Lists.Get(c.ctx, asking{c}, newerThan); newer != nil {
		c.rule.list = newer
	}
	return &c.rule.list.List
}

// mayRefuse reports whether the call may be refused because of the list: it was given to this caller, and
// contains the tool, or is complete.
func (c *call) mayRefuse() bool {
	return c.rule.list.By == (asking{c}).Asker() && (c.rule.listed.Tool != nil || !c.rule.list.Partial)
}

// asking is a call that asks for its caller's list.
type asking struct{ *call }

// Key implements [toollist.Call]: callers are told apart by their credentials, and, if each has its own
// program, by the session or its substitute.
func (c asking) Key() upstream.Caller {
	switch {
	case len(c.to.Command) == 0 || c.to.Share != config.ShareClient:
		return c.who.id
	case c.session != nil:
		return upstream.CallerOf("session", c.session.ID)
	default:
		return c.who.server
	}
}

// Asker implements [toollist.Call]: a server may list other tools in another session, or for a client with
// more capabilities.
func (c asking) Asker() upstream.Caller {
	if c.session != nil {
		return upstream.CallerOf("session", c.session.ID)
	}
	return upstream.CallerOf("client", string(c.req.msg.ClientInfo), string(c.req.msg.ClientCapabilities))
}

func (c asking) HeldBack() bool { return c.isHeldBack() != nil }

func (c asking) Timeout() time.Duration { return c.to.Timeout }

func (c asking) Failed(cause error) (gone bool) {
	c.g.log.LogAttrs(c.ctx, slog.LevelWarn, "tools/list failed: arguments are not checked",
		slog.String("server", c.to.Name), slog.String("request_id", c.req.id), slog.Any("cause", c.private().Mask(cause)))
	return c.left()
}

func (c asking) Page(ctx context.Context, page int, cursor json.Value, limit int) (json.Value, error) {
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
	generation := c.addSession(header)
	body := wire.AppendRequest(nil, id, wire.MethodToolsList, params.AppendTo(nil))
	answer, err := upstream.Ask(ctx, c.to.up, c.who.request(header.Clone(), body), id, int64(limit))
	if err != nil {
		return nil, err
	}
	if answer.Status != http.StatusOK {
		reading := c.to.reader.HTTP(answer.Status, answer.Header, answer.Body, "")
		if !c.lostSession(header.Get(wire.HeaderSession), answer.Status, reading.Error()) || c.renewSession(ctx, generation) != nil {
			return nil, reading.Error()
		}
		c.addSession(header)
		if answer, err = upstream.Ask(ctx, c.to.up, c.who.request(header, body), id, int64(limit)); err != nil {
			return nil, err
		}
	}
	if answer.Result == nil {
		return nil, fmt.Errorf("tools/list: HTTP %d: %.200s%.200s", answer.Status, answer.Error, answer.Body)
	}
	return answer.Result, nil
}
