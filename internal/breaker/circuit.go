package breaker

import "time"

// A Circuit is closed until [Circuit.Open] opens it for a while. Then one call at a time may probe, and [Circuit.Close]
// closes it once a call has got through. The zero value is closed. It is not safe for concurrent use.
type Circuit struct {
	opens int       // how often in a row it has opened
	until time.Time // when a call may probe; zero: it is closed
	probe time.Time // when the call began that probes; zero: none does
}

// ProbeTimeout is how long the others wait for the call that probes. After that, another one may.
const ProbeTimeout = 30 * time.Second

// Open opens the circuit for first, and for twice as long each time in a row, up to most; but at least for least.
func (c *Circuit) Open(now time.Time, first, most, least time.Duration) {
	c.probe = time.Time{}
	c.until = now.Add(max(min(first<<min(c.opens, 8), most), least))
	c.opens++
}

// Closed reports whether calls pass.
func (c *Circuit) Closed() bool { return c.until.IsZero() }

// Until returns when a call may probe: the zero time if the circuit is closed.
func (c *Circuit) Until() time.Time { return c.until }

// Probing reports whether a call probes, and for how long it has done so.
func (c *Circuit) Probing(now time.Time) (since time.Duration, probing bool) {
	if c.probe.IsZero() || !now.Before(c.probe.Add(ProbeTimeout)) {
		return 0, false
	}
	return now.Sub(c.probe), true
}

// Begin notes that a call begins, which probes if the circuit is open.
func (c *Circuit) Begin(now time.Time) {
	if !c.Closed() {
		c.probe = now
	}
}

// Leave notes that a call has ended without telling whether it would have got through.
func (c *Circuit) Leave() { c.probe = time.Time{} }

// Close notes that a call has got through.
func (c *Circuit) Close() { *c = Circuit{} }
