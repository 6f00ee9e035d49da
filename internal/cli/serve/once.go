package serve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/yaml/strictyaml"
)

// warningsOfOnce warns where `once` promises less than it may seem.
func warningsOfOnce(cfg *config.Config) (warnings []string) {
	isOnce := func(t strictyaml.Entry[config.Tool]) bool { return t.Value.Once != nil }
	forwards := func(name string) bool { return strings.EqualFold(name, "authorization") }
	used := false
	for _, s := range cfg.Servers {
		if !slices.ContainsFunc(s.Tools, isOnce) {
			continue
		}
		if used = true; len(s.Access) == 0 && !slices.ContainsFunc(s.Forward, forwards) {
			warnings = append(warnings,
				fmt.Sprintf("server %s has no `access`: for `once`, all callers without credentials are one", s.Name))
		}
	}
	if used && len(cfg.SessionKeys) == 0 {
		warnings = append(warnings, "without `session_keys`, answers that `once` has kept cannot be repeated after a restart")
	}
	return warnings
}
