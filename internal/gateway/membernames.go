package gateway

import (
	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/nearest"
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

// unknownTool returns the failure of a call of a tool that the server does not have, in the words of the client.
func (c *call) unknownTool(e *recourse.Error) *recourse.Error {
	if c.member == nil {
		return e
	}
	name, _ := c.member.names.Offered(c.req.msg.Name)
	unknown := recourse.UnknownTool(name).WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone)
	var offered []string
	for _, local := range c.rule.list.Names {
		if other, ok := c.member.names.Offered(local); ok {
			offered = append(offered, other)
		}
	}
	if other, ok := nearest.Of(name, offered); ok {
		unknown = unknown.WithMessage("%s Did you mean %s?", unknown.Sentence(), other)
	}
	return unknown
}
