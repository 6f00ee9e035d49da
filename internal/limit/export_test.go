package limit

// At returns when a call was charged, on the counter's clock.
func (c *Charge) At() int64 { return c.at }
