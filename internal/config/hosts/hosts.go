// Package hosts finds and reads the files in which desktop hosts list their MCP servers, and puts a program
// in front of those servers.
//
// Such a file is JSON, TOML or YAML with an object of entries by name; each has a command with its arguments,
// or a URL. Unknown parts are left alone. Edits are made in the text itself, so that comments, order and
// layout are preserved.
package hosts

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// MaxSize is the size in bytes of the largest file that is read.
const MaxSize = 8 << 20

// A File is a hosts file.
type File struct {
	Servers []*Target // in the order of the file

	name string
	text []byte // as it was read
	bare bool   // it has no list of servers
}

// A Target is an entry of a hosts file: a program, or a URL.
type Target struct {
	Name     string
	Project  string // the folder for which the host lists it; "" means all
	Command  string
	Args     []string
	Env      map[string]string
	EnvFile  string // a file with more of the environment
	Cwd      string
	URL      string
	Headers  map[string]string
	SSE      bool // the URL is for the transport of 2024-11-05
	Disabled bool // the host does not start it
	Internal bool // it is part of the host, or of an extension

	mistakes strictyaml.Errors // in its entry
	at       int               // position of its name
	command  *pair             // the member with the program, or with all of the command line
	args     *node             // nil: none
	inList   bool              // the program is the first of args
}

// Load reads the file at path. The error is [strictyaml.Errors] with every mistake in it, or the error from
// reading it.
func Load(path string) (*File, error) {
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// LoadSome reads the file at path as [Load] does, and keeps the entries that have mistakes: they can be left
// alone. A file without a list of servers has no entries.
func LoadSome(path string) (*File, error) {
	text, err := read(path)
	if err != nil {
		return nil, err
	}
	return ParseSome(path, text)
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the hosts file: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read the hosts file: %w", err)
	}
	return text, nil
}

// Parse reads a hosts file as [Load] does; name is used in mistakes, and its suffix determines the format:
// .toml, .yaml or .yml, and JSON for all others.
func Parse(name string, text []byte) (*File, error) {
	f, err := ParseSome(name, text)
	if err != nil {
		return nil, err
	}
	if err := f.Listed(); err != nil {
		return nil, err
	}
	var mistakes strictyaml.Errors
	for _, s := range f.Servers {
		mistakes = append(mistakes, s.mistakes...)
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return f, nil
}

// Listed returns the mistake of a file that has no list of servers, as [strictyaml.Errors].
func (f *File) Listed() error {
	if !f.bare {
		return nil
	}
	return strictyaml.Errors{f.mistakef(0, "give the file in which a host lists its MCP servers",
		"the file has no list of MCP servers, such as `mcpServers` or `servers`")}
}

// ParseSome reads a hosts file as [LoadSome] does; name is used in mistakes.
func ParseSome(name string, text []byte) (*File, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("read the hosts file: %s is larger than %d MiB", name, MaxSize>>20)
	}
	f := &File{name: name, text: text}
	r := &fileReader{file: f}
	read := r.readJSON
	switch strings.ToLower(filepath.Ext(name)) {
	case ".toml":
		read = r.readTOML
	case ".yaml", ".yml":
		read = r.readYAML
	}
	if root := read(text); root != nil {
		r.servers(root)
	}
	if len(r.mistakes) > 0 {
		slices.SortStableFunc(r.mistakes, func(a, b *strictyaml.Error) int {
			if a.Pos.Before(b.Pos) {
				return -1
			}
			return 1
		})
		return nil, r.mistakes
	}
	return f, nil
}

// Text returns the file as it was read.
func (f *File) Text() []byte { return f.text }

// Private returns the values of the environments and headers in the file, the longest first. Text from the
// file must not be shown with these values in it.
func (f *File) Private() []string {
	const least = 4 // shorter ones are numbers and switches
	var all []string
	for _, s := range f.Servers {
		for _, texts := range []map[string]string{s.Env, s.Headers} {
			for _, value := range texts {
				if len(value) >= least && !slices.Contains(all, value) {
					all = append(all, value)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	return all
}

// Mistakef returns a mistake in the entry of a server.
func (f *File) Mistakef(s *Target, hint, format string, args ...any) *strictyaml.Error {
	return f.mistakef(s.at, hint, format, args...)
}

// mistakef makes a mistake without an excerpt: the line may hold a secret.
func (f *File) mistakef(at int, hint, format string, args ...any) *strictyaml.Error {
	return &strictyaml.Error{File: f.name, Pos: position(f.text, at), Message: fmt.Sprintf(format, args...), Hint: hint}
}
