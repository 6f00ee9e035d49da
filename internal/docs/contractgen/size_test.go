package contractgen_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/recoursehq/recourse/internal/docs/contractgen"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// A small contract becomes a small module.
func TestSize(t *testing.T) {
	t.Parallel()
	for _, c := range contracttest.Every(t) {
		if c.Name != "shop" {
			continue
		}
		for _, module := range []struct {
			name string
			text []byte
			most int
		}{
			{"TypeScript", contractgen.TypeScript(c), 175},
			{"Python", contractgen.Python(c), 175},
		} {
			if lines := bytes.Count(module.text, []byte("\n")); lines > module.most {
				t.Errorf("%s: got %d lines, want at most %d", module.name, lines, module.most)
			}
		}
	}
}

// Lines in the part that all modules share fit on a screen.
func TestWidth(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"../../../clients/python/src/*/*.py", "../../../clients/typescript/src/*.ts"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if filepath.Base(file) == "contracts.ts" {
				continue // generated
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for line := range bytes.Lines(text) {
				if n++; utf8.RuneCount(bytes.TrimSuffix(line, []byte("\n"))) > 120 {
					t.Errorf("%s:%d is longer than 120 characters", file, n)
				}
			}
		}
	}
}
