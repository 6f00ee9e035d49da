//go:build unix

package cli_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/recoursehq/recourse/internal/cli"
)

// What is no file is not read: a pipe would never end.
func TestIncludeOfAPipe(t *testing.T) {
	t.Parallel()
	f := newFolder(t, map[string]string{"recourse.yaml": "include: ['servers/*.yaml']\n", "servers/a.yaml": "servers: {a: {url: 'http://127.0.0.1:9'}}\n"})
	if err := syscall.Mkfifo(f.path("servers/pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := f.run("serve", "--check"); code != cli.ExitUsage || !strings.Contains(stderr, "recourse.yaml:1:11: servers/pipe.yaml is not a file") {
		t.Errorf("%d: %s", code, stderr)
	}
}
