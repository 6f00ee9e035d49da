package legacy

import (
	"slices"

	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/protocol/wire"
)

// Discovered turns the result of initialize into that of server/discover (MCP 2026-07-28, "Discovery"). Tasks
// are not offered: in the modern era they are an extension.
func Discovered(hello json.Value) json.Value {
	var l json.Members
	l.Text("resultType", "complete")
	l.Texts("supportedVersions", wire.Versions())
	l.Object("capabilities", slices.DeleteFunc(json.MembersOf(json.Lookup(hello, "/capabilities")), func(m json.Member) bool {
		return m.Name == "tasks" || m.Value.Kind() != '{'
	}))
	if instructions := json.Lookup(hello, "/instructions"); instructions.Kind() == '"' {
		l.Add("instructions", instructions)
	}
	l.Number("ttlMs", 0)
	l.Text("cacheScope", "private")
	if info := json.Lookup(hello, "/serverInfo"); info.Kind() == '{' {
		l.Object("_meta", json.Members{{Name: wire.MetaServerInfo, Value: info}})
	}
	return l.AppendTo(nil)
}
