package upstream_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A process that has left the group of the one that started it ends with it all the same.
func TestStraysEnd(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	note := filepath.Join(t.TempDir(), "pid")
	program := command()
	program.Args = append([]string{
		"-c", `setsid sleep 300 </dev/null >/dev/null 2>&1 & echo $! >"$0"; exec "$@"`, note, program.Path,
	}, program.Args...)
	program.Path = "/bin/sh"
	s := serve(t, program)
	s.SetPatience(0, 0, 100*time.Millisecond)
	s.mustCall("echo", 0)
	text, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	folder := "/proc/" + strings.TrimSpace(string(text))
	if line, err := os.ReadFile(folder + "/cmdline"); err != nil || !strings.Contains(string(line), "sleep") {
		t.Fatalf("%s: %q %v", folder, line, err)
	}
	s.Close()
	// What has been killed gives its memory back at once, and becomes a zombie when it has a processor.
	if status, err := os.ReadFile(folder + "/status"); err == nil && strings.Contains(string(status), "VmSize:") {
		t.Errorf("it is alive: %s", status)
	}
}
