package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/answer"
	"github.com/recoursehq/recourse/internal/gateway/observe"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/protocol/wire"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/retry"
)

// An attempt is one request to the server, on its way through the stages that repeat has made for each.
type attempt struct {
	of      *call
	ctx     context.Context
	half    *half             // of a call that may be hedged; nil: it is the only attempt at the time
	request *upstream.Request // prepare and spread
	report  observe.Attempt   // spread and send

	id         wire.ID // the request's id at the server; nil: the client's own
	session    string  // its id at the server
	generation int     // of the client's session
}

// newAttempt returns the next attempt, in memory of the call's.
func newAttempt(c *call) *attempt {
	c.sent = attempt{of: c, ctx: c.ctx}
	return &c.sent
}

// isSpare reports whether it is the second one of two: it waits for nothing.
func (a *attempt) isSpare() bool { return a.half != nil && a.half.spare }

// begin counts an attempt that is sent now.
func (a *attempt) begin() {
	o := &a.of.out
	o.counted++
	o.Sent++
	a.report.Wait, a.report.Began = o.wait, time.Now()
	o.wait = 0
}

// note tells observers how an attempt has ended: in e, or without a failure.
func (a *attempt) note(status int, e *recourse.Error) {
	a.report.Took, a.report.Status = time.Since(a.report.Began), status
	if e != nil {
		a.report.Failure = e.Kind
	}
	if o := &a.of.out; len(o.Attempts) < maxTries {
		o.Attempts = append(o.Attempts, a.report)
	}
}

// repeat sends a request again if that is safe and useful. Only transport failures are a reason: a failure
// that a tool returned is for the caller to judge.
func repeat(c *call, try try) *failure {
	if !c.req.asks() {
		return deliver(c, try)
	}
	c.on.backend.Budget.Call()
	renewed := false
	var before end // of the attempt of which the next one is a repetition
	for {
		last := try(newAttempt(c))
		switch {
		case last.Why == answer.Answered, last.Why == answer.Failed:
			return last.Settled()
		case last.Why == answer.HeldBack && before.Why != 0:
			c.out.Reason = reasonHeldBack
			before.Err = before.Err.WithRetryAfter(max(before.Err.RetryAfter, last.Err.RetryAfter))
			return before.Settled()
		case last.Why == answer.AccountRefused:
			final := c.reply.HasBegun() || last.Full && !c.rule.mayRepeat(c.on, &last)
			if refusal := c.who.rejected(c.ctx, &c.req, final); refusal != nil {
				last.Err = c.failing(&last).effectOf(last.Err, refusal)
				return last.Settled()
			}
			c.out.counted-- // the server did nothing
			c.out.decided("the server refused the account's credential, and there is a new one", 0)
			continue
		case last.Why == answer.SessionLost && !c.reply.HasBegun():
			if c.regain(&last, renewed) {
				renewed = true
				c.out.counted-- // the server did nothing
				c.out.decided("the server had lost the session, and did nothing with the call", 0)
				continue
			}
		}
		if c.rule.nature == retry.Writes && errors.Is(last.Err.Cause(), upstream.ErrSessionLost) {
			c.out.Reason = "the server has lost the session, and there is no new one"
			return last.Settled()
		}
		f := c.failing(&last)
		last.Err = f.inContract(f.effect(last.Err))
		if !c.decide(f, &last) {
			return last.Settled()
		}
		before = last
		// A session that died with its program may be renewed once more.
		renewed = renewed && (c.rule.nature == retry.Writes || last.Status != 0)
	}
}

