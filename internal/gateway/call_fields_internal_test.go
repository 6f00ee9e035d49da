package gateway

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// A stage writes a field of the call only if the field's line in call.go names its file. A line that says "any stage" lets all.
func TestStagesWriteTheirFields(t *testing.T) {
	t.Parallel()

	files := token.NewFileSet()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	writers := map[string][]string{} // by field: the words of its line
	writes := map[string][]string{}  // by file: the fields
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if path == "call.go" { // which keeps the memory of calls
			writers = fieldLines(t, file)
			continue
		}
		name := strings.TrimSuffix(path, ".go")
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, to := range n.Lhs {
					writes[name] = append(writes[name], fieldOfCall(to)...)
				}
			case *ast.IncDecStmt:
				writes[name] = append(writes[name], fieldOfCall(n.X)...)
			}
			return true
		})
	}
	if len(writers) < 20 || len(writes) < 10 {
		t.Fatalf("found only %d fields and %d files", len(writers), len(writes))
	}
	for name, fields := range writes {
		slices.Sort(fields)
		for _, field := range slices.Compact(fields) {
			words, ok := writers[field]
			if ok && !slices.Contains(words, name) && !slices.Contains(words, "any") {
				t.Errorf("%s.go writes call.%s, whose line in call.go does not name it: %v", name, field, words)
			}
		}
	}
}

// fieldLines returns the words of the comment of each field of a call.
func fieldLines(t *testing.T, file *ast.File) map[string][]string {
	t.Helper()
	var of *ast.StructType
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == "call" {
			of, _ = spec.Type.(*ast.StructType)
		}
		return of == nil
	})
	if of == nil {
		t.Fatal("there is no struct call")
	}
	lines := map[string][]string{}
	for _, field := range of.Fields.List {
		words := strings.FieldsFunc(strings.ToLower(field.Comment.Text()), func(r rune) bool { return !unicode.IsLetter(r) })
		for _, name := range field.Names {
			lines[name.Name] = words
		}
	}
	return lines
}

// fieldOfCall returns the field of a call that is written with an expression: F in c.F, c.F.x and a.of.F, and in v.F.x, where v may
// be a value that has been given the call's own F.
func fieldOfCall(e ast.Expr) []string {
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			of, isSelector := x.X.(*ast.SelectorExpr)
			if id, ok := x.X.(*ast.Ident); ok && id.Name == "c" || isSelector && of.Sel.Name == "of" {
				return []string{x.Sel.Name}
			}
			if isSelector {
				if _, ok := of.X.(*ast.Ident); ok {
					return []string{of.Sel.Name}
				}
			}
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return nil
		}
	}
}
