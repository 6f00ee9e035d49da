package contractgen_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/contractgen"
	"github.com/recoursehq/recourse/internal/contracttest"
	"github.com/recoursehq/recourse/internal/testkit"
)

// The strictest options of the TypeScript compiler, and no types but those of the
// language.
var tscOptions = []string{
	"--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--noImplicitReturns", "--noImplicitOverride",
	"--noFallthroughCasesInSwitch", "--noUnusedLocals", "--noUnusedParameters", "--isolatedModules", "--verbatimModuleSyntax",
	"--target", "es2022", "--lib", "es2022", "--module", "esnext",
}

// The module of every contract compiles, with a program that uses one, and writes and reads what the golden kit
// holds: that of the built-in contracts, and one made for each of those that users
// might write. This is a sample: every other contract.
func TestTypeScriptPassesTheKit(t *testing.T) {
	t.Parallel()
	testTypeScriptPassesTheKit(t)
}

// The others.
func TestLongTypeScriptPassesTheKit(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testTypeScriptPassesTheKit(t)
}

func testTypeScriptPassesTheKit(t *testing.T) {
	t.Helper()
	node := testkit.Node(t)
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
		module := put(c.Name+".ts", contractgen.TypeScript(c))
		if testkit.Sampled(t, i, 2) {
			contracts, arguments = append(contracts, c), append(arguments, module)
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
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			kit := put(c.Name+".txtar", contracttest.Kit(t, c))
			run := append([]string{filepath.Join(node, "testkit", "kit.mjs"), filepath.Join(dir, c.Name+".js"), kit}, decisions(t, c)...)
			out, err := exec.CommandContext(t.Context(), "node", run...).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// decisions returns the files of the kit with the decisions of a built-in contract, and with recoveries.
func decisions(t *testing.T, c *contract.Contract) []string {
	t.Helper()
	if _, builtin := contract.Builtin().Get(c.Name); !builtin {
		return nil
	}
	kit := filepath.Join("..", "..", "contract", "testdata", "kit")
	return []string{filepath.Join(kit, c.Name+".decisions.jsonl"), filepath.Join(kit, "recoveries.jsonl")}
}
