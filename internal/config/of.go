package config

import (
	"cmp"
	"fmt"

	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// Of returns the configuration of servers that are in no file: each has a name and either a command or a URL;
// everything else has its default. Mistakes in a server are only found by [Parse].
func Of(servers ...*Server) (*Config, error) {
	var c Config
	if err := strictyaml.Decode("", []byte("servers: {any: {}}"), &c); err != nil {
		return nil, fmt.Errorf("defaults: %w", err)
	}
	defaults := c.Servers[0]
	for _, s := range servers {
		s.Path = cmp.Or(s.Path, "/"+s.Name+"/mcp")
		s.Share = cmp.Or(s.Share, defaults.Share)
		s.Contract = cmp.Or(s.Contract, defaults.Contract)
		s.Mode = cmp.Or(s.Mode, defaults.Mode)
		s.Timeout = cmp.Or(s.Timeout, defaults.Timeout)
		s.MaxTimeout = cmp.Or(s.MaxTimeout, defaults.MaxTimeout)
		s.complete()
	}
	c.Servers = servers
	return &c, nil
}
