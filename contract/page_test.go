package contract_test

import (
	"path/filepath"
	"testing"

	"github.com/recoursehq/recourse/contract"
)

// The reference pages in the documentation are those that the program prints.
func TestPagesAreFresh(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		golden(t, filepath.Join("..", "docs", "contracts", c.Name+".md"), c.Page())
	}
}

func TestSchemasAreFresh(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		golden(t, filepath.Join("testdata", "schema", c.Name+".json"), string(c.Schema()))
	}
}
