//go:build !unix

package testkit

import "os/exec"

// ownGroup does nothing: there are no process groups.
func ownGroup(*exec.Cmd) {}

// endGroup ends the program.
func endGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have ended already
}

// GroupAlive always returns false: there are no process groups.
func GroupAlive(int) bool { return false }
