package gateway

import (
	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/call/toolcall"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway/toollist"
	claims "github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/retry"
)

var againSchema = json.Value(`{"type":"string","maxLength":255,"description":"Leave this out, unless you mean to make a call a second ` +
	`time that you have made before: with the same arguments it is otherwise not made again, and you get its first answer. ` +
	`To mean it, put in a text that you have not used here before. Keep that text when you repeat a call whose answer you did not get."}`)

// takesAgain reports whether the gateway adds an argument to a tool by which a call is meant again. If the tool has one of that
// name, it is the tool's. listed is nil if that is not known.
func (on *endpoint) takesAgain(name string, listed *toolcall.Entry) bool {
	tool := on.entry.Tool(name)
	return tool.Once != nil && tool.Once.Delivered == config.DeliveredArgument &&
		(listed == nil || !listed.Takes(claims.AgainArgument)) && on.natureOf(name, tool, listed) != retry.Reads
}

// withAgain returns a tool of the server's list as clients see it.
func (on *endpoint) withAgain(raw json.Value, listed *toolcall.Entry) json.Value {
	if !on.takesAgain(listed.Name, listed) {
		return raw
	}
	return json.Change(raw, "inputSchema", func(schema json.Value) json.Value {
		if schema.Kind() != '{' {
			return schema
		}
		properties := json.MembersOf(json.Lookup(schema, "/properties"))
		properties.Add(claims.AgainArgument, againSchema)
		added := json.MembersOf(json.Without(schema, "properties"))
		added.Object("properties", properties)
		return added.AppendTo(nil)
	})
}

// takeAgain takes the gateway's own argument out of a call, and returns its value.
func (c *call) takeAgain() (value string, e *recourse.Error) {
	if !c.on.takesAgain(c.req.msg.Name, c.rule.listed.Tool) {
		return "", nil
	}
	raw := json.Lookup(c.req.msg.Arguments, "/"+claims.AgainArgument)
	if raw == nil {
		return "", nil
	}
	value, isText := json.TextOf(raw)
	leftOut := raw.Kind() == 'n' || isText && value == "" // as some models do it
	if !leftOut && (!isText || claims.CheckKey(value) != "") {
		return "", toolcall.OnceWrongAgain()
	}
	return value, c.req.change(json.Change(c.req.msg.Params, "arguments", withoutAgain))
}

func withoutAgain(arguments json.Value) json.Value {
	return json.Without(arguments, claims.AgainArgument)
}

// listedTool returns a tool of the server's list as the caller sees it; nil if the caller does not.
func (p permission) listedTool(raw json.Value) json.Value {
	tool := toollist.ReadTool(raw)
	switch {
	case tool == nil && p.on.grants == nil:
		return raw
	case tool == nil, !p.sees(tool):
		return nil
	default:
		return p.on.withAgain(raw, tool)
	}
}
