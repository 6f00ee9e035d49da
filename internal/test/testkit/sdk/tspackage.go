package sdk

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

var transpile = sync.OnceValue(func() error {
	dir, err := nodeTools()
	if err != nil {
		return err
	}
	root, err := testkit.ModuleRoot()
	if err != nil {
		return err
	}
	from, into := filepath.Join(root, "clients", "typescript", "src"), filepath.Join(dir, "testkit", "client")
	if out, err := exec.Command("node", filepath.Join(dir, "testkit", "transpile.mjs"), from, into).CombinedOutput(); err != nil {
		return fmt.Errorf("transpile: %w\n%s", err, out)
	}
	return nil
})

// TypeScriptPackage returns the main module of the package @recoursehq/client as JavaScript. [Node] says what happens if
// Node is missing.
func TypeScriptPackage(tb testing.TB) string {
	tb.Helper()
	dir := Node(tb)
	if err := transpile(); err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, "testkit", "client", "index.js")
}
