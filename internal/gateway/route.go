package gateway

import (
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/retry"
)

// route finds out what the request wants from the server, and how long it may take.
func route(c *call, next next) *failure {
	c.rule.Timeout = c.on.entry.Timeout
	if c.on.many != nil {
		c.who.outer = c.asOuter()
	}
	if !c.req.asks() {
		c.routeDelivery()
		return next(c)
	}
	if e := c.restoreState(); e != nil {
		return c.in.InvalidParams(c.req.msg.ID, e)
	}
	c.rule.nature = natureOfMethod(c.req.msg.Method)
	name, ownTool := c.req.msg.Name, c.req.isCall() && c.on.many == nil // else the server's own stages know more of it
	if ownTool {
		c.rule.Tool = c.on.entry.Tool(name)
		c.rule.know(c.on, name, nil)
		if c.on.entry.Command != nil {
			c.beside = new(upstream.Beside)
		}
	}
	c.rule.wait = c.on.ownWait(&c.req)
	c.start = c.startup()
	c.within(c.start.patience(c.rule.Timeout)+c.rule.wait, c.on.entry.MaxTimeout+c.rule.wait)
	if e := c.moveSession(); e != nil {
		return answer.Settled(e)
	}
	if !ownTool {
		return next(c)
	}
	return c.withLastList(routeTool(c, next))
}

// routeTool finds out what the server's list says about the tool.
func routeTool(c *call, next next) *failure {
	name := c.req.msg.Name
	c.rule.list = c.on.backend.Lists.Get(c.ctx, listRequest{c}, time.Time{})
	var e *recourse.Error
	if c.rule.list != nil {
		c.rule.listed = c.rule.list.In(name)
		e = c.rule.listed.Find(name, c.listAgain)
	}
	c.rule.know(c.on, name, c.rule.listed.Tool)
	if f := c.refuseUnpinned(); f != nil {
		return f
	}
	if e != nil && c.mayRefuse() {
		if f := c.on.mode.object(c, c.unknownTool()); f != nil {
			return f
		}
	}
	if e = c.rule.takeAgain(c.on, &c.req); e != nil {
		return answer.Settled(e)
	}
	return next(c)
}

// withLastList returns f with what the server's last list says, if the server could not be asked for another one: that
// the called tool is not among its tools may be all that is wrong.
func (c *call) withLastList(f *failure) *failure {
	if f == nil || f.Err.Kind.Class() != recourse.ClassUpstream || f.Last.Status != 0 {
		return f
	}
	names := c.on.backend.Lists.Seen(listRequest{c})
	if names == nil || slices.Contains(names, c.req.msg.Name) {
		return f
	}
	if c.on.grants != nil { // not everybody may know them
		names = nil
	}
	told := *f
	none := c.member.noneNamed(c.req.msg.Name, names)
	told.Err = f.Err.WithMessage("%s When it last listed its tools: %s", f.Err.Sentence(), none.Message)
	return &told
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

// know notes what the called tool does to the world; listed is its description in the server's list, or nil.
func (r *rule) know(on *endpoint, name string, listed *toolcall.Entry) {
	said := on.said(name, r.Tool, listed)
	r.nature, r.assumed, r.profiled = said.Nature(), said.Assumed(), said.Profiled()
}

// natureOf returns the nature of a tool; entry is the tool's entry in the configuration, and listed its
// description in the server's list, or nil.
func (on *endpoint) natureOf(name string, entry config.Tool, listed *toolcall.Entry) retry.Nature {
	return on.said(name, entry, listed).Nature()
}

// said returns what is said about a tool by those who are trusted about it.
func (on *endpoint) said(name string, entry config.Tool, listed *toolcall.Entry) toolcall.Claims {
	said := toolcall.Claims{ReadOnly: entry.ReadOnly, Idempotent: entry.Idempotent, Verified: entry.Verify != nil, Reads: on.reads(name)}
	if *on.entry.TrustAnnotations {
		said.Annotated = listed
	}
	if known := entry.Known; known != nil {
		said.Profile = toolcall.Profile{ReadOnly: is(known.ReadOnly), Idempotent: is(known.Idempotent), Verified: known.Verify != nil}
	}
	return said
}

func is(said *bool) bool { return said != nil && *said }

// reads reports whether a tool only reads according to the contract that clients see. The contract in `reads`
// says how failures are written, on a server that may have other tools: it is not believed when it says that
// a tool reads, only when it says that one writes.
func (on *endpoint) reads(tool string) bool {
	weak := on.reader.Weak
	return on.contract.Reads(tool) && (weak == nil || !weak.Writes(tool))
}

// Clients give up on a call of which they hear nothing for a while, even if the call itself asks to wait longer than that.
// While it waits, the gateway therefore reports progress, if the client has asked for that and the server reports none.

// progressEvery is how often progress is reported: a quarter of the minute for which SDKs wait.
const progressEvery = 15 * time.Second

// ownWait returns how long the tool itself waits for work that takes long, because the call asks for that in the way that
// the contract describes. This time is not the server's silence.
func (on *endpoint) ownWait(r *request) time.Duration {
	if !r.isCall() {
		return 0
	}
	wait := on.contract.Poll.Budget(r.msg.Arguments)
	if known := on.reader.Weak; known != nil {
		wait = max(wait, known.Poll.Budget(r.msg.Arguments))
	}
	return wait
}

// patience finds out whether progress is reported while the call waits for the server.
func patience(c *call, next next) *failure {
	token := json.Value(c.req.msg.ProgressToken)
	c.rule.patient = c.rule.wait != 0 && (token.Kind() == '"' || token.Kind() == '0') && c.member == nil && c.req.takesEvents()
	return next(c)
}

// during runs what waits for the server, and tells the client meanwhile that its call goes on.
func (c *call) during(wait func()) {
	ended := make(chan any, 1)
	go func() {
		defer func() { ended <- throw(recover()) }() // a panic belongs to the call
		wait()
	}()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case fault := <-ended:
			if fault != nil {
				panic(fault)
			}
			return
		case <-tick.C:
			if !c.rule.reports {
				c.rule.told++
				c.reply.Progress(c.req.msg.ProgressToken, c.rule.told)
			}
		}
	}
}

// takesEvents reports whether the answer may be an event stream.
func (r *request) takesEvents() bool {
	return r.stdio || strings.Contains(strings.Join(r.header["Accept"], ","), wire.TypeEventStream)
}
