//go:build !linux

package front

import "net"

// acceptLast accepts nobody: who waits to be accepted is reset.
func acceptLast(net.Listener) net.Conn { return nil }

// readLast reads nothing.
func readLast(net.Conn, []byte) int { return 0 }
