package contract_test

import (
	"path/filepath"
	"testing"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// Each built-in contract's golden kit is in testdata: what it writes and how that is read, byte for byte.
func TestKit(t *testing.T) {
	t.Parallel()
	for _, c := range contract.Builtin().All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			contracttest.Golden(t, filepath.Join("testdata", "kit", c.Name+".txtar"), string(contracttest.Kit(t, c)))
		})
	}
}
