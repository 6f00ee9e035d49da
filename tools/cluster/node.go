//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A node is a program in a network namespace of its own, with one link to the bridge. It is started again whenever it ends.
type node struct {
	name, ip string
	command  []string
	env      []string

	mu      sync.Mutex
	running *exec.Cmd
	starts  int
	away    time.Duration // how long it stays away when it ends
}

// hub is the address of the bridge, where the clients and their server are.
const hub = "10.77.0.1"

// do runs a command to its end, whatever ends ctx: what was broken is mended.
func do(ctx context.Context, line string) error {
	words := strings.Fields(line)
	if out, err := exec.CommandContext(context.WithoutCancel(ctx), words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", line, err, out)
	}
	return nil
}

// doAll runs commands one after the other.
func doAll(ctx context.Context, lines ...string) error {
	for _, line := range lines {
		if err := do(ctx, line); err != nil {
			return err
		}
	}
	return nil
}

// startNode connects a node, and runs its program from now on.
func startNode(ctx context.Context, dir string, n *node) error {
	err := doAll(ctx,
		"ip netns add "+n.name,
		"ip link add "+n.name+" type veth peer name eth0 netns "+n.name,
		"ip link set "+n.name+" master hub up",
		"ip -n "+n.name+" link set lo up",
		"ip -n "+n.name+" addr add "+n.ip+"/24 dev eth0",
		"ip -n "+n.name+" link set eth0 up",
	)
	if err != nil {
		return err
	}
	own := filepath.Join(dir, n.name) // what it writes where it is
	if err := os.MkdirAll(own, 0o750); err != nil {
		return err
	}
	log, err := os.OpenFile(own+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	go func() {
		for ctx.Err() == nil {
			n.mu.Lock()
			cmd := exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", n.name}, n.command...)...)
			cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = own, append(os.Environ(), n.env...), log, log
			// Whatever it starts ends with it.
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
			if err := cmd.Start(); err != nil {
				fmt.Fprintln(log, err)
			}
			n.running, n.away, n.starts = cmd, 200*time.Millisecond, n.starts+1
			n.mu.Unlock()
			_ = cmd.Wait() // it was killed, or the log says why
			n.mu.Lock()
			away := n.away
			n.mu.Unlock()
			pause(ctx, away)
		}
	}()
	return nil
}

// signal sends one; the program stays away for so long if it ends.
func (n *node) signal(s syscall.Signal, away time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.away = away
	if n.running != nil && n.running.Process != nil {
		_ = n.running.Process.Signal(s) // it may have ended
	}
}

// again sends a signal, and waits until the program has ended and was started again.
func (n *node) again(ctx context.Context, s syscall.Signal) {
	n.mu.Lock()
	before := n.starts
	n.mu.Unlock()
	n.signal(s, 0)
	for ctx.Err() == nil {
		n.mu.Lock()
		now := n.starts
		n.mu.Unlock()
		if now > before {
			return
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// link takes its link down or up.
func (n *node) link(ctx context.Context, state string) error {
	return do(ctx, "ip link set "+n.name+" "+state)
}
