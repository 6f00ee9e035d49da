package upstream

import (
	"time"

	"github.com/recoursehq/recourse/internal/wire"
)

// probe asks a child that has left a call unanswered for a sign of life: by a ping
// (MCP 2025-11-25, basic/utilities/ping), or by server/discover in the modern era. One that says nothing at all for a while has
// hung, with everybody who waits for it, and is ended. c.mu is held.
func (c *child) probe() {
	if c.probing != nil {
		return
	}
	if c.modern.Load() { // anything that is said will do
		c.order(wire.MethodDiscover, DiscoverParams)
	} else {
		c.order(wire.MethodPing, nil)
	}
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

// order makes a request whose answer nobody waits for. c.mu is held.
func (c *child) order(method string, params []byte) {
	c.lastID++
	c.late(c.lastID)
	c.append(wire.AppendRequest(nil, wire.IntID(c.lastID), method, params))
}
