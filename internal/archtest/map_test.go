package archtest_test

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packagesNotInMap returns the packages that the tables of CONTRIBUTING.md leave out. A row names a package by its path, and its
// subpackages by their last element.
func packagesNotInMap(contributing string, packages []string) []string {
	var missing []string
	for _, name := range packages {
		if !isInMap(contributing, name) {
			missing = append(missing, name)
		}
	}
	return missing
}

func isInMap(contributing, name string) bool {
	for row := range strings.Lines(contributing) {
		if !strings.HasPrefix(row, "| `") {
			continue
		}
		first, _, _ := strings.Cut(row[2:], " |")
		for dir := name; dir != "."; dir = path.Dir(dir) {
			named := strings.Contains(first, "`"+dir+"`") || strings.Contains(first, "`"+dir+"/`")
			if named && (dir == name || strings.Contains(row, "`"+path.Base(name)+"`")) {
				return true
			}
		}
	}
	return false
}

func TestMapNamesEveryPackage(t *testing.T) {
	t.Parallel()

	files := readFiles(t)
	page := files[slices.IndexFunc(files, func(f file) bool { return f.path == "CONTRIBUTING.md" })]
	var packages []string
	for _, p := range readPackages(t, files) {
		if p.path != "." {
			packages = append(packages, p.path)
		}
	}
	for _, name := range packagesNotInMap(string(page.data), packages) {
		t.Errorf("%s is not in the map of CONTRIBUTING.md: add a row, or its last element to the row of the package above it", name)
	}
}

func TestMapFindsMissingPackages(t *testing.T) {
	t.Parallel()

	page := "| `a/` | one; `inner` is a part of it |\n| `internal/b`, `internal/c` | two |\nNot in a table: `internal/d`.\n"
	got := packagesNotInMap(page, []string{"a", "a/inner", "a/other", "internal/b", "internal/c", "internal/d", "inner"})
	if diff := cmp.Diff([]string{"a/other", "internal/d", "inner"}, got); diff != "" {
		t.Errorf("packages that are missing (-want +got):\n%s", diff)
	}
}
