//go:build unix

package upstream

import (
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// A processGroup is a process and those that it starts: its group, and on Linux also
// those that have left the group, as long as they keep the variable by which they are
// known.
type processGroup struct {
	id   int
	mark string
}

// start starts the process as the leader of a group of its own, which also keeps a
// terminal's signals from it.
func (g *processGroup) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	g.mark = mark(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	g.id = cmd.Process.Pid
	return nil
}

// terminate asks all of them to end, kill makes them.
func (g *processGroup) terminate() { g.signal(syscall.SIGTERM) }
func (g *processGroup) kill()      { g.signal(syscall.SIGKILL) }

func (g *processGroup) signal(sig syscall.Signal) {
	_ = syscall.Kill(-g.id, sig) // it may have ended already
	for _, pid := range strays(g.mark, g.id) {
		_ = syscall.Kill(pid, sig) // as above
	}
}

// leave waits until none of them is left, and reports whether that was in time.
// Those that have ended and that nobody has asked about do not count: a container
// often has no process that would.
func (g *processGroup) leave(patience time.Duration) bool {
	const first, most = 2 * time.Millisecond, 100 * time.Millisecond
	end := time.Now().Add(patience)
	for interval := first; ; interval = min(2*interval, most) {
		if (errors.Is(syscall.Kill(-g.id, 0), syscall.ESRCH) || onlyZombies(g.id)) && len(strays(g.mark, g.id)) == 0 {
			return true
		}
		left := time.Until(end)
		if left <= 0 {
			return false
		}
		<-time.After(min(interval, left))
	}
}

// close frees what belongs to the group.
func (g *processGroup) close() {}
