package contractgen

import (
	"slices"

	"github.com/recoursehq/recourse/internal/json"
)

// An Audience is whom a module is for.
type Audience string

// The audiences: who reads failures and recovers, who writes them, and who does both.
const (
	ForClients Audience = "client"
	ForServers Audience = "server"
	ForBoth    Audience = "both"
)

// A tableSet is a contract as tables.
type tableSet struct{ kinds, codes, contract json.Value }

// tablesFor returns the tables: for clients without what only a writer needs.
func (c module) tablesFor(audience Audience) tableSet {
	contract := c.contractTable()
	if audience != ForClients {
		return tableSet{kinds: kindsTable(), codes: c.codesTable(), contract: contract.AppendTo(nil)}
	}
	return tableSet{
		kinds: membersOf(kindsTable(), func(facts json.Value) json.Value { return without(facts, "rpc", "sentence") }),
		codes: listOf(elementsOf(c.codesTable()), func(entry json.Value) json.Value {
			m := json.MembersOf(without(entry, "hint", "waitMs"))
			for i := range m {
				if m[i].Name == "for" {
					m[i].Value = clientSelectors(m[i].Value)
				}
			}
			return m.AppendTo(nil)
		}),
		contract: clientContract(contract),
	}
}

// clientContract returns the table of the whole without what only a writer needs.
func clientContract(table json.Members) json.Value {
	table = json.MembersOf(without(table.AppendTo(nil), "unknownTool", "literals", "showsValues", "question", "hints"))
	layout := func(of json.Value) json.Value {
		return without(of, "indent", "structured", "result", "isError", "mimeTypes")
	}
	for i := range table {
		switch m := &table[i]; m.Name {
		case "layout":
			m.Value = layout(m.Value)
		case "returns":
			m.Value = listOf(elementsOf(m.Value), func(one json.Value) json.Value {
				var returned json.Members
				returned.Add("layout", layout(json.Lookup(one, "/layout")))
				return returned.AppendTo(nil)
			})
		}
	}
	return table.AppendTo(nil)
}

// clientSelectors returns the selectors that can hold for a client, which sees failures of tools, and of no tool in particular.
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

// membersOf returns an object of what one makes of each member of another.
func membersOf(object json.Value, one func(json.Value) json.Value) json.Value {
	m := json.MembersOf(object)
	for i := range m {
		m[i].Value = one(m[i].Value)
	}
	return m.AppendTo(nil)
}
