package archtest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/contracttest"
)

// A golden file lists what importers can name, so that every change of it appears in a diff. They can name all of it: nothing in
// it is of an internal package.
func TestExported(t *testing.T) {
	t.Parallel()

	var list strings.Builder
	for _, p := range publicPackages(t) {
		list.WriteString(exported(t, p))
	}
	contracttest.Golden(t, filepath.Join("testdata", "exported.txt"), list.String())
}

// exported lists a package's exported objects by name, one per line, and below each type its fields and methods,
// including promoted ones from unexported types.
func exported(t *testing.T, p *types.Package) string {
	t.Helper()
	var lines strings.Builder
	fmt.Fprintf(&lines, "package %s // import %q\n", p.Name(), p.Path())
	of := func(other *types.Package) string {
		if other == p {
			return ""
		}
		if isInternal(other.Path()) {
			t.Errorf("%s names a type of %s, which its importers cannot", p.Path(), other.Path())
		}
		return other.Name()
	}
	scope := p.Scope()
	for _, name := range scope.Names() {
		if o := scope.Lookup(name); o.Exported() {
			lines.WriteString("  " + declaration(o, of) + "\n")
			if named, ok := o.Type().(*types.Named); ok && named.Obj() == o {
				for _, member := range members(named, of) {
					lines.WriteString("    " + member + "\n")
				}
			}
		}
	}
	return lines.String() + "\n"
}

// declaration describes an object without the members of its type.
func declaration(o types.Object, of types.Qualifier) string {
	switch o := o.(type) {
	case *types.Const:
		kind := types.TypeString(o.Type(), of) + " "
		if strings.HasPrefix(kind, "untyped") {
			kind = ""
		}
		return fmt.Sprintf("const %s %s= %s", o.Name(), kind, o.Val().ExactString())
	case *types.TypeName:
		if named, ok := o.Type().(*types.Named); ok && named.Obj() == o {
			switch named.Underlying().(type) {
			case *types.Struct:
				return "type " + types.TypeString(named, of) + " struct"
			case *types.Interface:
				return "type " + types.TypeString(named, of) + " interface"
			}
		}
	}
	return types.ObjectString(o, of)
}

// members lists a type's exported fields in their order, on which literals without keys depend, and its methods by
// name. It also says whether there are unexported ones: then importers cannot write such a literal, or implement the
// interface.
func members(named *types.Named, of types.Qualifier) []string {
	var list []string
	hidden := false
	switch u := named.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			f := u.Field(i)
			if !f.Exported() {
				hidden = true
				continue
			}
			kind := "field"
			if f.Embedded() {
				kind = "embedded"
			}
			line := fmt.Sprintf("%s %s %s", kind, f.Name(), types.TypeString(f.Type(), of))
			if tag, ok := reflect.StructTag(u.Tag(i)).Lookup("json"); ok {
				line += " `json:" + strconv.Quote(tag) + "`"
			}
			list = append(list, line)
		}
	case *types.Interface:
		for m := range u.Methods() {
			if !m.Exported() {
				hidden = true
				continue
			}
			list = append(list, "method "+m.Name()+signature(m, of))
		}
	}
	if !types.IsInterface(named) {
		for selection := range types.NewMethodSet(types.NewPointer(named)).Methods() {
			m := selection.Obj()
			promoted := len(selection.Index()) > 1
			if !m.Exported() || promoted && m.Pkg() != named.Obj().Pkg() {
				continue
			}
			list = append(list, "method "+m.Name()+signature(m, of))
		}
	}
	if hidden {
		list = append(list, "and unexported ones")
	}
	return list
}

func signature(m types.Object, of types.Qualifier) string {
	return strings.TrimPrefix(types.TypeString(m.Type(), of), "func")
}

// publicPackages returns what the packages declare that other modules can import.
func publicPackages(t *testing.T) []*types.Package {
	t.Helper()

	var public []string
	for _, p := range readPackages(t, readFiles(t)) {
		name := strings.TrimSuffix(module+"/"+p.path, "/.")
		if !isInternal(name) && len(p.imports) > 0 {
			public = append(public, name)
		}
	}
	exports := exportsOf(t, public)
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var packages []*types.Package
	for _, path := range public {
		loaded, err := imports.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		if loaded.Name() != "main" {
			packages = append(packages, loaded)
		}
	}
	if len(packages) < len(deliveries) {
		t.Errorf("only %d packages are public", len(packages))
	}
	return packages
}

// exportsOf returns the files with the compiled declarations of packages and of all that they need, by import path.
func exportsOf(t *testing.T, packages []string) map[string]string {
	t.Helper()

	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}")
	list.Args = append(list.Args, packages...)
	list.Dir = "../../.."
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	files := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if path, file, ok := strings.Cut(lines.Text(), " "); ok {
			files[path] = file
		}
	}
	return files
}

// isInternal reports whether other modules cannot import a package of ours.
func isInternal(path string) bool {
	name, isOurs := ours(path)
	return isOurs && slices.Contains(strings.Split(name, "/"), "internal")
}
