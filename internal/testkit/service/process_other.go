//go:build !unix

package service

import "os/exec"

// Services run on Unix only: elsewhere none is found.

func asUser(*exec.Cmd) {}

func giveAway(string) error { return errNotInstalled }

func pauseProcess(int) error  { return errNotInstalled }
func resumeProcess(int) error { return errNotInstalled }
