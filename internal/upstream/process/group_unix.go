//go:build unix

package process

import (
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// A Group is a process and all that it starts. On Linux that includes those that have left
// the process group, as long as they keep the variable that marks them.
type Group struct {
	id   int
	mark string
}

// Start starts the process as the leader of a group of its own, which also keeps a
// terminal's signals from it.
func (g *Group) Start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	g.mark = mark(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	g.id = cmd.Process.Pid
	return nil
}

// Terminate asks all of them to end.
func (g *Group) Terminate() { g.signal(syscall.SIGTERM) }

// Kill ends them.
func (g *Group) Kill() { g.signal(syscall.SIGKILL) }

func (g *Group) signal(sig syscall.Signal) {
	_ = syscall.Kill(-g.id, sig) // it may have ended already
	for _, pid := range strays(g.mark, g.id) {
		_ = syscall.Kill(pid, sig) // as above
	}
}

// Leave waits until none of them is left, and reports whether that was in time. Zombies do
// not count: a container often has no process that reaps them.
func (g *Group) Leave(patience time.Duration) bool {
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

// Close frees what belongs to the group.
func (g *Group) Close() {}
