//go:build unix

package process

import (
	"os"
	"syscall"
)

// WriteOnce writes what a pipe has room for, and waits for nothing. It returns 0 where
// that, or anything else, keeps it from writing.
func WriteOnce(pipe *os.File, text []byte) (written int) {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return 0
	}
	_ = conn.Write(func(fd uintptr) bool { // a pipe that is closed takes nothing
		written, err = syscall.Write(int(fd), text)
		return true
	})
	if err != nil {
		return 0
	}
	return max(0, written)
}
