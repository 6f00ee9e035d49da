package gateway

import (
	"errors"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/bulkhead"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/limit"
)

// An allowance is what a call takes of its endpoint's limits.
type allowance struct {
	charges []limit.Charge // one for each of rates
	rates   []*rate
	inside  []admission // the gates that the call has passed

	at      time.Time // when they were charged
	given   bool      // they have been given back
	refused string    // the name of the limit that refused the call
}

// clear resets a for another call: only its memory is kept.
func (a *allowance) clear() {
	clear(a.charges)
	clear(a.rates)
	clear(a.inside)
	*a = allowance{charges: a.charges[:0], rates: a.rates[:0], inside: a.inside[:0]}
}

// An admission is a call's right to be in progress.
type admission struct {
	gate *gate
	key  limit.Key
}

// throttle lets the call of a tool pass unless one of the endpoint's limits is exceeded. The server never
// sees a call that is refused, and no limit counts it.
//
// A call that has passed counts in all windows, whatever becomes of it, with two exceptions: a call that was
// never sent, and one that failed through the caller's own mistake.
func throttle(c *call, next next) error {
	l := c.on.limits
	if l == nil || !c.req.isCall() || !c.req.asks() {
		return next(c)
	}
	defer c.leaveGates()
	e := c.enterGates(l)
	now := time.Now() // the one that a refusal is told by
	if e == nil {
		e = c.charge(l, now)
	}
	if e != nil {
		if err := c.reply.manner.object(c, e); err != nil {
			c.tellRefusal(e, now)
			return err
		}
		return next(c)
	}
	if len(c.out.allowance.charges) == 0 {
		return next(c)
	}
	c.out.allowance.at = now
	if l.headers {
		c.tellRemaining(now)
	}
	err := next(c)
	if c.isFree(err) {
		c.giveBack()
	}
	return err
}

// enterGates waits until the call may proceed.
func (c *call) enterGates(l *limits) *recourse.Error {
	if c.on.Mode == config.ModeObserve { // nothing waits there
		return nil
	}
	a := &c.out.allowance
	for i := range l.gates {
		g := &l.gates[i]
		if !g.Counts(c.req.msg.Name) {
			continue
		}
		key, began := c.limitKey(g.Limit), time.Now()
		c.deadline.Suspend() // the wait has a limit of its own
		err := c.g.counting.gate.Enter(c.ctx, &g.bound, key)
		c.deadline.Alive() // the full timeout is for the server
		c.out.queued += time.Since(began)
		if err != nil {
			a.refused = g.Name
			return c.crowded(g, err)
		}
		a.inside = append(a.inside, admission{g, key})
	}
	return nil
}

// leaveGates ends the call's right to be under way.
func (c *call) leaveGates() {
	a := &c.out.allowance
	for _, at := range a.inside {
		c.g.counting.gate.Leave(&at.gate.bound, at.key)
	}
	a.inside = a.inside[:0]
}

// crowded returns the refusal of a call at a gate.
func (c *call) crowded(g *gate, err error) *recourse.Error {
	why := "and the queue is full"
	if !errors.Is(err, bulkhead.ErrFull) {
		why = "and none of them ended in time"
	}
	return recourse.RateLimited(busyWait).WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
		WithMessage("The limit of %s at the same time has been reached, %s.", callsOf(int64(g.AtOnce)), why).
		With(func(r *recourse.Error) {
			r.Quotas = []recourse.Quota{{Policy: g.Name, Limit: int64(g.AtOnce), Partition: c.partition(g.Limit)}}
		}).CausedBy(err)
}

// charge counts the call in all windows, or says why it may not pass.
func (c *call) charge(l *limits, now time.Time) *recourse.Error {
	a := &c.out.allowance
	for i := range l.rates {
		if r := &l.rates[i]; r.Counts(c.req.msg.Name) {
			a.charges = append(a.charges, limit.Charge{Window: &r.window, Key: c.limitKey(r.Limit)})
			a.rates = append(a.rates, r)
		}
	}
	if len(a.charges) == 0 {
		return nil
	}
	ok, err := c.table.counter.Take(c.ctx, now, a.charges)
	switch {
	case err != nil:
		return recourse.New(recourse.KindUnavailable, "The gateway cannot check its limits at the moment, so it refuses all calls.").
			WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).WithRetry(recourse.RetrySameCall).
			WithRetryAfter(busyWait).CausedBy(err)
	case ok:
		return nil
	}
	return c.exceeded(now)
}

// exceeded returns the refusal of a call for which a window has no room. The window that has room last is the
// binding one.
func (c *call) exceeded(now time.Time) *recourse.Error {
	a := &c.out.allowance
	binding := -1
	for i := range a.charges {
		if a.charges[i].Full() && (binding < 0 || a.charges[i].Reset > a.charges[binding].Reset) {
			binding = i
		}
	}
	a.refused = a.rates[binding].Name
	quotas := []recourse.Quota{c.quota(binding, now)}
	for i := range a.charges {
		if i != binding {
			quotas = append(quotas, c.quota(i, now))
		}
	}
	kind := recourse.KindRateLimited
	if a.charges[binding].Window.Length >= day {
		kind = recourse.KindQuotaExhausted
	}
	w := a.charges[binding].Window
	return recourse.New(kind, "").WithOrigin(recourse.OriginGateway).WithEffect(recourse.EffectNone).
		WithMessage("The limit of %s in %s has been reached.", callsOf(w.Calls), recourse.FormatWait(w.Length)).
		With(func(r *recourse.Error) {
			// Whole seconds, so that every form of the wait says the same.
			r.Quotas, r.RetryAfter = quotas, (quotas[0].ResetAt.Sub(now) + time.Second - 1).Truncate(time.Second)
		})
}

const day = 24 * time.Hour

// quota returns the state of a window.
func (c *call) quota(i int, now time.Time) recourse.Quota {
	charge, r := &c.out.allowance.charges[i], c.out.allowance.rates[i]
	return recourse.Quota{
		Policy: r.Name, Limit: r.window.Calls, Window: r.window.Length, Remaining: charge.Remaining,
		ResetAt: now.Add(charge.Reset + time.Millisecond - 1).Truncate(time.Millisecond), Partition: c.partition(r.Limit),
	}
}

// isFree reports whether a call that ended with err is not counted. The server is believed if it says that
// the caller made a mistake: limits protect the server itself.
func (c *call) isFree(err error) bool {
	var e *recourse.Error
	if !errors.As(err, &e) {
		return false
	}
	class := e.Kind.Class()
	return c.out.sent == 0 || class == recourse.ClassInput || class == recourse.ClassProtocol
}

// giveBack takes the call out of all windows, once.
func (c *call) giveBack() {
	a := &c.out.allowance
	if a.given || len(a.charges) == 0 {
		return
	}
	a.given = true
	c.table.counter.Give(c.ctx, a.charges)
	if c.on.limits.headers && !c.reply.started {
		for i := range a.charges {
			a.charges[i].Remaining++
		}
		c.tellRemaining(a.at)
	}
}
