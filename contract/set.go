package contract

import (
	"crypto/sha256"
	"embed"
	"maps"
	"slices"
	"sync"

	"github.com/recoursehq/recourse/internal/strictyaml"
)

//go:embed *.yaml
var files embed.FS

// builtinNames are the built-in contracts, the default first; one that extends
// another stands behind it.
var builtinNames = []string{"recourse", "fieldmcp", "terra"}

// Default is the name of the contract that is used where none is named.
const Default = "recourse"

// Set is a collection of contracts by name. The zero value is empty; get one with
// the built-in contracts from [Builtin].
type Set struct {
	byName map[string]*Contract
	names  []string
}

var builtin = sync.OnceValue(func() *Set {
	s := &Set{}
	for _, name := range builtinNames {
		src, err := files.ReadFile(name + ".yaml")
		if err == nil {
			_, err = s.Load(name+".yaml", src)
		}
		if err != nil {
			panic("contract: built-in " + name + ": " + err.Error()) //nolint:forbidigo // a defect of this package, not of its caller
		}
	}
	return s
})

// Builtin returns a new set with the built-in contracts.
func Builtin() *Set {
	s := builtin()
	return &Set{byName: maps.Clone(s.byName), names: slices.Clone(s.names)}
}

// Get returns the contract of that name, and whether there is one.
func (s *Set) Get(name string) (*Contract, bool) {
	c, ok := s.byName[name]
	return c, ok
}

// Names returns the names, the built-in ones first, then in the order of loading.
func (s *Set) Names() []string { return slices.Clone(s.names) }

// All returns the contracts in the order of Names.
func (s *Set) All() []*Contract {
	list := make([]*Contract, len(s.names))
	for i, name := range s.names {
		list[i] = s.byName[name]
	}
	return list
}

// Load reads a contract file and adds it. The error, if any, is a
// strictyaml.Errors with every mistake in the file; name is how they name it.
func (s *Set) Load(name string, src []byte) (*Contract, error) {
	doc, err := strictyaml.Parse(name, src)
	if err != nil {
		return nil, err
	}
	f := &file{}
	doc.Decode(f)
	k := &compiler{doc: doc, file: f, c: &Contract{UnknownTool: unknownToolRPC, verify: map[string]verifyRule{}}}
	if _, taken := s.byName[f.Name]; taken {
		k.mistakef(f.Node.Get("name"), "choose another name; `extends` builds on a contract",
			"there is already a contract named %s", f.Name)
	}
	if f.Extends != nil {
		k.parent = s.byName[k.oneOf(f.Extends, s.names...)]
	}
	if k.parent != nil {
		child := *k.parent
		child.verify = maps.Clone(k.parent.verify)
		child.hintTools = slices.Clone(k.parent.hintTools)
		child.members = slices.Clone(k.parent.members)
		k.c = &child
	}
	sum := sha256.Sum256(src)
	k.c.source = sha256.Sum256(append(k.c.source[:], sum[:]...))
	k.compile()
	if err := doc.Err(); err != nil {
		return nil, err
	}
	if s.byName == nil {
		s.byName = map[string]*Contract{}
	}
	s.byName[k.c.Name] = k.c
	s.names = append(s.names, k.c.Name)
	return k.c, nil
}
