package gateway

import (
	"errors"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/intake"
	"github.com/recoursehq/recourse/internal/policy/limit"
)

// queue holds an attempt back while too many calls to the tool or the server are in progress.
func queue(a *attempt, try try) end {
	c := a.of
	if c.on.to.guard.bulkhead == nil && c.rule.Concurrency == nil || !c.req.isBounded() {
		return try(a)
	}
	if rule := c.rule.Concurrency; rule != nil { // taken first, so that calls waiting for the tool do not occupy the server's places
		b := c.on.to.guard.toolBulkheads[rule]
		if e := a.takePlace(b, rule); e != nil {
			return notSent(e)
		}
		defer b.Leave()
	}
	if b := c.on.to.guard.bulkhead; b != nil {
		if e := a.takePlace(b, c.on.to.entry.Concurrency); e != nil {
			return notSent(e)
		}
		defer b.Leave()
	}
	return try(a)
}

// takePlace waits for a place, or returns why the call does not get one.
func (a *attempt) takePlace(b *limit.Bulkhead, rule *config.Concurrency) *recourse.Error {
	c := a.of
	switch {
	case b.Try():
		return nil
	case a.isSpare():
		return c.on.to.heldBackFor(intake.BusyWait)
	}
	if e := c.on.to.holdsBack(c.rule.lane(&c.req)); e != nil { // the calls ahead are waiting for a server that does not answer
		return e
	}
	began, waited := time.Now(), c.pauseDeadline()
	err := b.Enter(c.ctx, rule.Wait)
	waited()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, limit.ErrFull):
		return c.on.to.heldBackFor(intake.BusyWait).
			WithMessage("%s is busy with other calls, and no more of them can wait. This one was not sent.", c.on.to.entry.Title)
	default:
		return c.on.to.heldBackFor(intake.BusyWait).WithMessage("%s is busy with other calls. This one waited for %s, and was not sent.",
			c.on.to.entry.Title, recourse.FormatWait(time.Since(began)))
	}
}
