package contract

import (
	_ "embed"
	"sync"

	"github.com/recoursehq/recourse/internal/strictyaml"
)

// The built-in contracts and families are read from a compact form of their YAML files, because the first
// failure waits for them to load. `go generate` and `make golden` write it, and TestCompactIsFresh compares
// the two.
//
//go:generate go test -run ^TestCompactIsFresh$ . -update
var (
	//go:embed contracts.compact
	compactContracts string
	//go:embed families.compact
	compactFamilies string

	builtinContracts = sync.OnceValue(func() map[string]*strictyaml.Document { return parseCompact(compactContracts) })
)

func parseCompact(text string) map[string]*strictyaml.Document {
	documents, err := strictyaml.ParseCompact(text)
	if err != nil {
		panic("contract: " + err.Error()) //nolint:forbidigo // a defect of this package, not of its caller
	}
	return documents
}
