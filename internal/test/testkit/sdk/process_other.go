//go:build !unix

package sdk

import "os/exec"

// ownGroup does nothing: there are no process groups.
func ownGroup(*exec.Cmd) {}

// endGroup ends the program.
func endGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have ended already
}
