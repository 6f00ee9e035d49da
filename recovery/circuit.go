package recovery

import (
	"time"

	"github.com/recoursehq/recourse"
)

const (
	// opensAfter is how many failures in a row open a circuit.
	opensAfter = 5
	// openFirst is how long a circuit is open the first time. It doubles, up to openMost.
	openFirst = time.Second
	openMost  = 30 * time.Second
	// trialMost is how long the others wait for the call that tries.
	trialMost = 30 * time.Second
)

// A circuit holds calls back from what has failed several times in a row. It opens for a while, and then one call at a time
// may try; it closes when one of them gets through.
//
// Calls wait for that as long as their deadlines allow. One that can wait no longer may try early, since it would fail
// without having been sent: one in openFirst at most. So whoever has a moment left when an outage ends still gets through.
type circuit struct {
	failures int       // in a row
	opens    int       // how often in a row it has opened
	until    time.Time // when a call may try
	next     time.Time // when the next that waits asks again
	tried    time.Time // when a call has failed last
	trial    time.Time // when the call began that tries; zero: none does
	down     *recourse.Error
}

// wait returns how long a call waits until it asks again; 0: it may begin. last is when it can wait no longer, zero if it
// could not wait in the first place.
func (c *circuit) wait(now, last time.Time) time.Duration {
	early := !last.IsZero() && last.Sub(c.tried) >= openFirst
	switch {
	case c.failures < opensAfter:
		return 0
	case !c.trial.IsZero() && now.Before(c.trial.Add(trialMost)):
		return min(max(now.Sub(c.trial), spread), openFirst)
	case !now.Before(c.until), early && !now.Before(last):
		return 0
	}
	turn := c.next
	c.next = turn.Add(spread)
	if early && last.Before(turn) {
		turn = last
	}
	return turn.Sub(now)
}

// begin notes that a call begins.
func (c *circuit) begin(now time.Time) {
	if c.failures >= opensAfter {
		c.trial = now
	}
}

// failed notes that a call has failed.
func (c *circuit) failed(now time.Time, e *recourse.Error) {
	c.leave()
	if c.failures++; c.failures < opensAfter {
		return
	}
	c.down, c.tried = e, now
	c.until = now.Add(max(min(openFirst<<min(c.opens, 8), openMost), min(e.RetryAfter, recourse.MaxWait)))
	c.next = c.until
	c.opens++
}

// leave notes that a call has ended, and nobody knows whether it would have got through.
func (c *circuit) leave() { c.trial = time.Time{} }

// close notes that a call has got through.
func (c *circuit) close() { *c = circuit{} }

// refusal returns why a call does not begin: what has happened, so many times.
func (c *circuit) refusal(what string, wait time.Duration) *recourse.Error {
	return recourse.Unavailable(c.down.Provider).WithEffect(recourse.EffectNone).WithRetry(recourse.RetrySameCall).
		WithRetryAfter(max(wait, openFirst)).
		WithMessage("%s %d times in a row: it is not called for a while.", what, c.failures).
		CausedBy(c.down)
}
