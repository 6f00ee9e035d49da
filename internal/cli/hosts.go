package cli

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/hosts"
)

// hostsServers returns the servers of the hosts file at path that its host would start,
// with what lookup finds for the variables in it.
func hostsServers(path string, file *hosts.File, lookup func(string) (string, bool)) ([]*config.Server, error) {
	if err := file.Expand(lookup); err != nil {
		return nil, err
	}
	var servers []*config.Server
	names := map[string]string{} // to what they were before
	for _, entry := range file.Servers {
		if entry.Disabled {
			continue
		}
		s, err := hostsServer(entry)
		if err != nil {
			return nil, fmt.Errorf("%s: the server %q: %w", path, entry.Name, err)
		}
		if other, taken := names[s.Name]; taken {
			return nil, fmt.Errorf("%s: the servers %q and %q would both be called %s here: rename one", path, other, entry.Name, s.Name)
		}
		names[s.Name] = entry.Name
		servers = append(servers, s)
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("%s lists no server", path)
	}
	return servers, nil
}

func hostsServer(entry *hosts.Server) (*config.Server, error) {
	s := &config.Server{Name: serverName(entry.Name), Title: entry.Name}
	if entry.Command != "" {
		s.Command, s.Env, s.Cwd = append([]string{entry.Command}, entry.Args...), entry.Env, entry.Cwd
		return s, nil
	}
	if entry.SSE {
		return nil, errors.New("it speaks the HTTP+SSE of 2024-11-05, which is not supported: ask for its Streamable HTTP address")
	}
	s.URL = entry.URL
	s.Headers = make(map[string]string, len(entry.Headers))
	for name, value := range entry.Headers {
		s.Headers[http.CanonicalHeaderKey(name)] = value
	}
	return s, nil
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// serverName makes a name as configurations and paths have them of any text.
func serverName(text string) string {
	base := strings.ToLower(filepath.Base(filepath.ToSlash(text)))
	if name := strings.Trim(notInNames.ReplaceAllString(strings.TrimSuffix(base, ".exe"), "-"), "-"); name != "" {
		return name
	}
	return "server"
}
