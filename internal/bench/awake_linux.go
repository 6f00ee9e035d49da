package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// keepsAwake says whether keepAwake works on this system.
const keepsAwake = true

// keepAwake keeps each processor busy with threads that only run when nothing else does, until standard input ends. It
// prints a line when it has started.
func keepAwake() error {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return fmt.Errorf("list the processors: %w", err)
	}
	runtime.GOMAXPROCS(all.Count() + 1) // one for this goroutine
	started := make(chan error)
	for cpu, left := 0, all.Count(); left > 0; cpu++ {
		if all.IsSet(cpu) {
			left--
			go spin(cpu, started)
		}
	}
	var err error
	for range all.Count() {
		err = errors.Join(err, <-started)
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(os.Stdout, "awake"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err // the program ends, and its threads with it
}

// spin never returns unless it fails.
func spin(cpu int, started chan<- error) {
	runtime.LockOSThread()
	var own unix.CPUSet
	own.Set(cpu)
	err := unix.SchedSetaffinity(0, &own)
	if err == nil {
		err = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
	}
	started <- err
	for err == nil { //nolint:revive,staticcheck // it does nothing, all the time
	}
}
