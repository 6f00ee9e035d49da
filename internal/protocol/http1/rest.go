package http1

import (
	"errors"
	"net"
	"os"
	"time"
)

// Deadlines: no deadline, and one that interrupts whatever waits for it.
var (
	never time.Time
	past  = time.Unix(1, 0)
)

// A rest watches an idle connection, on which nothing is expected.
type rest interface {
	// begin starts to watch.
	begin()
	// isQuiet stops watching, and reports whether the other side has sent nothing and kept the
	// connection open since. It need not be called for a connection that is closed.
	isQuiet() bool
}

// newRest returns the cheapest rest that works for the connection.
func newRest(nc net.Conn) rest {
	if r := newPolled(nc); r != nil {
		return r
	}
	return &waiting{nc: nc}
}

// waiting reads in the background, on any system and any connection.
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
