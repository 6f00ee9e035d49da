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
	"--target", "es2022", "--lib", "es2022", "--module", "esnext",
}

// The module of each contract compiles, for each audience, together with a program that uses it. The module for clients
// reads the golden kit, and the one for both audiences also writes it; so do modules of contracts that users might
// write. This is a sample: every fifth contract.
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
	node := sdk.Node(t)
	dir := t.TempDir()
	put := func(name string, data []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	put("package.json", []byte(`{"type":"module"}`))
	arguments := append([]string{filepath.Join(node, "node_modules", "typescript", "lib", "tsc.js")}, tscOptions...)
	var contracts []*contract.Contract
	for i, c := range contracttest.Every(t) {
		put(c.Name+".ts", contractgen.TypeScript(c, contractgen.ForBoth))
		if testkit.Sampled(t, i, 5) {
			contracts, arguments = append(contracts, c), append(arguments, filepath.Join(dir, c.Name+".ts"))
			for _, audience := range []contractgen.Audience{contractgen.ForClients, contractgen.ForServers} {
				arguments = append(arguments, put(c.Name+"."+string(audience)+".ts", contractgen.TypeScript(c, audience)))
			}
		}
	}
	usage, err := os.ReadFile(filepath.Join("testdata", "usage.ts"))
	if err != nil {
		t.Fatal(err)
	}
	arguments = append(arguments, put("usage.ts", usage))
	if out, err := exec.CommandContext(t.Context(), "node", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
	for _, c := range contracts {
		kit := put(c.Name+".txtar", kitOf(t, c))
		for _, module := range []string{c.Name, c.Name + ".client"} {
			t.Run(module, func(t *testing.T) {
				t.Parallel()
				run := append([]string{filepath.Join(node, "testkit", "kit.mjs"), filepath.Join(dir, module+".js"), kit}, decisions(t, c)...)
				out, err := exec.CommandContext(t.Context(), "node", run...).CombinedOutput()
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
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
