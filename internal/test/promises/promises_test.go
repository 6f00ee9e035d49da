package promises //nolint:testpackage // it shares the list

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// literal is a promise's id as tests claim it.
var literal = regexp.MustCompile(`"(?:commerce|fieldmcp|patterns|studies|terra)/[a-z0-9-]+"`)

// Every promise is claimed by a test.
func TestEveryPromiseIsClaimed(t *testing.T) {
	t.Parallel()
	known, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	if len(known) == 0 {
		t.Fatal("no promises are listed")
	}
	claimed := map[string]bool{}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", ".tools", "node_modules", "testdata"}, entry.Name()):
			return fs.SkipDir
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		src, err := os.ReadFile(name)
		for _, id := range literal.FindAll(src, -1) {
			claimed[strings.Trim(string(id), `"`)] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		if !claimed[id] {
			t.Errorf("no test claims %s", id)
		}
	}
}
