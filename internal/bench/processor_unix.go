//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime returns the processor time of the process so far, user and system.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
