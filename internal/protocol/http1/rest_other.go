//go:build !unix

package http1

import "net"

func newPolled(net.Conn) rest { return nil }
