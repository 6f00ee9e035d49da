package contractgen_test

import (
	"path/filepath"
	"testing"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/docs/contractgen"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// The packages for other languages have the built-in contracts, and the kinds of failures, as they are.
func TestPackagesAreFresh(t *testing.T) {
	t.Parallel()
	python := filepath.Join("..", "..", "..", "clients", "python", "src", "recourse_client")
	contracttest.Golden(t, filepath.Join(python, "_kinds.py"), string(contractgen.PythonKinds()))
	typescript := filepath.Join("..", "..", "..", "clients", "typescript", "src")
	contracttest.Golden(t, filepath.Join(typescript, "kinds.ts"), string(contractgen.TypeScriptKinds()))
	contracttest.Golden(t, filepath.Join(typescript, "contracts.ts"), string(contractgen.TypeScriptContracts(contract.Builtin().All())))
	for _, c := range contract.Builtin().All() {
		contracttest.Golden(t, filepath.Join(python, "contracts", c.Name+".json"), string(contractgen.JSON(c)))
	}
}
