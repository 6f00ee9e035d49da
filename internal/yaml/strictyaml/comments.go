package strictyaml

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"strings"
	"sync"
)

// documented has the comments of the packages whose source is known, by import path. Initialisation fills it.
var documented = map[string]func() comments{}

// comments has the comment above each field, by the name of the struct and that of the field.
type comments map[string]map[string]string

// DocumentFields makes the comments above the fields of a package's structs known to [Comment]. source holds the Go files that
// declare them, and of is a type of the package. It is called while the package is initialised; the files are parsed when
// the first comment is asked for.
func DocumentFields(of reflect.Type, source fs.FS) struct{} {
	documented[of.PkgPath()] = sync.OnceValue(func() comments { return commentsIn(source) })
	return struct{}{}
}

// Comment returns the comment above a field of a struct, on one line; "" if there is none.
func Comment(of reflect.Type, field string) string {
	read, ok := documented[of.PkgPath()]
	if !ok {
		return ""
	}
	return read()[of.Name()][field]
}

// commentsIn reads the comments in Go files.
func commentsIn(source fs.FS) comments {
	found := comments{}
	same := map[string]string{} // types that are declared by the name of another
	for _, name := range must(fs.Glob(source, "*.go")) {
		text := must(fs.ReadFile(source, name))
		file := must(parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution))
		ast.Inspect(file, func(n ast.Node) bool {
			declared, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			switch t := declared.Type.(type) {
			case *ast.StructType:
				found[declared.Name.Name] = commentsOf(t)
			case *ast.Ident:
				same[declared.Name.Name] = t.Name
			}
			return false
		})
	}
	for name, other := range same {
		found[name] = found[other]
	}
	return found
}

func commentsOf(t *ast.StructType) map[string]string {
	of := map[string]string{}
	for _, field := range t.Fields.List {
		for _, name := range field.Names {
			of[name.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
		}
	}
	return of
}

// must returns a value that can be had, since the source is embedded and has been compiled.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
