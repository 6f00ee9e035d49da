//go:build !unix

package service

import "os/exec"

// Services only run on Unix.

func asUser(*exec.Cmd) {}

func giveAway(string) error { return errNotInstalled }

func pauseProcess(int) error  { return errNotInstalled }
func killProcess(int) error   { return errNotInstalled }
func resumeProcess(int) error { return errNotInstalled }
