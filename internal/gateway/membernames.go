package gateway

import "github.com/recoursehq/recourse/contract"

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