// decide decides whether an attempt is repeated, and waits before that.
func (c *call) decide(f *failing, last *end) bool {
	c.out.doubt = c.out.doubt || last.Err.Effect == recourse.EffectUnknown
	decision := c.on.policy.Decide(last.Err, c.rule.nature, c.out.counted, c.deadline.Left())
	c.out.Reason = decision.Reason
	if decision.Repeat {
		c.out.Reason = c.final(f, last)
	}
	c.out.decided(cmp.Or(c.out.Reason, decision.Reason), decision.Wait)
	switch {
	case !decision.Repeat, c.out.Reason != "":
		return false
	case !pause.For(c.ctx, decision.Wait):
		c.out.Reason = "the call ended before the wait did"
		return false
	}
	return true
}

// inContract returns e with what the contract tells the caller about the same call, which counts for us as well: that a read which
// was answered with nonsense may be repeated, if the contract says so of all errors of a server.
func (f *failing) inContract(e *recourse.Error) *recourse.Error {
	isOpen := f.known.Nature == retry.Reads && e.Retry == "" && e.RetryAdvice() == recourse.RetryNever
	if !isOpen || !f.known.Contract.Retryable(e, f.describe(e, 0)) {
		return e
	}
	return e.With(func(e *recourse.Error) { e.Retry = recourse.RetrySameCall })
}

const reasonHeldBack = "the gateway holds calls back from the server"

// final says why a call that could be repeated is not; "" means that it is.
func (c *call) final(f *failing, last *end) string {
	if reason := c.on.mode.final(c); reason != "" {
		return reason
	}
	switch e := last.Err; {
	case !c.rule.mayRepeat(c.on, last):
		return "the server refused the call, and only its words say that the same call can succeed"
	case last.Why == answer.HeldBack:
		return reasonHeldBack
	case errors.Is(e.Cause(), upstream.ErrNotStarted):
		return "cannot start the program"
	case !c.on.contract.Retryable(e.WithEffect(recourse.EffectNone), f.describe(e, 0)): // the effect has already been decided
		return "the contract says that the same call cannot succeed"
	case !c.on.backend.Budget.Take():
		return "the retry budget is used up"
	default:
		return ""
	}
}

// mayRepeat reports whether a call that had no effect may be repeated: it was not sent, or the HTTP status
// itself says that waiting helps. A server's words to that effect are enough only if nothing is written, or
// the server is trusted.
func (r *rule) mayRepeat(at *endpoint, last *end) bool {
	return r.nature != retry.Writes || at.entry.Trusted || last.Status == 0 || last.Status == http.StatusTooManyRequests
}

// regain renews a session that the server has lost. By answering 404, the server says that it did nothing, so that the
// call can be repeated, writes included; but only once, and only in a session that exists. If none can be opened, a
// write fails with what is known of it: the 404, which is no reason to make the call again.
func (c *call) regain(lost *end, before bool) bool {
	if before {
		lost.Err = c.on.lostAgain(c.rule.nature, lost.Err)
		return false
	}
	switch e := c.openAgain(lost.Generation); {
	case e == nil:
		return true
	case c.rule.nature == retry.Writes:
		lost.Err = c.on.lostFor(e)
	default:
		lost.Err, lost.Status = e, 0 // the call has no answer
	}
	return false
}

// lostAgain is the failure of a call in a session that was opened for it.
func (on *endpoint) lostAgain(nature retry.Nature, lost *recourse.Error) *recourse.Error {
	switch title := on.entry.Title; {
	case lost.Kind != recourse.KindUnknownSession:
		return lost
	case nature == retry.Writes:
		return on.lostFor(errLostAgain)
	default:
		return recourse.Unavailable(title).WithMessage("%s does not know the session that it has just opened.", title).
			WithOrigin(recourse.OriginServer).WithUpstream(lost.Upstream).WithEffect(recourse.EffectNone).CausedBy(lost.Cause())
	}
}

var errLostAgain = errors.New("the server does not know the session that it has just opened")

// lostFor is the failure of a write whose session the server has lost, where there is no new one.
func (on *endpoint) lostFor(cause error) *recourse.Error {
	return upstream.SessionLost(on.entry.Title, http.StatusNotFound, cause)
}
