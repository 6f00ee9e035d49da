package recovery

import (
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/breaker"
)

const (
	// opensAfter is how many failures in a row open a circuit.
	opensAfter = 5
	// openFirst is how long a circuit is open the first time. It doubles, up to openMost.
	openFirst = time.Second
	openMost  = 30 * time.Second
)

// A circuit holds calls back from what has failed several times in a row. It opens for a while, and then one call at a time
// may try; it closes when one of them gets through.
//
// Calls wait for that as long as their deadlines allow. One that can wait no longer may try early, since it would fail
// without having been sent: one in openFirst at most. So whoever has a moment left when an outage ends still gets through.
type circuit struct {
	breaker.Circuit

	failures int       // in a row
	next     time.Time // when the next that waits asks again
	tried    time.Time // when a call has failed last
	down     *recourse.Error
}

// wait returns how long a call waits until it asks again; 0: it may begin. last is when it can wait no longer, zero if it
// could not wait in the first place.
func (c *circuit) wait(now, last time.Time) time.Duration {
	early := !last.IsZero() && last.Sub(c.tried) >= openFirst
	switch since, probing := c.Probing(now); {
	case c.Closed():
		return 0
	case probing:
		return min(max(since, spread), openFirst)
	case !now.Before(c.Until()), early && !now.Before(last):
		return 0
	}
	turn := c.next
	c.next = turn.Add(spread)
	if early && last.Before(turn) {
		turn = last
	}
	return turn.Sub(now)
}

// failed notes that a call has failed.
func (c *circuit) failed(now time.Time, e *recourse.Error) {
	c.Leave()
	if c.failures++; c.failures < opensAfter {
		return
	}
	c.down, c.tried = e, now
	c.Open(now, openFirst, openMost, min(e.RetryAfter, recourse.MaxWait))
	c.next = c.Until()
}

// close notes that a call has got through.
func (c *circuit) close() { *c = circuit{} }

// refusal returns why a call does not begin: what has happened, so many times.
func (c *circuit) refusal(what string, wait time.Duration) *recourse.Error {
	return recourse.Unavailable(c.down.Provider).WithEffect(recourse.EffectNone).WithRetry(recourse.RetrySameCall).
		WithRetryAfter(max(wait, openFirst)).
		WithMessage("%s %d times in a row: it is not called for a while.", what, c.failures).
		CausedBy(c.down)
}
