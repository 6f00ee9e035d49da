package sdk

import (
	"embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

//go:embed python/*.py
var pythonFiles embed.FS

var errNoPython = errors.New("python3 3.10 or later is not installed")

// Python returns the command that runs a program of the folder python, which needs the package recourse-client of this
// tree and otherwise only the standard library. Its warnings are errors. If Python is missing or too old, it skips the test and says so; with CI=true that
// is a failure instead.
func Python(tb testing.TB, program string, args ...string) *exec.Cmd {
	tb.Helper()
	if exec.CommandContext(tb.Context(), "python3", "-c", "import sys; sys.exit(sys.version_info < (3, 10))").Run() != nil {
		testkit.LeaveOut(tb, errNoPython)
	}
	text, err := pythonFiles.ReadFile("python/" + program)
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), program)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		tb.Fatal(err)
	}
	root, err := testkit.ModuleRoot()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), "python3", append([]string{"-B", "-W", "error", path}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(root, "clients", "python", "src"))
	return cmd
}
