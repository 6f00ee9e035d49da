package http1

import (
	"errors"
	"net"
	"os"
)

// A rest watches a connection on which nothing is expected.
type rest interface {
	// begin begins to watch.
	begin()
	// isQuiet ends it, and reports whether the other side has neither said nor ended
	// anything since. It has not to be called for a connection that is closed.
	isQuiet() bool
}

// newRest returns the cheapest there is for the connection.
func newRest(nc net.Conn) rest {
	if r := newPolled(nc); r != nil {
		return r
	}
	return &waiting{nc: nc}
}

// waiting reads in the background, on any system and from any connection.
type waiting struct {
	nc    net.Conn
	quiet chan bool
}

func (w *waiting) begin() {
	quiet := make(chan bool, 1)
	w.quiet = quiet
	go func() {
		var one [1]byte
		n, err := w.nc.Read(one[:])
		quiet <- n == 0 && errors.Is(err, os.ErrDeadlineExceeded)
	}()
}

func (w *waiting) isQuiet() bool {
	if w.quiet == nil {
		return true
	}
	if err := w.nc.SetReadDeadline(past); err != nil {
		return false
	}
	return <-w.quiet && w.nc.SetReadDeadline(never) == nil
}
