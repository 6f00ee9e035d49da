package contract_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/recoursehq/recourse/contract"
)

// Every built-in family is without mistakes, and reads its examples as it says.
func TestFamilies(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("wild", "*.yaml"))
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
			if _, err := contract.LoadFamily(file, src); err != nil {
				t.Error(err)
			}
		})
	}
}
