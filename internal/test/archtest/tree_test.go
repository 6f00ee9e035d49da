package archtest_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/recoursehq/recourse"

// pkg is a package of this module with the imports of its files, on all platforms.
type pkg struct {
	path        string // relative to the module, "." for the root
	imports     []string
	testImports []string // of its test files only
}

// file is a file of the repository.
type file struct {
	path string // relative to the root, with slashes
	data []byte
}

// readFiles returns the files of the repository, except those that make builds and installs.
//
// The files are read here, and not by git or go list, because the test cache only notices changes of files that the
// test itself opens.
func readFiles(t *testing.T) []file {
	t.Helper()

	root, err := os.OpenRoot(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	var files []file
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if entry.Name() == "node_modules" || slices.Contains([]string{".git", ".tools", "bin", "dist"}, name) {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		data, err := root.ReadFile(name)
		files = append(files, file{name, data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// readPackages returns the packages of the Go files among files, sorted by path. Those in tools belong to other
// modules.
func readPackages(t *testing.T, files []file) []pkg {
	t.Helper()

	byPath := map[string]*pkg{}
	for _, f := range files {
		if path.Ext(f.path) != ".go" || strings.HasPrefix(f.path, "tools/") || strings.Contains("/"+f.path, "/testdata/") {
			continue
		}
		dir := path.Dir(f.path)
		if byPath[dir] == nil {
			byPath[dir] = &pkg{path: dir}
		}
		p := byPath[dir]
		syntax, err := parser.ParseFile(token.NewFileSet(), f.path, f.data, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range syntax.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(f.path, "_test.go") {
				p.testImports = append(p.testImports, name)
			} else {
				p.imports = append(p.imports, name)
			}
		}
	}

	var packages []pkg
	for _, p := range byPath {
		p.imports = sortedSet(p.imports)
		p.testImports = sortedSet(p.testImports)
		packages = append(packages, *p)
	}
	slices.SortFunc(packages, func(a, b pkg) int { return strings.Compare(a.path, b.path) })
	return packages
}

// ours returns an import path relative to the module, and whether it is one of the module's.
func ours(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// within reports whether name is dir or a path in it.
func within(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, dir+"/")
}

func sortedSet(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
