package front

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// acceptLast returns a connection that waits to be accepted. If none does, it is nil, and nobody can connect any more.
func acceptLast(ln net.Listener) net.Conn {
	accepted := -1
	control(ln, func(fd int) {
		var none error
		if accepted, _, none = unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC); none != nil {
			_ = unix.Shutdown(fd, unix.SHUT_RDWR) // at once; it is closed in any case
		}
	})
	if accepted < 0 {
		return nil
	}
	file := os.NewFile(uintptr(accepted), "")
	defer file.Close()
	conn, _ := net.FileConn(file) // it cannot be used without
	return conn
}

// readLast reads what has arrived on a connection, if anything has.
func readLast(conn net.Conn, p []byte) int {
	n := 0
	control(conn, func(fd int) { n, _ = unix.Read(fd, p) })
	return max(n, 0)
}

// control lets f use the descriptor of a connection or listener that has one.
func control(of any, f func(fd int)) {
	if described, ok := of.(syscall.Conn); ok {
		if raw, err := described.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { f(int(fd)) }) // it fails when it is closed
		}
	}
}
