package archtest_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rePlain matches the packages that make test runs without the race detector.
var rePlain = regexp.MustCompile(`(?m)^PLAIN := ((?:.*\\\n)*.*)$`)

// plainStartNothing requires that the packages that make test runs without the race detector start no goroutines.
func plainStartNothing(files []file) []string {
	var plain, faults []string
	for _, f := range files {
		if m := rePlain.FindSubmatch(f.data); f.path == "Makefile" && m != nil {
			plain = strings.Fields(string(bytes.ReplaceAll(m[1], []byte("\\\n"), nil)))
		}
	}
	if len(plain) == 0 {
		return []string{"Makefile names no PLAIN packages"}
	}
	for _, f := range files {
		if path.Ext(f.path) != ".go" || !slices.Contains(plain, "./"+path.Dir(f.path)) {
			continue
		}
		positions := token.NewFileSet()
		parsed, err := parser.ParseFile(positions, f.path, f.data, parser.SkipObjectResolution)
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			starts := false
			switch n := n.(type) {
			case *ast.GoStmt:
				starts = true
			case *ast.SelectorExpr:
				starts = n.Sel.Name == "Go" || n.Sel.Name == "AfterFunc"
			}
			if starts {
				faults = append(faults, fmt.Sprintf("%s starts a goroutine: take its package out of PLAIN in the Makefile", positions.Position(n.Pos())))
			}
			return true
		})
	}
	slices.Sort(faults)
	return faults
}

func TestPlainPackagesStartNothing(t *testing.T) {
	t.Parallel()

	for _, fault := range plainStartNothing(readFiles(t)) {
		t.Error(fault)
	}
}

func TestPlainRuleFindsFaults(t *testing.T) {
	t.Parallel()

	got := plainStartNothing([]file{
		{"Makefile", []byte("RACE := -race\nPLAIN := ./a \\\n\t./b/c\n\ntest:\n")},
		{"a/a.go", []byte("package a\n\nfunc f() { go f() }\n")},
		{"b/c/c.go", []byte("package c\n\nfunc f() { var w sync.WaitGroup; w.Go(f) }\n")},
		{"b/b.go", []byte("package b\n\nfunc f() { go f() }\n")},
	})
	want := []string{
		"a/a.go:3:12 starts a goroutine: take its package out of PLAIN in the Makefile",
		"b/c/c.go:3:34 starts a goroutine: take its package out of PLAIN in the Makefile",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
