//go:build unix

package service

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// serviceUser is the user for services when the tests run as root, which PostgreSQL refuses: postgres, or
// else nobody. It is nil if services run as the tests' own user.
var serviceUser = sync.OnceValue(func() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
		if uidErr == nil && gidErr == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	return nil
})

// asUser runs a command as the user of services, in a process group of its own, so that an interrupt
// at the terminal does not reach it.
func asUser(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: serviceUser()}
}

// giveAway gives the folder to the user of services.
func giveAway(dir string) error {
	who := serviceUser()
	if who == nil {
		return nil
	}
	if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
		return fmt.Errorf("give a folder away: %w", err)
	}
	return nil
}

func pauseProcess(pid int) error  { return syscall.Kill(pid, syscall.SIGSTOP) }
func resumeProcess(pid int) error { return syscall.Kill(pid, syscall.SIGCONT) }

// killProcess kills a process, and on Linux its children as well: what they share would keep the next one from starting.
func killProcess(pid int) error {
	if err := pauseProcess(pid); err != nil { // so that it starts no more of them
		return err
	}
	for children := livingChildren(pid); len(children) > 0; children = livingChildren(pid) {
		for _, child := range children {
			_ = syscall.Kill(child, syscall.SIGKILL) // it may have ended
		}
		time.Sleep(5 * time.Millisecond)
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// livingChildren returns none where there is no such file.
func livingChildren(pid int) (living []int) {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	for child := range strings.FieldsSeq(string(children)) {
		stat, err := os.ReadFile("/proc/" + child + "/stat")
		if id, notNumber := strconv.Atoi(child); err == nil && notNumber == nil && !strings.Contains(string(stat), ") Z ") {
			living = append(living, id)
		}
	}
	return living
}
