package hosts

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// variable is a reference in the forms that hosts use: ${NAME} and ${NAME:-default}, and in VS Code
// ${env:NAME}.
var variable = regexp.MustCompile(`\$\{(?:env:)?([^}:]*)(:-[^}]*|:[^}]*)?\}`)

// Expand replaces the references to environment variables in every server by the values from lookup
// ([os.LookupEnv] has this form), as hosts do. The error is [strictyaml.Errors]: a variable that is not set
// and has no default, or a reference that only the host can resolve.
func (f *File) Expand(lookup func(name string) (value string, ok bool)) error {
	var mistakes strictyaml.Errors
	for _, s := range f.Servers {
		lookup := f.withFolders(lookup)
		expand := func(text string) string {
			return variable.ReplaceAllStringFunc(text, func(ref string) string {
				parts := variable.FindStringSubmatch(ref)
				name, rest := parts[1], parts[2]
				set, ok := lookup(name)
				switch {
				case len(rest) > 1 && rest[1] == '-':
					if set != "" {
						return set
					}
					return rest[len(":-"):]
				case rest != "":
					mistakes = append(mistakes, f.mistakef(s.at, "start the server from the host, or put the value in the file",
						"only the host knows what `%s` of the server %q stands for", ref, s.Name))
				case !ok:
					mistakes = append(mistakes, f.mistakef(s.at, "set it before starting the program",
						"the environment variable `%s` of the server %q is not set", name, s.Name))
				}
				return set
			})
		}
		s.Command, s.Cwd, s.URL = expand(s.Command), expand(s.Cwd), expand(s.URL)
		for i := range s.Args {
			s.Args[i] = expand(s.Args[i])
		}
		if s.EnvFile != "" {
			s.EnvFile = expand(s.EnvFile)
			if err := s.readEnvFile(); err != nil {
				mistakes = append(mistakes, f.mistakef(s.at, "correct `envFile`, or remove it",
					"the `envFile` of the server %q: %s", s.Name, err))
			}
		}
		for _, texts := range []map[string]string{s.Env, s.Headers} {
			for _, name := range slices.Sorted(maps.Keys(texts)) {
				texts[name] = expand(texts[name])
			}
		}
	}
	if len(mistakes) > 0 {
		return mistakes
	}
	return nil
}

// ExpandOne does the same as [File.Expand] for one server of the file of that name.
func ExpandOne(name string, s *Target, lookup func(name string) (value string, ok bool)) error {
	return (&File{Servers: []*Target{s}, name: name}).Expand(lookup)
}

// withFolders adds to lookup the folders for which VS Code and Cursor have names.
func (f *File) withFolders(lookup func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		switch folder := filepath.Dir(f.name); {
		case name == "workspaceFolder" && slices.Contains([]string{".vscode", ".cursor"}, filepath.Base(folder)):
			return filepath.Dir(folder), true
		case name == "userHome":
			return lookup("HOME")
		default:
			return lookup(name)
		}
	}
}

// NeedsHost returns a reference in the entry that only the host can resolve, such as ${input:key}, or "".
func (s *Target) NeedsHost() string {
	texts := slices.Concat([]string{s.Command, s.Cwd, s.URL, s.EnvFile}, s.Args,
		slices.Collect(maps.Values(s.Env)), slices.Collect(maps.Values(s.Headers)))
	for _, text := range texts {
		for _, parts := range variable.FindAllStringSubmatch(text, -1) {
			if rest := parts[2]; rest != "" && !strings.HasPrefix(rest, ":-") {
				return parts[0]
			}
		}
	}
	return ""
}

// readEnvFile adds the variables of the file to those of the entry, which take precedence.
func (s *Target) readEnvFile() error {
	text, err := os.ReadFile(filepath.Clean(s.EnvFile))
	if err != nil {
		return err
	}
	env := map[string]string{}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		number++
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return fmt.Errorf("line %d of %s is not NAME=VALUE", number, s.EnvFile)
		}
		env[name] = unquoted(strings.TrimSpace(value))
	}
	maps.Copy(env, s.Env)
	s.Env = env
	return nil
}

// unquoted returns a value of an environment file: the text between quotes, or the text up to a comment.
func unquoted(value string) string {
	if value != "" && strings.ContainsRune(`"'`, rune(value[0])) {
		if end := strings.LastIndexByte(value, value[0]); end > 0 {
			return value[1:end]
		}
	}
	value, _, _ = strings.Cut(value, " #")
	return strings.TrimSpace(value)
}
