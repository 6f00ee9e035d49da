//go:build linux || darwin

package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a file for this process, and reports whether no other one has.
func lock(f *os.File) bool { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }
