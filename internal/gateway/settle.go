package gateway

import (
	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/toolcall"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// failed describes a call that fails.
func (c *call) failed() *toolcall.Call {
	call := &toolcall.Call{
		Listed: c.rule.listed, ID: c.req.id, Method: c.req.msg.Method, Name: c.req.msg.Name, Arguments: c.req.msg.Arguments,
		Contract: c.on.contract, Kept: c.to.weak, Masker: c.masker, Nature: c.rule.nature, Ran: c.out.attempts > 0,
		Relays: true, Trusted: c.to.Trusted,
		Reads: func(name string, t *toolcall.Tool) bool {
			return c.on.natureOf(name, c.to.Tool(name), t) == retry.Reads
		},
	}
	if v := c.rule.Verify; v != nil {
		call.Verify = &toolcall.Verify{Tool: v.Call, Args: v.Args, With: v.With, LookAt: v.Look}
	}
	return call
}

// effect returns whether the call changed anything.
func (c *call) effect(e *recourse.Error) recourse.Effect { return c.failed().Effect(e) }

// settle adds what the gateway knows about the call to a failure, and masks it.
func (c *call) settle(e *recourse.Error) *recourse.Error {
	return c.failed().Settle(e).With(func(r *recourse.Error) {
		if r.Kind == recourse.KindUnknownSession && (c.session != nil || c.out.last.answered) && !c.out.last.lost {
			// The session exists. A client that was told otherwise would open another one, and call again.
			r.Kind, r.Code, r.Contract = recourse.KindClientError, "", ""
		}
		if r.Provider == "" && r.Kind.Class() == recourse.ClassUpstream {
			r.Provider = c.to.Title
		}
	})
}

// contractCall describes the call that failed with e to the contract.
func (c *call) contractCall(e *recourse.Error, status int) *contract.Call {
	call := c.failed().Describe(c.at(e))
	c.offered(call)
	call.URL, call.Status, call.HTTP, call.ResultType = c.url(), status, c.answersHTTP(), c.req.era == wire.Modern
	return call
}
