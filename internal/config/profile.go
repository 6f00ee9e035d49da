package config

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/recoursehq/recourse/internal/config/launch"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
	"github.com/recoursehq/recourse/profiles"
)

// ProfileNone is the `profile` of a server that is to have none.
const ProfileNone = "none"

// Profile is what is public about a server that many people use. It is a default for `tools` of a server's entry.
type Profile struct {
	// Name is that of the file.
	Name string

	// The server's package for Node.
	NPM string `yaml:"npm" default:"(none)"`
	// The server's package for Python.
	PyPI string `yaml:"pypi" default:"(none)"`
	// Names of the program that the packages install.
	Commands []string `yaml:"commands" default:"(none)"`
	// Images in which the server's makers publish it.
	Images []string `yaml:"images" default:"(none)"`
	// Where the rest is from.
	Source ProfileSource `yaml:"source,required" default:"(none)"`
	// What is known about individual tools, by name: no patterns. A tool that is not listed may do anything.
	Tools strictyaml.Map[ProfileTool] `yaml:"tools,required" default:"(none)"`

	byTool map[string]*ProfileTool
}

// ProfileSource says where a profile is from.
type ProfileSource struct {
	// Version of the package that was read.
	Version string `yaml:"version,required" default:"(none)"`
	// How the tools were listed: by the running server, or in the package's source.
	Read ProfileRead `yaml:"read,required" default:"(none)"`
	// Day on which that was.
	On string `yaml:"on,required" default:"(none)"`
}

// ProfileRead says how a server's tools became known.
type ProfileRead string

// How they did.
const (
	ReadFromList   ProfileRead = "tools/list"
	ReadFromSource ProfileRead = "source"
)

// Words returns all of them.
func (ProfileRead) Words() []string { return []string{string(ReadFromList), string(ReadFromSource)} }

// ProfileTool is what a profile knows of a tool, in the words of a server's entry.
type ProfileTool struct {
	// Whether the tool changes nothing, as its code shows.
	ReadOnly *bool `yaml:"read_only" default:"(not known)"`
	// Whether calling the tool twice with the same arguments has the same effect as calling it once.
	Idempotent *bool `yaml:"idempotent" default:"(not known)"`
	// The call that settles whether a failed call of this tool took effect.
	Verify *Verify `yaml:"verify" default:"(none)"`
}

// Package returns the name and version of what the profile was made of.
func (p *Profile) Package() string {
	name := p.NPM
	if name == "" {
		name = p.PyPI
	}
	return name + " " + p.Source.Version
}

// Tool returns what the profile knows of a tool; nil: nothing.
func (p *Profile) Tool(name string) *ProfileTool {
	if p == nil {
		return nil
	}
	return p.byTool[name]
}

// is reports whether the profile is that of a program with this name.
func (p *Profile) is(name launch.Name) bool {
	switch name.From {
	case launch.NPM:
		return p.NPM == name.Text
	case launch.PyPI:
		return launch.Normal(p.PyPI) == name.Text
	case launch.Image:
		return slices.Contains(p.Images, name.Text)
	default:
		return slices.Contains(p.Commands, name.Text)
	}
}

// ProfileOf returns the profile of the server that a command starts; nil: it has none.
func ProfileOf(command []string) *Profile {
	name, ok := launch.NameOf(command)
	if !ok {
		return nil
	}
	for _, file := range ProfileNames() {
		if !strings.Contains(launch.Normal(string(profileSource(file))), launch.Normal(name.Text)) {
			continue // without reading it
		}
		if p := ProfileNamed(file); p.is(name) {
			return p
		}
	}
	return nil
}

// ProfileNames returns the names of all profiles, in order.
func ProfileNames() []string { return slices.Sorted(maps.Keys(builtinProfiles())) }

// builtinProfiles has every profile by its name. Each is read on first use.
var builtinProfiles = sync.OnceValue(func() map[string]func() *Profile {
	entries, _ := profiles.Files.ReadDir(".")
	all := make(map[string]func() *Profile, len(entries))
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".yaml")
		all[name] = sync.OnceValue(func() *Profile {
			p, err := ParseProfile(name, profileSource(name))
			if err != nil {
				panic("config: profile " + name + ": " + err.Error()) // a test reads all of them
			}
			return p
		})
	}
	return all
})

func profileSource(name string) []byte {
	src, _ := profiles.Files.ReadFile(name + ".yaml")
	return src
}

// ProfileNamed returns the profile with that name; nil: there is none.
func ProfileNamed(name string) *Profile {
	if read, ok := builtinProfiles()[name]; ok {
		return read()
	}
	return nil
}

// ParseProfile reads a profile. The error is [strictyaml.Errors] with every mistake in it.
func ParseProfile(name string, src []byte) (*Profile, error) {
	doc, err := strictyaml.Parse(name+".yaml", src)
	if err != nil {
		return nil, err
	}
	p := &Profile{Name: name, byTool: map[string]*ProfileTool{}}
	doc.Decode(p)
	v := &validator{doc: doc}
	v.profile(p)
	if err := doc.Err(); err != nil {
		return nil, err
	}
	for i := range p.Tools {
		tool := &p.Tools[i].Value
		tool.Verify.complete()
		p.byTool[p.Tools[i].Key] = tool
	}
	return p, nil
}

// profile checks what the types cannot express.
func (v *validator) profile(p *Profile) {
	root := v.doc.Root()
	if p.NPM == "" && p.PyPI == "" {
		v.doc.Reportf(root.Pos(), "add `npm: NAME` or `pypi: NAME`", "the profile names no package")
	}
	tools := root.Get("tools")
	for _, rule := range p.Tools {
		at := tools.Get(rule.Key)
		if rule.Key == "" || strings.ContainsAny(rule.Key, " *?") {
			v.doc.Reportf(rule.Pos, "a profile has no patterns", "this is not the name of a tool")
		}
		verify := rule.Value.Verify
		switch {
		case rule.Value == ProfileTool{}:
			v.doc.Reportf(rule.Pos, "leave it out", "nothing is said about this tool")
		case verify != nil:
			v.verify(verify, at.Get("verify"))
			if by, _ := p.Tools.Get(verify.Tool); by.ReadOnly == nil || !*by.ReadOnly {
				v.doc.Reportf(at.Get("verify").Get("tool").Pos(), "say what it does under `tools`",
					"the tool that verifies must be one that only reads")
			}
		}
	}
}

// chosenProfile checks the name of a profile in a server's entry.
func (v *validator) chosenProfile(s *Server, node *strictyaml.Node) {
	if node == nil || s.Profile == ProfileNone || ProfileNamed(s.Profile) != nil {
		return
	}
	hint := meant(s.Profile, ProfileNames(), "write `none`, or leave it out")
	v.doc.Reportf(node.Pos(), hint, "`profile` names an unknown profile")
}

// Start has the server be another program.
func (s *Server) Start(command []string) {
	s.Command, s.Known = command, nil
	s.findProfile()
}

// findProfile finds the profile of a server that is started here. What a server elsewhere is called says nothing about it.
func (s *Server) findProfile() {
	switch {
	case len(s.Command) == 0, s.Profile == ProfileNone:
	case s.Profile != "":
		s.Known = ProfileNamed(s.Profile)
	default:
		s.Known = ProfileOf(s.Command)
	}
}
