package gateway

import (
	"github.com/recoursehq/recourse"
	door "github.com/recoursehq/recourse/internal/endpoint"
	"github.com/recoursehq/recourse/internal/toolcall"
	"github.com/recoursehq/recourse/internal/wire"
)

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

// mayRefuse reports whether the call may be refused because of the list: it was given to this caller, and
// contains the tool, or is complete.
func (c *call) mayRefuse() bool {
	return c.rule.list.By == (asking{c}).Asker() && (c.rule.listed.Tool != nil || !c.rule.list.Partial)
}
