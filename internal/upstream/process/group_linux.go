package process

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// markVariable marks processes, so that those that have left their group are found.
const markVariable = "RECOURSE_PROCESS"

// mark marks the process that cmd starts, and so all that it starts in turn, unless they
// unset the variable. The mark begins with that of the process which runs this program, if it has one:
// to that one, all of them are its own.
func mark(cmd *exec.Cmd) string {
	mark := markVariable + "="
	for _, variable := range cmd.Env {
		if strings.HasPrefix(variable, markVariable+"=") {
			mark = variable + "."
		}
	}
	mark += rand.Text()
	cmd.Env = append(cmd.Env, mark)
	return mark
}

// strays returns the processes that have a mark and are not of the group.
func strays(mark string, group int) (pids []int) {
	for _, pid := range processes() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // empty for a zombie
		if err != nil || !bytes.Contains(text, []byte(mark)) {
			continue
		}
		if of, err := syscall.Getpgid(pid); err == nil && of != group {
			pids = append(pids, pid)
		}
	}
	return pids
}

// processes returns the processes there are. They may have ended by the time they are looked at.
func processes() (pids []int) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1) // as many as can be read
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// onlyZombies reports whether all processes of the group are zombies; see proc_pid_stat(5).
func onlyZombies(group int) bool {
	found := false
	for _, pid := range processes() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
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
