package gateway

import (
	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/args"
	"github.com/recoursehq/recourse/internal/wire"
)

// validate checks the arguments of a call against the tool's inputSchema, and the headers that
// mirror them, so that every violation is told at once and the server never sees the call.
// A tool whose schema is not known gets its calls as they are.
func validate(c *call, next next) error {
	if e := c.violations(); e != nil {
		if err := c.reply.manner.object(c, e); err != nil {
			return err
		}
	}
	return next(c)
}

func (c *call) violations() *recourse.Error {
	if c.rule.listed == nil {
		return nil
	}
	e := c.checkArguments()
	if e == nil {
		return nil
	}
	before := c.rule.list
	if c.refreshList(); c.rule.list != before { // the list may have changed without a word
		if c.rule.listed = c.rule.list.tools[c.req.msg.Name]; c.rule.listed == nil {
			return nil
		}
		e = c.checkArguments()
	}
	if e == nil || !c.isOwnList() {
		return nil
	}
	return e
}

func (c *call) checkArguments() *recourse.Error {
	if c.req.era == wire.Modern && !c.req.stdio {
		if err := wire.CheckParamHeaders(c.req.http.Header, c.req.msg.Arguments, c.rule.listed.mirrors()); err != nil {
			return fromWire(err).WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
		}
	}
	arguments := c.req.msg.Arguments
	if string(arguments) == "null" { // some SDKs write null for none
		arguments = nil
	}
	violations := c.rule.listed.check(c.ctx, arguments, c.to.tools.logOnce(c.to.Name))
	if len(violations) == 0 {
		return nil
	}
	return args.Error(c.req.msg.Name, violations)
}
