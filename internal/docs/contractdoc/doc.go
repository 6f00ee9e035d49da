// Package contractdoc prints what people and programs need to know about a contract: its reference page ([Page]), a
// page for each tool of a server ([ToolPages]), the JSON Schema of its object ([Schema]), what it does not carry
// ([Loss]), what its failures become in another contract ([Translate]), and the page about the language of contract
// files ([Language]). All of it is computed from the contract: from its form, and by writing and reading with it.
package contractdoc

import (
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
)

// described is a contract with its form.
type described struct {
	c    *contract.Contract
	form *contractform.Form
}

func describe(c *contract.Contract) described { return described{c, contractform.Of(c)} }

func (d described) title() string {
	if d.c.Title == "" {
		return d.c.Name
	}
	return d.c.Title
}

// methodToolsCall is the JSON-RPC method of a tool call.
const methodToolsCall = "tools/call"
