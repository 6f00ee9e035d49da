package archtest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// signaturesNameNoInternalType requires that importers of a public package can name every type that they need: in
// functions, methods, fields, variables, type parameters, the methods of interfaces, and the targets of aliases. An
// interface that they can implement must show its methods in go doc, which omits those of an unexported interface.
func signaturesNameNoInternalType(p *types.Package) []string {
	s := signatures{faults: map[string]bool{}, seen: map[types.Type]bool{}}
	scope := p.Scope()
	for _, name := range scope.Names() {
		if o := scope.Lookup(name); o.Exported() {
			s.object(o.Pkg().Path()+"."+name, o)
		}
	}
	var faults []string
	for fault := range s.faults {
		faults = append(faults, fault)
	}
	slices.Sort(faults)
	return faults
}

// signatures collects the places that name types which importers cannot see.
type signatures struct {
	faults map[string]bool
	seen   map[types.Type]bool // unexported types of the package whose exported members importers can reach
}

func (s *signatures) object(at string, o types.Object) {
	name, isType := o.(*types.TypeName)
	switch {
	case !isType:
		s.visit(at, o.Type())
	case name.IsAlias():
		if alias, ok := name.Type().(*types.Alias); ok {
			s.params(at, alias.TypeParams())
			s.visit(at, alias.Rhs())
		}
	default:
		if named, ok := name.Type().(*types.Named); ok {
			s.defined(at, named)
		}
	}
}

// defined checks the members of a type that is declared in the package.
func (s *signatures) defined(at string, named *types.Named) {
	s.params(at, named.TypeParams())
	s.visit(at, named.Underlying())
	for _, t := range []types.Type{named, types.NewPointer(named)} {
		for selection := range types.NewMethodSet(t).Methods() { // including promoted ones
			if m := selection.Obj(); m.Exported() {
				s.visit(at+"."+m.Name(), m.Type())
			}
		}
	}
}

func (s *signatures) params(at string, list *types.TypeParamList) {
	for p := range list.TypeParams() {
		s.visit(at, p.Constraint())
	}
}

func (s *signatures) tuple(at string, list *types.Tuple) {
	for v := range list.Variables() {
		s.visit(at, v.Type())
	}
}

// visit checks a type at a place that names it.
func (s *signatures) visit(at string, t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		s.named(at, t.Obj(), t.TypeArgs())
	case *types.Named:
		s.named(at, t.Obj(), t.TypeArgs())
		if o := t.Obj(); !o.Exported() && o.Pkg() != nil && !isInternal(o.Pkg().Path()) {
			if canBeImplemented(t) {
				s.faults[fmt.Sprintf("%s names %s: go doc does not show the methods of what is unexported", at, o.Name())] = true
			}
			if !s.seen[t] {
				s.seen[t] = true
				s.defined(at+" ("+o.Name()+")", t)
			}
		}
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels, maps
		if m, ok := t.(*types.Map); ok {
			s.visit(at, m.Key())
		}
		s.visit(at, t.Elem())
	case *types.Signature:
		s.params(at, t.TypeParams())
		s.tuple(at, t.Params())
		s.tuple(at, t.Results())
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				s.visit(at+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() { // including those of embedded interfaces
			if m.Exported() {
				s.visit(at+"."+m.Name(), m.Type())
			}
		}
		for e := range t.EmbeddedTypes() {
			s.visit(at, e)
		}
	case *types.Union:
		for term := range t.Terms() {
			s.visit(at, term.Type())
		}
	}
}

// canBeImplemented reports whether a type is an interface whose methods a type of another package can have.
func canBeImplemented(t types.Type) bool {
	i, ok := t.Underlying().(*types.Interface)
	if !ok || i.NumMethods() == 0 {
		return false
	}
	for m := range i.Methods() {
		if !m.Exported() {
			return false
		}
	}
	return true
}

func (s *signatures) named(at string, o *types.TypeName, arguments *types.TypeList) {
	if o.Pkg() != nil && isInternal(o.Pkg().Path()) {
		s.faults[fmt.Sprintf("%s names %s.%s: nobody outside can", at, o.Pkg().Path(), o.Name())] = true
	}
	for t := range arguments.Types() {
		s.visit(at, t)
	}
}

// isInternal reports whether other modules cannot import a package of ours.
func isInternal(path string) bool {
	name, isOurs := ours(path)
	return isOurs && slices.Contains(strings.Split(name, "/"), "internal")
}

func TestSignatures(t *testing.T) {
	t.Parallel()

	for _, p := range publicPackages(t) {
		for _, fault := range signaturesNameNoInternalType(p) {
			t.Error(fault)
		}
	}
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
	list.Dir = "../.."
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

func TestHiddenTypeInSignatureIsFound(t *testing.T) {
	t.Parallel()

	const inner = module + "/internal/inner"
	sources := map[string]string{
		inner: `package inner

			type T struct{}
			type Text = string
			type Methods interface{ M(T) }
			func (T) Of() T { return T{} }`,
		module + "/public": `package public

			import "` + inner + `"

			func Parameter(...*inner.T)             {}
			func Result() (map[string]inner.T, error) { return nil, nil }
			func Generic[P interface{ ~[]inner.T }](P) {}
			func AliasOfWhatIsNotOurs(inner.Text)   {}
			func Hidden() hidden                    { return hidden{} }
			func Fine(Sealed) *Opaque               { return nil }

			type hidden struct{ Field inner.T }
			type Alias = inner.T
			type Opaque struct{ field inner.T }
			func (*Opaque) Method(func(inner.T)) {}
			func (*Opaque) method(inner.T)       {}
			type Embeds struct{ *promotes }
			type promotes struct{}
			func (promotes) Promoted() inner.T { return inner.T{} }
			type Sealed interface{ sealed(inner.T); Open() string }
			type Interface interface{ Method() <-chan inner.T }
			type Embedding interface{ inner.Methods }
			type Composed interface{ part; Other() }
			type part interface{ Part() }
			func Implement(implementable) {}
			type implementable interface{ Method() }
			func Option(sealed) {}
			type sealed interface{ option() }
			var Variable []inner.T`,
	}
	fset := token.NewFileSet()
	packages := map[string]*types.Package{}
	config := types.Config{Importer: mapImporter(packages)}
	for _, path := range []string{inner, module + "/public"} {
		syntax, err := parser.ParseFile(fset, "p.go", sources[path], 0)
		if err != nil {
			t.Fatal(err)
		}
		if packages[path], err = config.Check(path, fset, []*ast.File{syntax}, nil); err != nil {
			t.Fatal(err)
		}
	}

	const public = module + "/public."
	want := []string{
		public + "Alias names " + inner + ".T",
		public + "AliasOfWhatIsNotOurs names " + inner + ".Text",
		public + "Composed names part",
		public + "Embedding names " + inner + ".Methods",
		public + "Embedding.M names " + inner + ".T",
		public + "Embeds.Promoted names " + inner + ".T",
		public + "Generic names " + inner + ".T",
		public + "Hidden (hidden).Field names " + inner + ".T",
		public + "Implement names implementable",
		public + "Interface.Method names " + inner + ".T",
		public + "Opaque.Method names " + inner + ".T",
		public + "Parameter names " + inner + ".T",
		public + "Result names " + inner + ".T",
		public + "Variable names " + inner + ".T",
	}
	if diff := cmp.Diff(want, beforeReasons(t, signaturesNameNoInternalType(packages[module+"/public"]))); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// mapImporter imports packages that were checked before.
type mapImporter map[string]*types.Package

func (m mapImporter) Import(path string) (*types.Package, error) {
	if p := m[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("there is no package %s", path)
}
