package contract_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// The compact files match the YAML files.
func TestCompactIsFresh(t *testing.T) {
	t.Parallel()
	wild := filepath.Join("internal", "wild")
	for compact, folder := range map[string]string{
		"contracts.compact": ".", filepath.Join(wild, "families.compact"): filepath.Join(wild, "families"),
	} {
		files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no YAML files in %s: %v", folder, err)
		}
		var all []byte
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := strictyaml.Parse(filepath.Base(file), src)
			if err != nil {
				t.Fatal(err)
			}
			all = append(doc.AppendCompact(all), '\n')
		}
		contracttest.Golden(t, compact, string(all))
	}
}
