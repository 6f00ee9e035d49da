package front

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
)

// A leave is the end of listening, in which no request is lost. The system resets connections that wait to be accepted when a listener
// is closed, and net/http drops requests that it reads after Shutdown was called. So before that, those who have connected are accepted,
// requests that have been sent reach their handlers, and connections are closed only when nothing has arrived on them.
type leave struct {
	begun atomic.Bool
	all   chan struct{} // closed when everybody has been accepted
}

// settleTime is how long those who have connected may take to send the head of a request, at most.
const settleTime = 500 * time.Millisecond

// long is a deadline that has passed.
var long = time.Unix(1, 0)

// finish stops listening.
func (l *clientConns) finish(ctx context.Context) {
	l.leave.begun.Store(true)
	if tcp, ok := l.Listener.(*net.TCPListener); ok && tcp.SetDeadline(long) == nil {
		select {
		case <-l.leave.all:
		case <-time.After(settleTime): // nobody accepts any more
		}
	}
	for until := time.Now().Add(settleTime); l.unsettled() && time.Now().Before(until); {
		pause.For(ctx, time.Millisecond)
	}
}

// acceptLast accepts one of those who had connected when finish was called, and closes the listener after the last of them.
func (l *clientConns) acceptLast() (net.Conn, error) {
	if conn := acceptLast(l.Listener); conn != nil {
		return conn, nil
	}
	_ = l.Close() // nobody is left
	close(l.leave.all)
	return nil, net.ErrClosed
}

// unsettled reports whether a request may be on its way to a handler. It ends the connections on which there is none.
func (l *clientConns) unsettled() (some bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		some = c.unsettled() || some
	}
	return some
}

func (c *clientConn) unsettled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.several || c.handling > 0 {
		return false // net/http lets it end
	}
	if !c.asking {
		_ = c.SetReadDeadline(long) // it may have ended by itself
	}
	return true
}

// Read also reads what arrived just before a connection was to end.
func (c *clientConn) Read(p []byte) (n int, err error) {
	n, err = c.Conn.Read(p)
	if n == 0 && c.of.leave.begun.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		if n = readLast(c.Conn, p); n > 0 {
			err = nil
		}
	}
	if n > 0 {
		c.ask()
	}
	return n, err
}

// ask notes that something has arrived: the rest of a request's head may follow, even if the connection was to end.
func (c *clientConn) ask() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handling > 0 || c.asking {
		return
	}
	c.asking = true
	if c.of.leave.begun.Load() {
		_ = c.SetReadDeadline(time.Now().Add(settleTime)) // the next Read says what is wrong
	}
}

// handle notes that a request is with a handler.
func (c *clientConn) handle(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.several = c.several || r.ProtoMajor > 1
	c.handling++
	c.asking = false
}

// handled notes that a handler is done.
func (c *clientConn) handled() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handling--
}

// connKey is the key of the connection of a request.
type connKey struct{}

func withConn(ctx context.Context, conn net.Conn) context.Context {
	if secret, ok := conn.(*tls.Conn); ok {
		conn = secret.NetConn()
	}
	return context.WithValue(ctx, connKey{}, conn)
}
