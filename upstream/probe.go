package upstream

import (
	"strconv"
	"time"
)

// probe asks a child that has left a call unanswered for a sign of life (MCP
// 2025-11-25, basic/utilities/ping). One that says nothing at all for a while has
// hung, with everybody who waits for it, and is ended. c.mu is held.
func (c *child) probe() {
	if c.probing != nil {
		return
	}
	c.lastID++
	c.late(c.lastID) // nobody waits for the answer: anything that is said will do
	start := len(c.out)
	c.out = append(c.out, `{"jsonrpc":"2.0","id":`...)
	c.out = strconv.AppendInt(c.out, c.lastID, 10)
	c.out = append(c.out, `,"method":"ping"}`...)
	c.endLine(start)
	said := c.said.Load()
	c.probing = time.AfterFunc(c.patience.silence, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.probing = nil
		if c.said.Load() == said {
			c.stop(errSilent)
		}
	})
}
