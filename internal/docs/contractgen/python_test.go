package contractgen_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/recoursehq/recourse/internal/docs/contractgen"
	"github.com/recoursehq/recourse/internal/test/contracttest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// The package recourse-client, with the module of each contract, reads the golden kit and makes the kit's decisions. This is a sample:
// every other contract.
func TestPythonPassesTheKit(t *testing.T) {
	t.Parallel()
	testPythonPassesTheKit(t)
}

// The remaining contracts.
func TestLongPythonPassesTheKit(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	testPythonPassesTheKit(t)
}

func testPythonPassesTheKit(t *testing.T) {
	t.Helper()
	for i, c := range contracttest.Every(t) {
		if !testkit.Sampled(t, i, 2) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			module, kit := filepath.Join(dir, "contract.py"), filepath.Join(dir, "kit.txtar")
			for file, text := range map[string][]byte{module: contractgen.Python(c), kit: kitOf(t, c)} {
				if err := os.WriteFile(file, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := sdk.Python(t, "kit.py", append([]string{module, kit}, decisions(t, c)...)...).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
