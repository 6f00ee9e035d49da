package child

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// built returns the path of the program childserver, which it builds once, without the race detector: a test
// binary with it takes ten times as long to start.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "childserver-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the program: %w", err)
	}
	testkit.AtEnd(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "childserver.exe") // a name that every system starts
	const source = "github.com/recoursehq/recourse/internal/test/testkit/child/childserver"
	if said, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", path, source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w: %s", err, said)
	}
	return path, nil
})
