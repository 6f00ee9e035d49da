package process

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// markVariable marks processes, so that those that have left their group are found.
const markVariable = "RECOURSE_PROCESS"

// mark marks the process that cmd starts, and so all that it starts in turn, unless they
// unset the variable.
func mark(cmd *exec.Cmd) string {
	mark := markVariable + "=" + rand.Text()
	cmd.Env = append(cmd.Env, mark)
	return mark
}

// strays returns the processes that have a mark and are not of the group.
func strays(mark string, group int) (pids []int) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	for _, file := range files {
		text, err := os.ReadFile(file) // empty for a zombie
		if err != nil || !bytes.Contains(text, []byte(mark)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		if of, err := syscall.Getpgid(pid); err == nil && of != group {
			pids = append(pids, pid)
		}
	}
	return pids
}

// onlyZombies reports whether all processes of the group are zombies; see proc_pid_stat(5).
func onlyZombies(group int) bool {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return false
	}
	found := false
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it is gone
		}
		var state string
		var parent, member int
		_, rest, _ := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" ")) // the name may hold anything
		if _, err := fmt.Sscan(string(rest), &state, &parent, &member); err != nil || member != group {
			continue
		}
		if state != "Z" && state != "X" {
			return false
		}
		found = true
	}
	return found
}
