package archtest_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The only modules that an importer of contract gets.
var contractModules = []string{
	"github.com/go-json-experiment/json",
	"github.com/goccy/go-yaml",
}

// The modules that an author with the Go SDK gets.
var mcptoolModules = slices.Concat(contractModules, []string{
	"github.com/santhosh-tekuri/jsonschema/v6",
	"golang.org/x/text", // for the schema validator

	"github.com/modelcontextprotocol/go-sdk",
	"github.com/google/jsonschema-go", // this and the rest: for the Go SDK
	"github.com/segmentio/asm",
	"github.com/segmentio/encoding",
	"github.com/yosida95/uritemplate/v3",
	"golang.org/x/oauth2",
	"golang.org/x/sync",
	"golang.org/x/sys",
	"golang.org/x/time",
})

// delivery is a public package with the modules that its importer gets.
type delivery struct {
	path    string
	modules []string
}

var deliveries = []delivery{
	{path: "."},
	{path: "retry"},
	{path: "authn"},
	{path: "contract", modules: contractModules},
	{path: "recovery", modules: contractModules},
	{path: "recovery/otelrecovery", modules: slices.Concat(contractModules, []string{
		"go.opentelemetry.io/otel",
		"go.opentelemetry.io/otel/trace",
		"github.com/cespare/xxhash/v2", // for the above
	})},
	{path: "mcptool", modules: mcptoolModules},
	{path: "mcptool/checktest", modules: mcptoolModules},
	{path: "mcptool/oncestore", modules: slices.Concat(mcptoolModules, []string{
		"github.com/jackc/pgx/v5",
		"github.com/pressly/goose/v3",
		"modernc.org/sqlite",
		"github.com/dustin/go-humanize", // this and the rest: for the above
		"github.com/google/uuid",
		"github.com/jackc/pgpassfile",
		"github.com/jackc/pgservicefile",
		"github.com/jackc/puddle/v2",
		"github.com/mfridman/interpolate",
		"github.com/remyoudompheng/bigfft",
		"github.com/sethvargo/go-retry",
		"go.uber.org/multierr",
		"modernc.org/libc",
		"modernc.org/mathutil",
		"modernc.org/memory",
	})},
	{path: "mcptool/mcpgotool", modules: slices.Concat(mcptoolModules, []string{
		"github.com/mark3labs/mcp-go",
		"github.com/google/uuid", // this and the rest: for mcp-go
		"github.com/spf13/cast",
	})},
}

// surplus returns a fault for each of modules that d does not name.
func (d delivery) surplus(modules []string) []string {
	var faults []string
	for _, m := range modules {
		if !slices.Contains(d.modules, m) {
			faults = append(faults, fmt.Sprintf("%s brings %s: authors who import it get a YAML parser, a JSON library "+
				"and, with mcptool, a schema validator and the SDK", d.path, m))
		}
	}
	return faults
}

func TestModulesOfPublicPackages(t *testing.T) {
	t.Parallel()

	packages := readPackages(t, readFiles(t))
	for _, d := range deliveries {
		if !slices.ContainsFunc(packages, func(p pkg) bool { return p.path == d.path }) {
			continue
		}
		t.Run(d.path, func(t *testing.T) {
			t.Parallel()
			for _, fault := range d.surplus(modulesOf(t, d.path)) {
				t.Error(fault)
			}
		})
	}
}

// modulesOf lists the foreign modules that a package of ours needs to compile.
func modulesOf(t *testing.T, path string) []string {
	t.Helper()

	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./"+path)
	list.Dir = "../../.."
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v: %v", list, err)
	}
	modules := sortedSet(strings.Fields(string(out)))
	if !slices.Contains(modules, module) {
		t.Fatalf("%v lists %q: not even our own module", list, modules)
	}
	return slices.DeleteFunc(modules, func(name string) bool { return name == module })
}
