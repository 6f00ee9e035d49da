package sdk_test

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/sdk"
)

// What the tests of all packages leave out is told once: go test does not show what tests print, unless one fails.
func TestLeftOutIsTold(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	if missing := notInstalled(t); len(missing) > 0 {
		fmt.Fprintf(&said, "left out: tests that need %s, which are not installed: see make test\n", strings.Join(missing, ", "))
	}
	if os.Getenv(testkit.LongVariable) != "1" {
		said.WriteString("left out: tests that take long: see make test-long\n")
	}
	t.Log(said.String())
	for _, place := range []string{fmt.Sprintf("/proc/%d/fd/2", os.Getppid()), "/dev/tty"} { // the first is where go reports errors
		out, err := os.OpenFile(place, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = out.WriteString(said.String())
			_ = out.Close()
		}
		if err == nil {
			return
		}
	}
}

// notInstalled returns what some tests need and is not there.
func notInstalled(t *testing.T) (missing []string) {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		sdk.Node(r)
	}()
	if <-done; r.ended != "" {
		missing = append(missing, "Node with its packages")
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is good
	for _, need := range [][2]string{
		{"Python", "python3"},
		{"Redis", "redis-server"},
		{"PostgreSQL", cmp.Or(append(debian, "initdb")...)},
		{"Chromium", "chromium"},
		{"systemd", "systemd-analyze"},
	} {
		if _, err := exec.LookPath(need[1]); err != nil {
			missing = append(missing, need[0])
		}
	}
	return missing
}
