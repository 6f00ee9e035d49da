//go:build unix

package hosts_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/recoursehq/recourse/internal/config/hosts"
)

// If root rewrites a file, it and its backup keep their owner.
func TestOwnerStays(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only for root")
	}
	file := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(file, 1234, 2345); err != nil {
		t.Skip(err)
	}
	owned := func(path string) {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if of, ok := info.Sys().(*syscall.Stat_t); !ok || of.Uid != 1234 || of.Gid != 2345 {
			t.Errorf("%s belongs to %+v", path, of)
		}
	}
	if err := hosts.Install(file, []byte("new"), []byte("mine")); err != nil {
		t.Fatal(err)
	}
	owned(file)
	owned(hosts.Backup(file))
	if err := hosts.Undo(file, []byte("old")); err != nil {
		t.Fatal(err)
	}
	owned(file)
}
