//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime returns what the process has taken of the processors so far, for itself and in the system.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
