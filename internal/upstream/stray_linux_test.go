package upstream_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A process that has left the child's process group ends with the child all the same.
func TestStraysEnd(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe") // the stray holds it open while it lives
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	program := command()
	program.Args = append([]string{
		"-c", `setsid sh -c 'echo away; exec sleep 300' </dev/null >"$0" 2>&1 & exec "$@"`, pipe, program.Path,
	}, program.Args...)
	program.Path = "/bin/sh"
	s := serve(t, program)
	s.SetPatience(0, 0, 100*time.Millisecond)
	s.mustCall("echo", 0)
	held, err := os.Open(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	said := make([]byte, len("away\n"))
	if _, err := io.ReadFull(held, said); err != nil || string(said) != "away\n" {
		t.Fatalf("stray: got %q, %v", said, err)
	}
	s.Close()
	if err := held.SetReadDeadline(time.Now().Add(time.Minute)); err != nil { // the stray would live for five
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(held); err != nil {
		t.Errorf("the stray is alive: got %q, %v", rest, err)
	}
}
