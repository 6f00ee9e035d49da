package contract

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/recoursehq/recourse/contract/internal/language"
	"github.com/recoursehq/recourse/internal/contractform"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// builtinNames are the built-in contracts, the default first. A contract comes after the one it extends.
var builtinNames = []string{"recourse", "fieldmcp", "commerce", "studies", "patterns", "terra"}

// Default is the name of the contract that is used if none is named.
const Default = "recourse"

// Set is a collection of contracts by name. The zero value is empty; [Builtin] returns a
// set with the built-in contracts. It is safe for concurrent use while nothing is loaded.
type Set struct {
	byName   map[string]func() *Contract
	names    []string
	families []*Family // loaded ones only
}

// The built-in contracts, and families, are read from a compact form of their YAML files, because the first
// failure waits for them to load. `go generate` and `make golden` write it, and TestCompactIsFresh compares
// the two.
//
//go:generate go test -run ^TestCompactIsFresh$ . -update
//go:embed contracts.compact
var compactContracts string

var builtinContracts = sync.OnceValue(func() map[string]*strictyaml.Document {
	documents, err := strictyaml.ParseCompact(compactContracts)
	if err != nil {
		panic("contract: " + err.Error())
	}
	return documents
})

// builtin holds the built-in contracts. Each is read on first use, since a program usually needs only one of
// them, and fast.
var builtin = func() *Set {
	s := &Set{byName: map[string]func() *Contract{}, names: builtinNames}
	for _, name := range builtinNames {
		s.byName[name] = sync.OnceValue(func() *Contract {
			c, err := s.before(name).readDocument(builtinContracts()[name+".yaml"], []byte(name), nil)
			if err != nil {
				panic("contract: built-in " + name + ": " + err.Error())
			}
			return c
		})
	}
	return s
}()

// before returns the built-in contracts that the given one may extend.
func (s *Set) before(name string) *Set {
	return &Set{byName: s.byName, names: builtinNames[:slices.Index(builtinNames, name)]}
}

// Builtin returns a new set with the built-in contracts.
func Builtin() *Set {
	return &Set{byName: maps.Clone(builtin.byName), names: slices.Clone(builtin.names)}
}

// MustBuiltin returns a built-in contract, such as [Default]. It panics if there is none of that name.
func MustBuiltin(name string) *Contract {
	c, ok := builtin.Get(name)
	if !ok {
		panic(fmt.Sprintf("contract: there is no contract %q, only %s", name, strings.Join(builtin.names, ", ")))
	}
	return c
}

// Get returns the contract of that name, and whether there is one.
func (s *Set) Get(name string) (*Contract, bool) {
	c, ok := s.byName[name]
	if !ok {
		return nil, false
	}
	return c(), true
}

// Names returns the names, the built-in ones first, then in the order of loading.
func (s *Set) Names() []string { return slices.Clone(s.names) }

// All returns the contracts in the order of Names.
func (s *Set) All() []*Contract {
	list := make([]*Contract, len(s.names))
	for i, name := range s.names {
		list[i] = s.byName[name]()
	}
	return list
}

// Load reads a contract file and adds the contract to the set. The error lists every mistake in the file,
// each with its line, an excerpt and a hint; name stands for the file in it.
func (s *Set) Load(name string, src []byte) (*Contract, error) {
	c, err := s.read(name, src, nil)
	if err != nil {
		return nil, err
	}
	if s.byName == nil {
		s.byName = map[string]func() *Contract{}
	}
	s.byName[c.Name] = func() *Contract { return c }
	s.names = append(s.names, c.Name)
	return c, nil
}

// LoadFamily reads a family file as [LoadFamily] does and adds the family to the set.
func (s *Set) LoadFamily(name string, src []byte) (*Family, error) {
	f, err := LoadFamily(name, src)
	if err != nil {
		return nil, err
	}
	if _, taken := s.Family(f.Name); taken || slices.Contains(s.names, f.Name) {
		return nil, f.family.File.Node.Get("family").Errorf("choose another name", "there is already a contract or family named %s", f.Name)
	}
	s.families = append(s.families, f)
	return f, nil
}

// Family returns the family of that name, built in or loaded, and whether there is one.
func (s *Set) Family(name string) (*Family, bool) {
	list := append(builtinFamilies(), s.families...)
	i := slices.IndexFunc(list, func(f *Family) bool { return f.Name == name })
	if i < 0 {
		return nil, false
	}
	return list[i], true
}

// read reads a contract file for s. With live, it also checks the advice against the
// tools of a server.
func (s *Set) read(name string, src []byte, live *liveTools) (*Contract, error) {
	doc, err := strictyaml.Parse(name, src)
	if err != nil {
		return nil, err
	}
	return s.readDocument(doc, src, live)
}

func (s *Set) readDocument(doc *strictyaml.Document, src []byte, live *liveTools) (*Contract, error) {
	f := &contractform.File{}
	doc.Decode(f)
	k := &compiler{Compiler: language.NewCompiler(doc), file: f, c: &Contract{
		UnknownTool: unknownToolResult, verify: map[string]contractform.VerifyCall{}, batch: map[string]string{},
		expects: map[string][]contractform.Expectation{}, once: map[string][]string{},
		readers: map[string]bool{},
	}}
	if slices.Contains(s.names, f.Name) {
		k.Mistakef(f.Node.Get("name"), "choose another name; `extends` builds on a contract",
			"there is already a contract named %s", f.Name)
	}
	if f.Extends != nil {
		k.parent, _ = s.Get(k.OneOf(f.Extends, s.names...))
	}
	if k.parent != nil {
		child := *k.parent
		child.verify = maps.Clone(k.parent.verify)
		child.batch, child.once = maps.Clone(k.parent.batch), maps.Clone(k.parent.once)
		child.expects = maps.Clone(k.parent.expects)
		child.readers = maps.Clone(k.parent.readers)
		child.hintTools = slices.Clone(k.parent.hintTools)
		child.members = slices.Clone(k.parent.members)
		k.c = &child
	}
	sum := sha256.Sum256(src)
	k.c.source = sha256.Sum256(append(k.c.source[:], sum[:]...))
	k.compile()
	if live != nil && k.Mistakes == 0 {
		k.lintTools(live)
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return k.c, nil
}
