package archtest_test

import (
	"fmt"
	"slices"
)

// reserved is a package or a module, ours or foreign, that only some packages may import.
type reserved struct {
	dependency string
	importers  []string
	tests      bool // tests elsewhere may import it
	why        string
}

var reservations = []reserved{
	{
		dependency: "github.com/go-json-experiment/json",
		importers:  []string{"internal/protocol/json"},
		why:        "its API is not final: one place to follow it, and one place that sets its options",
	},
	{
		dependency: "github.com/goccy/go-yaml",
		importers:  []string{"internal/yaml/strictyaml"},
		why:        "every file of a user reports its mistakes in the same way",
	},
	{
		dependency: "github.com/santhosh-tekuri/jsonschema/v6",
		importers:  []string{"internal/call/args"},
		tests:      true,
		why:        "a server's schema is hostile: it is compiled in one place, which loads nothing",
	},
	{
		dependency: "github.com/modelcontextprotocol/go-sdk",
		importers:  []string{"mcptool", "systems", "internal/cli/demo", "internal/cli", "internal/ops/journaltools", "internal/test/testkit"},
		tests:      true,
		why:        "it decodes every message, and its allocations would be paid for each call",
	},
	{
		dependency: "github.com/mark3labs/mcp-go",
		importers:  []string{"mcptool/mcpgotool", "systems", "internal/test/testkit"},
		tests:      true,
		why:        "only authors who chose it get it",
	},
	{
		dependency: "go.opentelemetry.io/proto",
		importers:  []string{"internal/ops/trace"},
		tests:      true,
		why:        "only the exporter speaks OTLP: a trace is three strings to everybody else",
	},
	{
		dependency: "github.com/a-h/templ",
		importers:  []string{"internal/ops/console"},
		why:        "only pages are written in it",
	},
	{
		dependency: module + "/internal/test/testkit",
		importers: []string{
			"internal/test/testkit",
			"systems/internal/systemtest", // it is for tests only
		},
		tests: true,
		why:   "what provokes faults is no part of a library",
	},
	{
		dependency: "github.com/chromedp",
		importers:  []string{"internal/test/testkit/browser"},
		why:        "one place says how a browser is started, and what counts as a fault of a page",
	},
	{
		dependency: "github.com/zitadel/oidc/v3/example/server/exampleop",
		importers:  []string{"internal/test/testkit/openid"},
		tests:      true,
		why:        "one place makes its providers, which share variables, and lets one at a time be asked",
	},
	{
		dependency: module + "/internal/test/testkit/browser",
		importers:  []string{"internal/test/testkit/browser"},
		tests:      true,
		why:        "it is for tests, and the program does not come with a client of browsers",
	},
	{
		dependency: module + "/internal/test/promises",
		importers:  []string{"internal/test/promises"},
		tests:      true,
		why:        "it is for tests, and imports testing",
	},
	{
		dependency: module + "/internal/test/contracttest",
		importers:  []string{"internal/test/contracttest"},
		tests:      true,
		why:        "it is for tests, and imports testing",
	},
	{
		dependency: module + "/internal/test/wildtest",
		importers:  []string{"internal/test/wildtest"},
		tests:      true,
		why:        "it is for tests, and embeds their corpus",
	},
}

// reservedDependencies restricts each dependency of reservations to its importers.
func reservedDependencies(packages []pkg) []string {
	var faults []string
	for _, p := range packages {
		for _, r := range reservations {
			if slices.ContainsFunc(r.importers, func(importer string) bool { return within(p.path, importer) }) {
				continue
			}
			names := p.imports
			if !r.tests {
				names = sortedSet(slices.Concat(p.imports, p.testImports))
			}
			for _, name := range names {
				if within(name, r.dependency) {
					faults = append(faults, fmt.Sprintf("%s imports %s: %s", p.path, name, r.why))
				}
			}
		}
	}
	return faults
}
