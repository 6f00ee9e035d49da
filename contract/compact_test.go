package contract_test

import (
	"path/filepath"
	"testing"

	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// The compact files match the YAML files.
func TestCompactIsFresh(t *testing.T) {
	t.Parallel()
	wild := filepath.Join("internal", "wild")
	for file, folder := range map[string]string{
		"contracts.compact": ".", filepath.Join(wild, "families.compact"): filepath.Join(wild, "families"),
	} {
		compact, err := strictyaml.Compact(folder, nil)
		if err != nil {
			t.Fatal(err)
		}
		contracttest.Golden(t, file, string(compact))
	}
}
