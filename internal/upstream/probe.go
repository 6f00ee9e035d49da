package upstream

import (
	"strconv"
	"time"
)

// probe asks a child that has left a call unanswered for a sign of life: by a ping
// (MCP 2025-11-25, basic/utilities/ping), or by server/discover in the modern era. One that says nothing at all for a while has
// hung, with everybody who waits for it, and is ended. c.mu is held.
func (c *child) probe() {
	if c.probing != nil {
		return
	}
	sign := `"method":"ping"`
	if c.modern.Load() {
		sign = discover
	}
	c.order(sign) // anything that is said will do
	said := c.said.Load()
	c.probing = time.AfterFunc(c.patience.Silence, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.probing = nil
		if c.said.Load() == said {
			c.stop(errSilent)
		}
	})
}

// order makes a request, of which members holds all but the id, and whose answer
// nobody waits for. c.mu is held.
func (c *child) order(members string) {
	c.lastID++
	c.late(c.lastID)
	c.append([]byte(`{"jsonrpc":"2.0","id":` + strconv.FormatInt(c.lastID, 10) + `,` + members + `}`))
}
