package front

import (
	"net"
	"sync"
	"time"
)

const (
	// writeTimeout is how long a client may take to receive a piece of an answer, and endTimeout how long
	// when the gateway ends.
	writeTimeout = 60 * time.Second
	endTimeout   = 5 * time.Second
	// writePiece is how much is sent at a time, and sendBuffer what the system holds for a client that is
	// behind. Both are small, so that a slow reader is noticed.
	writePiece = 32 << 10
	sendBuffer = 256 << 10
)

// clientConns are the connections of clients. Everything written to them, by us or by net/http itself, has to
// be received in time: a client that does not read cannot hold anything for long. How long an answer takes to
// arrive does not matter.
type clientConns struct {
	net.Listener

	patience, ending time.Duration

	mu    sync.Mutex
	ended bool
	open  map[*clientConn]struct{}

	leave leave
}

func newClientConns(ln net.Listener, patience, ending time.Duration) *clientConns {
	l := &clientConns{Listener: ln, patience: patience, ending: ending, open: map[*clientConn]struct{}{}}
	l.leave.all = make(chan struct{})
	return l
}

func (l *clientConns) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil && l.leave.begun.Load() {
		conn, err = l.acceptLast()
	}
	if err != nil {
		return nil, err
	}
	if sized, ok := conn.(interface{ SetWriteBuffer(bytes int) error }); ok {
		_ = sized.SetWriteBuffer(sendBuffer) // else it is the system's
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &clientConn{Conn: conn, of: l, patience: l.patience, asking: true}
	if l.ended {
		c.patience = l.ending
	}
	l.open[c] = struct{}{}
	return c, nil
}

// end gives clients less time, even for writes in progress.
func (l *clientConns) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for c := range l.open {
		c.hurry(l.ending)
	}
}

// A clientConn is one of them.
type clientConn struct {
	net.Conn

	of *clientConns

	mu       sync.Mutex
	patience time.Duration
	writing  bool
	asking   bool // a request may be on its way to a handler
	handling int  // requests that are with handlers
	several  bool // requests at a time: HTTP/2
}

func (c *clientConn) Write(p []byte) (written int, err error) {
	for {
		piece := p[written:min(len(p), written+writePiece)]
		c.mu.Lock()
		c.writing = true
		_ = c.SetWriteDeadline(time.Now().Add(c.patience)) // Write says what is wrong
		c.mu.Unlock()
		n, err := c.Conn.Write(piece)
		c.mu.Lock()
		c.writing = false
		c.mu.Unlock()
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}

func (c *clientConn) hurry(patience time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.patience = patience
	if c.writing {
		_ = c.SetWriteDeadline(time.Now().Add(patience)) // as above
	}
}

// CloseWrite ends the sending side, as net/http does before it closes the connection of a client that is
// still sending.
func (c *clientConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *clientConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
