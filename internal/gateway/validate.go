package gateway

import (
	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/args"
	"github.com/recoursehq/recourse/internal/wire"
)

// validate checks the arguments of a call against the tool's inputSchema, and the
// headers that mirror them, so that every violation is told at once and the server
// never sees the call. It reports false when it has answered. A tool whose schema is
// not known gets its calls as they are.
func (x *exchange) validate() bool {
	if x.listed == nil {
		return true
	}
	e := x.checkArguments()
	if e == nil {
		return true
	}
	before := x.list
	if x.refreshList(); x.list != before { // the list may have changed without a word
		if x.listed = x.list.tools[x.msg.Name]; x.listed == nil {
			return true
		}
		if e = x.checkArguments(); e == nil {
			return true
		}
	}
	return !x.isOwnList() || x.objection(e)
}

func (x *exchange) checkArguments() *recourse.Error {
	if x.era == wire.Modern && !x.overStdio() {
		if err := wire.CheckParamHeaders(x.r.Header, x.msg.Arguments, x.listed.mirrors()); err != nil {
			return fromWire(err).WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
		}
	}
	arguments := x.msg.Arguments
	if string(arguments) == "null" { // some SDKs write null for none
		arguments = nil
	}
	violations := x.listed.check(x.ctx, arguments, x.s.tools.logOnce(x.s.Name))
	if len(violations) == 0 {
		return nil
	}
	return args.Error(x.msg.Name, violations)
}
