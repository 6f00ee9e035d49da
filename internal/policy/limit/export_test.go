package limit

// At returns the time at which a call was charged, by the counter's clock.
func (c *Charge) At() int64 { return c.at }
