package gateway

import (
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/json"
	"github.com/recoursehq/recourse/internal/wire"
	"github.com/recoursehq/recourse/retry"
)

// relayed reports whether a server's own call has ended this one, and has been told of.
func (c *call) relayed() bool { return c.outer != nil && c.outer.relayed.Load() && c.out.record == nil }

// offered tells the contract under which names the client of a nested call knows the server's tools.
func (c *call) offered(call *contract.Call) {
	if c.member == nil {
		return
	}
	names, has := c.member.names, call.HasTool
	call.Offered = func(tool string) (name string, known bool) {
		if has != nil && !has(tool) {
			return "", false
		}
		name, _ = names.Offered(tool)
		return name, true
	}
	if has == nil {
		return
	}
	call.HasTool = func(tool string) bool {
		if has(tool) {
			return names.Allows(tool)
		}
		local, ok := names.Local(tool) // it may be named as the client knows it already
		return ok && has(local)
	}
}

// offeredName returns the name under which the client knows a tool of the server's, and whether it is offered at all.
func (c *call) offeredName(tool string) (name string, ok bool) {
	if c.member == nil {
		return tool, true
	}
	return c.member.names.Offered(tool)
}

// memberReads reports whether a tool that clients call offered only reads, by what is known of all servers that may have it.
func (c *call) memberReads(offered string) bool {
	known, r := false, c.who.request(c.upstreamHeader(), nil)
	if r.Message = (&wire.Message{Meta: c.req.msg.Meta}); c.req.era == wire.Legacy {
		const version = `"` + wire.MetaProtocolVersion + `":"` + wire.Version20260728 + `"`
		r.Message.Meta = json.Value("{" + version + `,"` + wire.MetaClientCapabilities + `":{}}`)
	}
	for i, names := range c.on.many.members {
		local, ok := names.Local(offered)
		if !ok {
			continue
		}
		on := c.on.many.of[i]
		raw, listed := c.to.many.Listed(c.ctx, r, c.on.many.options.Servers[i], local)
		if listed && raw == nil {
			continue // it has no such tool
		}
		if on.natureOf(local, on.target.Tool(local), readTool(raw)) != retry.Reads {
			return false
		}
		known = true
	}
	return known
}
