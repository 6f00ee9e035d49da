package gateway

import (
	"errors"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/gateway/failures"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/retry"
)

// A failing is a call that fails, as its failure and the contract need it.
type failing struct {
	call   toolcall.Call
	member *memberConn

	held     bool   // it was not sent, to protect the server
	full     bool   // the server has begun to answer in full
	isCall   bool   // of a tool
	modern   bool   // by its era
	http     bool   // it can be answered with a whole HTTP answer
	url      string // of the request
	user     string // whom the path names
	forwards bool   // the server gets the client's own credentials
}

// failing describes the call after an attempt that has ended so.
func (c *call) failing(last *end) *failing {
	f := &failing{
		member: c.member, held: last.why == heldBack, full: last.full, isCall: c.req.isCall(), modern: c.req.era == wire.Modern,
		http: c.req.answersHTTP(&c.reply), url: c.table.url(c.req.from), user: c.who.user, forwards: c.on.to.reader.PassesCredentials,
	}
	f.call = toolcall.Call{
		Listed: c.rule.listed, ID: c.req.id, Method: c.req.msg.Method, Name: c.req.msg.Name, Arguments: c.req.msg.Arguments,
		Contract: c.on.contract, Kept: c.on.to.reader.Weak, Masker: c.masker, Nature: c.rule.nature, Assumed: c.rule.assumed,
		Ran: c.out.counted > 0, Doubt: c.out.doubt, Broke: failures.Broke(last.status),
		Relays: true, Title: c.on.to.entry.Title,
		InSession: (c.session != nil || f.modern || last.full) && last.why != sessionLost, Trusted: c.on.to.entry.Trusted,
		Reads: func(name string, t *toolcall.Entry) bool {
			return c.on.natureOf(name, c.on.to.entry.Tool(name), t) == retry.Reads
		},
	}
	if v := c.rule.Verify; v != nil {
		f.call.Verify = &toolcall.Verification{Tool: v.Tool, From: v.From, With: v.With, LookAt: v.LookAt}
	}
	return f
}

// effect returns e with whether the call changed anything.
func (f *failing) effect(e *recourse.Error) *recourse.Error { return f.effectOf(e, e) }

// effectOf returns told, the failure as the client is told of it, with the effect of the call that failed with e.
func (f *failing) effectOf(e, told *recourse.Error) *recourse.Error {
	effect, basis := f.call.Effect(e)
	return told.With(func(r *recourse.Error) { r.Effect, r.EffectBasis = effect, basis })
}

// settle adds what the gateway knows about the call to a failure, and masks it.
func (f *failing) settle(e *recourse.Error) *recourse.Error { return f.call.Settle(e) }

// describe describes the call that failed with e to the contract; status is what the protocol requires, or 0.
func (f *failing) describe(e *recourse.Error, status int) *contract.Call {
	call := f.call.Describe(f.at(e))
	f.member.offer(call)
	call.URL, call.Status, call.HTTP, call.ResultType = f.url, status, f.http, f.modern
	return call
}

// at returns how far the call had come when it failed.
func (f *failing) at(e *recourse.Error) contract.At {
	switch status := e.Upstream.Status; {
	case f.held && f.isCall:
		return contract.AtUpstream
	case f.held:
		return contract.AtSession
	case !f.call.Ran:
		return contract.AtArguments
	case f.full && f.isCall:
		return contract.AtTool
	case status == http.StatusUnauthorized && f.forwards:
		return contract.AtCredentialsInvalid
	case status == http.StatusForbidden && f.forwards && f.user != "":
		return contract.AtUserInvalid
	case errors.Is(e.Cause(), failures.ErrOwnCredentials), errors.Is(e.Cause(), upstream.ErrNotStarted):
		return contract.AtUpstreamMisconfigured
	case !f.isCall:
		return contract.AtSession
	default:
		return contract.AtUpstream
	}
}
