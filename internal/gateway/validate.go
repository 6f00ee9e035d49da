package gateway

import (
	"context"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/protocol/wire"
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
