//go:build unix

package openapi_test

import (
	"os"
	"runtime"
	"syscall"
)

// peakOf returns a process's maximum memory, in MB.
func peakOf(state *os.ProcessState) int {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" { // in bytes, not KiB
		return int(usage.Maxrss >> 20)
	}
	return int(usage.Maxrss >> 10)
}
