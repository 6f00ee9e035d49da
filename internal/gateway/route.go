package gateway

import (
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/nearest"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// route finds out what the request asks of the server, and for how long.
func route(c *call, next next) error {
	c.rule.Timeout = c.to.Timeout
	if !c.req.asks() {
		c.unasked()
		return next(c)
	}
	c.rule.nature = natureOfMethod(c.req.msg.Method)
	name := c.req.msg.Name
	if c.req.isCall() {
		c.rule.Tool = c.to.Tool(name)
		c.rule.nature = c.natureOf(name, c.rule.Tool, nil)
	}
	c.within(c.rule.Timeout, c.to.MaxTimeout)
	if e := c.moveSession(); e != nil {
		return settled(e)
	}
	if !c.req.isCall() {
		return next(c)
	}
	c.rule.list = c.to.tools.get(c.ctx, c, time.Time{})
	if c.rule.list != nil && c.rule.list.tools[name] == nil {
		c.refreshList()
	}
	if c.rule.list == nil {
		return next(c)
	}
	c.rule.listed = c.rule.list.tools[name]
	c.rule.nature = c.natureOf(name, c.rule.Tool, c.rule.listed)
	if c.rule.listed == nil && !c.rule.list.partial && c.isOwnList() {
		if err := c.reply.manner.object(c, unknownTool(name, c.rule.list.names)); err != nil {
			return err
		}
	}
	return next(c)
}

// unasked does so for a message without an answer of its own: a notification, the client's
// answer to a question of the server's, the opening of a stream or the end of a session.
func (c *call) unasked() {
	most := c.to.Timeout
	if c.req.http.Method == http.MethodGet {
		most = min(openTimeout, most)
	}
	if c.req.msg.Kind == wire.Response && c.session != nil {
		c.session.questions.answer(c.req.msg.ID)
	}
	c.req.msg.ID = nil // that of a response is the server's own question: nobody waits for an answer
	c.within(most, most)
}

func unknownTool(name string, known []string) *recourse.Error {
	e := recourse.UnknownTool(name).WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
	if other, ok := nearest.Of(name, known); ok {
		e = e.WithMessage("%s Did you mean %s?", e.Message, other)
	}
	return e
}

// natureOfMethod returns what a method other than tools/call does to the world.
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

// reads reports whether the contract that clients see says of a tool that it only reads. What
// the contract in `reads` says of its tools is no reason to repeat a call: the entry names it
// for the way in which failures are written, on a server that may have other tools. But a
// tool that it knows to write, writes.
func (c *call) reads(tool string) bool {
	return c.on.contract.Reads(tool) && (c.to.weak == nil || !c.to.weak.Writes(tool))
}

// natureOf returns what the tool does to the world, by the first that speaks: the
// entry, the contract, trusted annotations.
func (c *call) natureOf(tool string, rule config.Tool, listed *listedTool) retry.Nature {
	reads, idempotent := c.reads(tool), false
	if *c.to.TrustAnnotations && listed != nil && !reads {
		reads, idempotent = listed.readOnly, listed.idempotent
	}
	switch {
	case rule.ReadOnly != nil:
		reads = *rule.ReadOnly
	case rule.Verify != nil: // there is something to verify only where something is written
		reads = false
	}
	if rule.Idempotent != nil {
		idempotent = *rule.Idempotent
	}
	switch {
	case reads:
		return retry.Reads
	case idempotent:
		return retry.Idempotent
	default:
		return retry.Writes
	}
}
