package contractgen

import (
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// form is the form of a contract as JSON. A package that reads it refuses a later one: add one when a package of before
// would read a contract wrongly.
const form = 1

// JSON returns a contract as the packages recourse-client and @recoursehq/client read it.
func JSON(of *contract.Contract) []byte {
	tables := tablesOf(of)
	return append(tables.AppendTo(nil), '\n')
}

// tablesOf returns a contract as tables.
func tablesOf(of *contract.Contract) json.Members {
	c := module{of, contractform.Of(of)}
	var m json.Members
	m.Number("form", form)
	rest := c.contractTable()
	m = append(m, rest[0]) // the name
	m.Text("title", c.Title)
	m.Add("codes", c.codesTable())
	return append(m, rest[1:]...)
}
