package contract_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/recoursehq/recourse/internal/contracttest"
	"github.com/recoursehq/recourse/internal/strictyaml"
)

// The compact files say what the YAML files say.
func TestCompactIsFresh(t *testing.T) {
	t.Parallel()
	wild := filepath.Join("internal", "wild")
	for file, pattern := range map[string]string{
		"contracts.compact": "*.yaml", filepath.Join(wild, "families.compact"): filepath.Join(wild, "families", "*.yaml"),
	} {
		sources, err := filepath.Glob(pattern)
		if err != nil || len(sources) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		var compact []byte
		for _, source := range sources {
			src, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := strictyaml.Parse(filepath.Base(source), src)
			if err != nil {
				t.Fatal(err)
			}
			compact = append(doc.AppendCompact(compact), '\n')
		}
		contracttest.Golden(t, file, string(compact))
	}
}
