package hosts_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/recoursehq/recourse/internal/config/hosts"
)

// A link in place of the backup is not followed: it could replace the hosts file with any file.
func TestUndoFollowsNoLink(t *testing.T) {
	t.Parallel()

	folder := t.TempDir()
	file, other := filepath.Join(folder, "mcp.json"), filepath.Join(folder, "other")
	for path, text := range map[string]string{file: "mine", other: "theirs"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(other, hosts.Backup(file)); err != nil {
		t.Skip(err)
	}
	if _, err := hosts.ReadBackup(file); err == nil {
		t.Error("no error")
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
		t.Errorf("%q %v", text, err)
	}
	if err := hosts.Install(file, []byte("new"), []byte("mine")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v", err)
	}
}
