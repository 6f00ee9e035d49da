package serve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/policy/once"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// ownAgain returns the tools of an HTTP API to which the gateway cannot add an argument, since they have one of its name.
func ownAgain(s *config.Server) (tools []string) {
	if s.API == nil {
		return nil
	}
	for _, t := range s.API.Tools {
		rule, own := s.Tool(t.Name).Once, json.Lookup(t.InputSchema, "/properties/"+once.AgainArgument)
		if own != nil && rule != nil && rule.Delivered == config.DeliveredArgument {
			tools = append(tools, t.Name)
		}
	}
	return tools
}

// warningsOfOnce warns where `once` promises less than it may seem.
func warningsOfOnce(cfg *config.Config) (warnings []string) {
	isOnce := func(t strictyaml.Entry[config.Tool]) bool { return t.Value.Once != nil }
	forwards := func(name string) bool { return strings.EqualFold(name, "authorization") }
	used := false
	for _, s := range cfg.Servers {
		if !slices.ContainsFunc(s.Tools, isOnce) {
			continue
		}
		used = true
		if len(s.Access) == 0 && !slices.ContainsFunc(s.Forward, forwards) {
			warnings = append(warnings,
				fmt.Sprintf("server %s has no `access`: for `once`, all callers without credentials are one", s.Name))
		}
		for _, tool := range ownAgain(s) {
			warnings = append(warnings, fmt.Sprintf("server %s: %s has an argument %s of its own: the gateway adds none",
				s.Name, tool, once.AgainArgument))
		}
	}
	if used && len(cfg.SessionKeys) == 0 {
		warnings = append(warnings, "without `session_keys`, answers that `once` has kept cannot be repeated after a restart")
	}
	return warnings
}
