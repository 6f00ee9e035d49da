package promises_test

import (
	"fmt"
	"go/ast"
	"go/build"
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

// A claim is a test's statement that it provokes or reads a promise.
type claim struct {
	id   string
	pkg  string // folder of the test, relative to the module
	test string // the function or variable with the claim
	way  way
}

// A way is one of the two sorts of claims: by the function, and by the field in the rows of tables.
type way struct{ call, field string }

var (
	provokes = way{"Covers", "promises"}
	reads    = way{"Reads", "readings"}
)

func (c claim) String() string { return c.pkg + "." + c.test }

func (c claim) key() string { return c.id + " " + c.way.call + " " + c.String() }

// A finder collects the claims in test files, and the mistakes in them.
type finder struct {
	claims []claim
	faults []string

	rows   []claim         // in fields of tables
	spread map[spread]bool // whose tests claim their rows
}

// A spread is a package with a way in which its tests claim rows.
type spread struct {
	pkg string
	way way
}

// importPath is how test files name the package.
const importPath = "github.com/recoursehq/recourse/internal/promises"

// findClaims reads all test files of the module.
func findClaims(t *testing.T, root string) (claims []claim, faults []string) {
	t.Helper()
	f := finder{spread: map[spread]bool{}}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			switch entry.Name() {
			case ".git", ".tools", "bin", "node_modules", "testdata":
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		return f.file(filepath.ToSlash(relative), src, onEveryPlatform(t, name))
	})
	if err != nil {
		t.Fatal(err)
	}
	f.finish()
	return f.claims, f.faults
}

// onEveryPlatform reports whether a file is built on three very different platforms.
func onEveryPlatform(t *testing.T, file string) bool {
	t.Helper()
	for _, platform := range [][2]string{{"linux", "amd64"}, {"windows", "arm64"}, {"plan9", "386"}} {
		context := build.Default
		context.GOOS, context.GOARCH = platform[0], platform[1]
		match, err := context.MatchFile(filepath.Split(file))
		if err != nil {
			t.Fatal(err)
		}
		if !match {
			return false
		}
	}
	return true
}

// file collects the claims of one test file.
func (f *finder) file(name string, src []byte, everywhere bool) error {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	imported := slices.ContainsFunc(syntax.Imports, func(spec *ast.ImportSpec) bool {
		return spec.Path.Value == strconv.Quote(importPath)
	})
	file := testFile{finder: f, set: set, dir: path.Dir(name), imports: imported, everywhere: everywhere}
	for _, declaration := range syntax.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			file.test, file.isTest, file.skips = d.Name.Name, isTest(d), skips(d)
		case *ast.GenDecl:
			file.test, file.isTest, file.skips = variable(d), false, false
		}
		ast.Inspect(declaration, file.visit)
	}
	return nil
}

func isTest(d *ast.FuncDecl) bool { return d.Recv == nil && strings.HasPrefix(d.Name.Name, "Test") }

// skips reports whether a function skips its test.
func skips(d *ast.FuncDecl) bool {
	found := false
	ast.Inspect(d, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if method, ok := call.Fun.(*ast.SelectorExpr); ok {
				found = found || slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, method.Sel.Name)
			}
		}
		return !found
	})
	return found
}

// variable returns the first name that d declares.
func variable(d *ast.GenDecl) string {
	for _, spec := range d.Specs {
		if value, ok := spec.(*ast.ValueSpec); ok {
			return value.Names[0].Name
		}
	}
	return ""
}

// A testFile is a file with its current declaration.
type testFile struct {
	*finder

	set        *token.FileSet
	dir        string
	imports    bool // it imports package promises
	everywhere bool
	test       string
	isTest     bool
	skips      bool
}

func (f *testFile) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		fun, ok := n.Fun.(*ast.SelectorExpr)
		for _, w := range []way{provokes, reads} {
			if ok && f.imports && isIdent(fun.X, "promises") && fun.Sel.Name == w.call {
				f.call(n, w)
			}
		}
	case *ast.KeyValueExpr:
		for _, w := range []way{provokes, reads} {
			if isIdent(n.Key, w.field) {
				f.row(n, w)
			}
		}
	}
	return true
}

func isIdent(n ast.Expr, name string) bool {
	ident, ok := n.(*ast.Ident)
	return ok && ident.Name == name
}

// call takes the claims in a call of Covers or Reads.
func (f *testFile) call(n *ast.CallExpr, w way) {
	if n.Ellipsis.IsValid() {
		field, ok := n.Args[len(n.Args)-1].(*ast.SelectorExpr)
		if !ok || field.Sel.Name != w.field || len(n.Args) != 2 {
			f.faultf(n, "only a field named %s can be spread: what it holds is found in the rows", w.field)
			return
		}
		f.spread[spread{f.dir, w}] = true
		return
	}
	for _, arg := range n.Args[min(1, len(n.Args)):] {
		id, ok := literal(arg)
		switch {
		case !ok:
			f.faultf(arg, "a claim has to be a literal, so that it is found without running the test")
		case !f.isTest:
			f.faultf(arg, "%s is claimed outside of a function Test...", id)
		default:
			f.claim(arg, id, w, &f.claims)
		}
	}
}

// row takes the claims in a row of a table.
func (f *testFile) row(n *ast.KeyValueExpr, w way) {
	list, ok := n.Value.(*ast.CompositeLit)
	if !ok {
		f.faultf(n, "a field named %s holds []string{...}", w.field)
		return
	}
	for _, item := range list.Elts {
		id, ok := literal(item)
		if !ok {
			f.faultf(item, "a claim has to be a literal, so that it is found without running the test")
			continue
		}
		f.claim(item, id, w, &f.rows)
	}
}

func (f *testFile) claim(at ast.Node, id string, w way, to *[]claim) {
	switch {
	case f.skips:
		f.faultf(at, "%s is claimed by %s, which may skip", id, f.test)
	case !f.everywhere:
		f.faultf(at, "%s is claimed in a file that is not built on every platform", id)
	default:
		*to = append(*to, claim{id: id, pkg: f.dir, test: f.test, way: w})
	}
}

func (f *testFile) faultf(at ast.Node, format string, args ...any) {
	f.faults = append(f.faults, fmt.Sprintf("%s: %s", f.set.Position(at.Pos()), fmt.Sprintf(format, args...)))
}

// finish counts the rows of packages whose tests claim them.
func (f *finder) finish() {
	for _, c := range f.rows {
		if !f.spread[spread{c.pkg, c.way}] {
			f.faults = append(f.faults, fmt.Sprintf("%s: %s is claimed by a row, and no test calls promises.%s(t, row.%s...)", c, c.id, c.way.call, c.way.field))
			continue
		}
		f.claims = append(f.claims, c)
	}
	slices.SortFunc(f.claims, func(a, b claim) int { return strings.Compare(a.key(), b.key()) })
	f.claims = slices.Compact(f.claims)
}

func literal(n ast.Expr) (string, bool) {
	text, ok := n.(*ast.BasicLit)
	if !ok || text.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(text.Value)
	return value, err == nil
}
