package breaker

import "time"

// A Circuit is closed until [Circuit.Open] opens it for a while. After that one call at a time may probe, and
// [Circuit.Close] closes it once a call has succeeded. The zero value is closed. It is not safe for
// concurrent use.
type Circuit struct {
	opens int       // how many times in a row it has opened
	until time.Time // when a call may probe; zero: the circuit is closed
	probe time.Time // when the probing call began; zero: none is probing
}

// ProbeTimeout is how long other calls wait for a probe. After that, another one may probe.
const ProbeTimeout = 30 * time.Second

// Open opens the circuit for first, doubled for each opening in a row, up to most; but at least for least.
func (c *Circuit) Open(now time.Time, first, most, least time.Duration) {
	c.probe = time.Time{}
	c.until = now.Add(max(min(first<<min(c.opens, 8), most), least))
	c.opens++
}

// Closed reports whether calls pass.
func (c *Circuit) Closed() bool { return c.until.IsZero() }

// Until returns when a call may probe: the zero time if the circuit is closed.
func (c *Circuit) Until() time.Time { return c.until }

// Probing reports whether a call is probing, and how long it has been.
func (c *Circuit) Probing(now time.Time) (since time.Duration, probing bool) {
	if c.probe.IsZero() || !now.Before(c.probe.Add(ProbeTimeout)) {
		return 0, false
	}
	return now.Sub(c.probe), true
}

// Begin records that a call begins. If the circuit is open, it is a probe.
func (c *Circuit) Begin(now time.Time) {
	if !c.Closed() {
		c.probe = now
	}
}

// Leave records that a call ended without showing whether the server works.
func (c *Circuit) Leave() { c.probe = time.Time{} }

// Close records that a call has succeeded.
func (c *Circuit) Close() { *c = Circuit{} }
