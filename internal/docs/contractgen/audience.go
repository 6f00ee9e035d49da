package contractgen

import (
	"slices"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// An Audience is who a module is for.
type Audience string

// The audiences: programs that read failures and recover, programs that write them, and programs that do both.
const (
	ForClients Audience = "client"
	ForServers Audience = "server"
	ForBoth    Audience = "both"
)

// A tableSet is a contract as tables.
type tableSet struct{ codes, contract json.Value }

// tablesFor returns the tables for an audience. Those for clients lack what only a writer needs.
func (c module) tablesFor(audience Audience) tableSet {
	members := c.contractTable()
	contract := members.AppendTo(nil)
	if audience != ForClients {
		return tableSet{c.codesTable(), contract}
	}
	codes := listOf(elementsOf(c.codesTable()), func(entry json.Value) json.Value {
		m := json.MembersOf(without(entry, "hint", "waitMs", "ask"))
		for i := range m {
			if m[i].Name == "for" {
				m[i].Value = clientSelectors(m[i].Value)
			}
		}
		return m.AppendTo(nil)
	})
	whole := json.MembersOf(without(contract, "unknownTool", "literals", "showsValues", "hints"))
	for i := range whole {
		if whole[i].Name == "layouts" {
			whole[i].Value = listOf(elementsOf(whole[i].Value), func(layout json.Value) json.Value {
				return without(layout, "tools", "indent", "structured", "result", "isError", "mimeTypes")
			})
		}
	}
	return tableSet{codes, whole.AppendTo(nil)}
}

// clientSelectors returns the selectors that can match for a client, which only sees failures of tools, and those that
// name no tool.
func clientSelectors(selectors json.Value) json.Value {
	held := slices.DeleteFunc(elementsOf(selectors), func(sel json.Value) bool {
		at := json.Lookup(sel, "/at")
		return json.Lookup(sel, "/tool") != nil || at != nil && !slices.ContainsFunc(elementsOf(at), func(place json.Value) bool {
			return string(place) == `"tool"`
		})
	})
	return listOf(held, func(sel json.Value) json.Value { return without(sel, "at") })
}

// without returns an object without some of its members.
func without(object json.Value, names ...string) json.Value {
	m := slices.DeleteFunc(json.MembersOf(object), func(m json.Member) bool { return slices.Contains(names, m.Name) })
	return m.AppendTo(nil)
}
