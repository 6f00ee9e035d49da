package gateway

import (
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/gateway/limits"
)

// enter lets the call of a tool wait while as many calls are in progress as the endpoint's limits allow at once.
func enter(c *call, next next) *failure {
	l := c.on.limitsOf(&c.req)
	if l == nil || !l.Wait() {
		return next(c)
	}
	a, counted := &c.out.allowance, limits.Counted{Tool: c.req.msg.Name, Payer: c.who.counted()}
	defer a.Leave(c.g.counting)
	if e := a.Enter(c.ctx, c.g.counting, l, &counted, c.pauseDeadline); e != nil {
		return c.exceeded(e, time.Now())
	}
	return next(c)
}

// throttle lets the call of a tool pass unless one of the endpoint's limits is exceeded. The server never
// sees a call that is refused, and no limit counts it.
//
// A call that has passed counts in all windows, whatever becomes of it, with two exceptions: a call that was
// never sent, and one that failed through the caller's own mistake.
func throttle(c *call, next next) *failure {
	l := c.on.limitsOf(&c.req)
	if l == nil {
		return next(c)
	}
	a, counted := &c.out.allowance, limits.Counted{Tool: c.req.msg.Name, Payer: c.who.counted()}
	now := time.Now() // also the time in the headers of a refusal
	if e := a.Charge(c.ctx, c.table.counter, l, &counted, now); e != nil {
		if f := c.exceeded(e, now); f != nil {
			return f
		}
		return next(c)
	}
	if !a.Counts() {
		return next(c)
	}
	if l.Headers {
		a.TellRemaining(c.reply.Header())
		c.reply.Limits = true
	}
	f := next(c)
	if f != nil && c.out.notCharged(f) {
		c.giveBack()
	}
	return f
}

// limitsOf returns what limits a request, or nil.
func (on *endpoint) limitsOf(r *request) *limits.Limits {
	if !r.isCall() || !r.asks() || r.inquires {
		return nil
	}
	return on.limits
}

// exceeded returns the failure of a call that exceeds a limit.
func (c *call) exceeded(e *recourse.Error, now time.Time) *failure {
	f := c.on.mode.object(c, e)
	if f != nil {
		limits.TellRefusal(c.reply.Header(), e, now)
	}
	return f
}

// notCharged reports whether a call that ended with f is not counted. The server is believed if it says that
// the caller made a mistake: limits protect the server itself.
func (o *outcome) notCharged(f *failure) bool {
	class := f.Err.Kind.Class()
	return o.Sent == 0 || class == recourse.ClassInput || class == recourse.ClassProtocol
}

// giveBack takes the call out of all windows, once.
func (c *call) giveBack() {
	a := &c.out.allowance
	if a.GiveBack(c.ctx, c.table.counter) && c.on.limits.Headers && !c.reply.Started {
		a.TellRemaining(c.reply.Header())
	}
}
