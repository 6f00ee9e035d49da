//go:build unix

package openapi_test

import (
	"os"
	"runtime"
	"syscall"
)

// peakOf returns the most memory that a process has had, in MB.
func peakOf(state *os.ProcessState) int {
	usage, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" { // which counts bytes
		return int(usage.Maxrss >> 20)
	}
	return int(usage.Maxrss >> 10)
}
