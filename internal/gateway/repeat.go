package gateway

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/upstream"
	"github.com/recoursehq/recourse/retry"
)

// repeat sends a request again if that is safe and useful. Only transport failures are a reason: a failure
// that a tool returned is for the caller to judge.
func repeat(c *call, try try) *failure {
	if !c.req.asks() {
		return deliver(c, try)
	}
	c.on.to.backend.Budget.Call()
	renewed := false
	var before end // of the attempt of which the next one is a repetition
	for {
		last := try(c.attempt())
		switch {
		case last.why == answered, last.why == failed:
			return last.settled()
		case last.why == heldBack && before.why != 0:
			c.out.Reason = reasonHeldBack
			before.e = before.e.WithRetryAfter(max(before.e.RetryAfter, last.e.RetryAfter))
			return before.settled()
		case last.why == accountRefused:
			if refusal := c.rejected(&last); refusal != nil {
				last.e = c.failing(&last).effectOf(last.e, refusal)
				return last.settled()
			}
			c.out.counted-- // the server did nothing
			c.out.decided("the server refused the account's credential, and there is a new one", 0)
			continue
		case last.why == sessionLost && !c.reply.hasBegun():
			if c.regain(&last, renewed) {
				renewed = true
				c.out.counted-- // the server did nothing
				c.out.decided("the server had lost the session, and did nothing with the call", 0)
				continue
			}
		}
		if c.rule.nature == retry.Writes && errors.Is(last.e.Cause(), upstream.ErrSessionLost) {
			c.out.Reason = "the server has lost the session, and there is no new one"
			return last.settled()
		}
		f := c.failing(&last)
		last.e = f.inContract(f.effect(last.e))
		if !c.decide(f, &last) {
			return last.settled()
		}
		before = last
		// A session that died with its program may be renewed once more.
		renewed = renewed && (c.rule.nature == retry.Writes || last.status != 0)
	}
}

// decide decides whether an attempt is repeated, and waits before that.
func (c *call) decide(f *failing, last *end) bool {
	c.out.doubt = c.out.doubt || last.e.Effect == recourse.EffectUnknown
	decision := c.on.to.policy.Decide(last.e, c.rule.nature, c.out.counted, c.deadline.Left())
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
	isOpen := f.call.Nature == retry.Reads && e.Retry == "" && e.RetryAdvice() == recourse.RetryNever
	if !isOpen || !f.call.Contract.Retryable(e, f.describe(e, 0)) {
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
	switch e := last.e; {
	case !c.rule.mayRepeat(c.on.to, last):
		return "the server refused the call, and only its words say that the same call can succeed"
	case last.why == heldBack:
		return reasonHeldBack
	case errors.Is(e.Cause(), upstream.ErrNotStarted):
		return "cannot start the program"
	case !c.on.contract.Retryable(e.WithEffect(recourse.EffectNone), f.describe(e, 0)): // the effect has already been decided
		return "the contract says that the same call cannot succeed"
	case !c.on.to.backend.Budget.Take():
		return "the retry budget is used up"
	default:
		return ""
	}
}

// mayRepeat reports whether a call that had no effect may be repeated: it was not sent, or the HTTP status
// itself says that waiting helps. A server's words to that effect are enough only if nothing is written, or
// the server is trusted.
func (r *rule) mayRepeat(at *target, last *end) bool {
	return r.nature != retry.Writes || at.entry.Trusted || last.status == 0 || last.status == http.StatusTooManyRequests
}

// regain renews a session that the server has lost. By answering 404, the server says that it did nothing, so that the
// call can be repeated, writes included; but only once, and only in a session that exists. If none can be opened, a
// write fails with what is known of it: the 404, which is no reason to make the call again.
func (c *call) regain(lost *end, before bool) bool {
	if before {
		lost.e = c.on.to.lostAgain(c.rule.nature, lost.e)
		return false
	}
	for attempt := 1; ; attempt++ {
		err := c.renewSession(c.ctx, lost.generation)
		if err == nil {
			return true
		}
		e := recourse.From(err).WithEffect(recourse.EffectNone)
		d := c.on.to.policy.Decide(e, retry.Reads, attempt, c.deadline.Left()) // nothing is sent but initialize
		switch {
		case d.Repeat && c.on.to.backend.Budget.Take() && pause.For(c.ctx, d.Wait):
		case c.rule.nature == retry.Writes:
			lost.e = c.on.to.lostFor(err)
			return false
		default:
			lost.e, lost.status = e, 0 // the call has no answer
			return false
		}
	}
}

// lostAgain is the failure of a call in a session that was opened for it.
func (to *target) lostAgain(nature retry.Nature, lost *recourse.Error) *recourse.Error {
	switch title := to.entry.Title; {
	case lost.Kind != recourse.KindUnknownSession:
		return lost
	case nature == retry.Writes:
		return to.lostFor(errLostAgain)
	default:
		return recourse.Unavailable(title).WithMessage("%s does not know the session that it has just opened.", title).
			WithOrigin(recourse.OriginServer).WithUpstream(lost.Upstream).WithEffect(recourse.EffectNone).CausedBy(lost.Cause())
	}
}

var errLostAgain = errors.New("the server does not know the session that it has just opened")

// lostFor is the failure of a write whose session the server has lost, where there is no new one.
func (to *target) lostFor(cause error) *recourse.Error {
	return upstream.SessionLost(to.entry.Title, http.StatusNotFound, cause)
}
