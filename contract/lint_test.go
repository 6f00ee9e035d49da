package contract_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// All mistakes in a file are reported together: where, what, and what to do.
func TestLint(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "lint", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := "no mistakes\n"
			if _, err := contract.Builtin().Load(filepath.Base(file), src); err != nil {
				got = err.Error() + "\n"
			}
			contracttest.Golden(t, strings.TrimSuffix(file, ".yaml")+".txt", got)
		})
	}
}
