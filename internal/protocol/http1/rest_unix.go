//go:build unix

package http1

import (
	"errors"
	"net"
	"syscall"
)

// polled asks the system whether there is anything to read, without waiting.
type polled struct {
	conn  syscall.RawConn
	read  func(fd uintptr) bool
	quiet bool
}

// newPolled returns nil for a connection that is not a plain one of the system.
func newPolled(nc net.Conn) rest {
	own, ok := nc.(syscall.Conn)
	if !ok {
		return nil
	}
	conn, err := own.SyscallConn()
	if err != nil {
		return nil
	}
	p := &polled{conn: conn}
	p.read = func(fd uintptr) bool {
		var one [1]byte
		_, err := syscall.Read(int(fd), one[:]) // the descriptors of package net do not block
		p.quiet = errors.Is(err, syscall.EAGAIN)
		return true
	}
	return p
}

func (*polled) begin() {}

func (p *polled) isQuiet() bool {
	p.quiet = false
	return p.conn.Read(p.read) == nil && p.quiet
}
