package contractgen_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/docs/contractgen"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// All strict options of the TypeScript compiler, without any types but the language's own.
var tscOptions = []string{
	"--strict", "--skipLibCheck", "--noUncheckedIndexedAccess", "--noPropertyAccessFromIndexSignature", "--exactOptionalPropertyTypes",
	"--noImplicitReturns", "--noImplicitOverride", "--noFallthroughCasesInSwitch", "--noUnusedLocals", "--noUnusedParameters",
	"--noUncheckedSideEffectImports", "--allowUnreachableCode", "false", "--allowUnusedLabels", "false",
	"--isolatedModules", "--verbatimModuleSyntax", "--erasableSyntaxOnly",
	"--target", "es2022", "--lib", "es2022", "--module", "nodenext",
}

// The package @recoursehq/client compiles, and with it the module of each contract and a program that uses one. It reads and
// writes the golden kit of each contract; so it does those of contracts that users might write. This is a sample: every
// fifth contract.
func TestTypeScriptPassesTheKit(t *testing.T) {
	t.Parallel()
	testTypeScriptPassesTheKit(t)
}

// The remaining contracts.
func TestLongTypeScriptPassesTheKit(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testTypeScriptPassesTheKit(t)
}

func testTypeScriptPassesTheKit(t *testing.T) {
	t.Helper()
	node, dir := sdk.Node(t), t.TempDir()
	client := installTypeScript(t, dir)
	var contracts []*contract.Contract
	arguments := tscOptions
	for i, c := range contracttest.Every(t) {
		module := put(t, dir, c.Name+".ts", string(contractgen.TypeScript(c)))
		if testkit.Sampled(t, i, 5) {
			contracts, arguments = append(contracts, c), append(arguments, module)
		}
	}
	usage, err := os.ReadFile(filepath.Join("testdata", "usage.ts"))
	if err != nil {
		t.Fatal(err)
	}
	tsc(t, append(arguments, put(t, dir, "usage.ts", string(usage)))...)
	for _, c := range contracts {
		kit := put(t, dir, c.Name+".txtar", string(kitOf(t, c)))
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			run := []string{filepath.Join(node, "testkit", "kit.mjs"), client, filepath.Join(dir, c.Name+".js"), kit}
			out, err := exec.CommandContext(t.Context(), "node", append(run, decisions(t, c)...)...).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// installTypeScript compiles the package @recoursehq/client so that modules in a folder can import it, and returns its main
// module.
func installTypeScript(t *testing.T, dir string) string {
	t.Helper()
	source, into := filepath.Join("..", "..", "..", "clients", "typescript"), filepath.Join(dir, "node_modules", "@recoursehq", "client")
	tsc(t, "-p", source, "--outDir", filepath.Join(into, "dist"))
	manifest, err := os.ReadFile(filepath.Join(source, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, into, "package.json", string(manifest))
	put(t, dir, "package.json", `{"type":"module"}`)
	return filepath.Join(into, "dist", "index.js")
}

// tsc runs the TypeScript compiler.
func tsc(t *testing.T, arguments ...string) {
	t.Helper()
	compiler := filepath.Join(sdk.Node(t), "node_modules", "typescript", "lib", "tsc.js")
	if out, err := exec.CommandContext(t.Context(), "node", append([]string{compiler}, arguments...)...).CombinedOutput(); err != nil {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
}

// decisions returns the kit's files with a built-in contract's decisions and recoveries.
func decisions(t *testing.T, c *contract.Contract) []string {
	t.Helper()
	if _, builtin := contract.Builtin().Get(c.Name); !builtin {
		return nil
	}
	kit := filepath.Join("..", "..", "..", "contract", "testdata", "kit")
	return []string{filepath.Join(kit, c.Name+".decisions.jsonl"), filepath.Join(kit, "recoveries.jsonl")}
}
