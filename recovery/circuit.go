package recovery

import (
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/policy/breaker"
)

const (
	// opensAfter is how many failures in a row open a circuit.
	opensAfter = 5
	// openFirst is how long a circuit stays open the first time. It doubles each time, up to openMost.
	openFirst = time.Second
	openMost  = 30 * time.Second
)

// A circuit holds calls back after several failures in a row. It opens for a while, and then lets one call at a time probe;
// it closes when a probe gets through.
//
// Calls wait as long as their deadlines allow. A call that can wait no longer may probe early, since it would fail without
// having been sent: at most one per openFirst. So a call with a moment left when an outage ends still gets through.
type circuit struct {
	breaker.Circuit

	failures int       // in a row
	next     time.Time // when the next that waits asks again
	tried    time.Time // when a call has failed last
	down     *recourse.Error
}

// wait returns how long a call waits until it asks again; 0 means that it may begin. last is when it can wait no longer,
// zero if it cannot wait at all.
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

// failed records that a call has failed.
func (c *circuit) failed(now time.Time, e *recourse.Error) {
	c.Leave()
	if c.failures++; c.failures < opensAfter {
		return
	}
	c.down, c.tried = e, now
	c.Open(now, openFirst, openMost, min(e.RetryAfter, recourse.MaxWait))
	c.next = c.Until()
}

// close records that a call has got through.
func (c *circuit) close() { *c = circuit{} }

// refusal returns the failure of a call that does not begin, because of what has happened several times in a row.
func (c *circuit) refusal(what string, wait time.Duration) *recourse.Error {
	return recourse.Unavailable(c.down.Provider).WithEffect(recourse.EffectNone).WithRetry(recourse.RetrySameCall).
		WithRetryAfter(max(wait, openFirst)).
		WithMessage("%s %d times in a row: it is not called for a while.", what, c.failures).
		CausedBy(c.down)
}
