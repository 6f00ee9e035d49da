package load

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/config/hosts"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Hosts reads a hosts file with a function of package hosts.
func Hosts(path string, load func(string) (*hosts.File, error)) (*hosts.File, error) {
	file, err := load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, term.Usage(term.Hint(err, "give the file in which your host lists its MCP servers"))
	}
	return file, err
}

// OnlyStarted removes from a hosts file the servers that its host does not start, and those for a single
// project. It is an error if none is left.
func OnlyStarted(path string, file *hosts.File) error {
	file.Servers = slices.DeleteFunc(file.Servers, func(s *hosts.Target) bool { return s.Disabled || s.Internal || s.Project != "" })
	if len(file.Servers) == 0 {
		return fmt.Errorf("%s lists no servers", path)
	}
	return nil
}

// leftToHost removes from a hosts file the servers that only its host can start, and returns, by their
// names, what only the host knows. It is an error if none is left.
func leftToHost(path string, file *hosts.File) (left map[string]string, err error) {
	left = map[string]string{}
	file.Servers = slices.DeleteFunc(file.Servers, func(s *hosts.Target) bool {
		reference := s.NeedsHost()
		if reference != "" {
			left[s.Name] = reference
		}
		return reference != ""
	})
	if len(file.Servers) == 0 {
		return nil, term.Hint(
			fmt.Errorf("only its host can start the servers in %s", path),
			"replace references such as ${input:key} with their values, or use `recourse install`",
		)
	}
	return left, nil
}

// Servers returns the servers of a hosts file, with its variables replaced by the results of lookup.
// The error is [strictyaml.Errors].
func Servers(file *hosts.File, lookup func(string) (string, bool)) ([]*config.Server, error) {
	var mistakes strictyaml.Errors
	errors.As(file.Expand(lookup), &mistakes)
	var servers []*config.Server
	titles := map[string]string{} // by the name derived from each
	for _, entry := range file.Servers {
		s := Server(entry)
		other, taken := titles[s.Name]
		switch {
		case entry.SSE && entry.Command == "":
			mistakes = append(mistakes, file.Mistakef(entry, "ask for its Streamable HTTP address",
				"the server %q speaks the HTTP+SSE of 2024-11-05, which is not supported", entry.Name))
		case taken:
			mistakes = append(mistakes, file.Mistakef(entry, "rename one of them",
				"the servers %q and %q would both be called %s here", other, entry.Name, s.Name))
		}
		titles[s.Name] = entry.Name
		servers = append(servers, s)
	}
	if len(mistakes) > 0 {
		return nil, mistakes
	}
	return servers, nil
}

// Server returns the server of an entry, with its variables as they stand there.
func Server(entry *hosts.Target) *config.Server {
	s := &config.Server{Name: ServerName(entry.Name), Title: entry.Name}
	if entry.Command != "" {
		s.Command, s.Env, s.Cwd = append([]string{entry.Command}, entry.Args...), entry.Env, entry.Cwd
		return s
	}
	s.URL = entry.URL
	s.Headers = make(map[string]string, len(entry.Headers))
	for name, value := range entry.Headers {
		s.Headers[http.CanonicalHeaderKey(name)] = value
	}
	return s
}

var separators = regexp.MustCompile(`[^a-z0-9]+`)

// ServerName turns any text into a name that is valid in configurations and paths.
func ServerName(text string) string {
	base := strings.ToLower(filepath.Base(filepath.ToSlash(text)))
	if name := strings.Trim(separators.ReplaceAllString(strings.TrimSuffix(base, ".exe"), "-"), "-"); name != "" {
		return name
	}
	return "server"
}
