//go:build !unix

package testkit

import "os/exec"

// Services run on Unix only: elsewhere none is found.

func asServiceUser(*exec.Cmd) {}

func giveAway(string) error { return errNoService }

func pauseProcess(int) error  { return errNoService }
func resumeProcess(int) error { return errNoService }
