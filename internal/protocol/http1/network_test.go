package http1_test

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

// A half is one direction of a connection in memory. Its buffer is unlimited.
type half struct {
	mu       sync.Mutex
	changed  sync.Cond
	data     []byte
	most     int   // bytes that one Read returns; 0: all
	ended    error // returned by read after data
	gone     bool  // the reader has gone
	closed   bool  // by the reader
	deadline time.Time
	timer    *time.Timer
}

func newHalf() *half {
	h := new(half)
	h.changed.L = &h.mu
	return h
}

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.closed:
			return 0, &net.OpError{Op: "read", Net: "tcp", Err: net.ErrClosed}
		case !h.deadline.IsZero() && !time.Now().Before(h.deadline):
			return 0, &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
		case len(h.data) > 0 && len(p) > 0:
			if h.most > 0 {
				p = p[:min(len(p), h.most)]
			}
			n := copy(p, h.data)
			h.data = h.data[n:]
			return n, nil
		case len(p) == 0:
			return 0, nil
		case errors.Is(h.ended, io.EOF):
			return 0, io.EOF
		case h.ended != nil:
			return 0, &net.OpError{Op: "read", Net: "tcp", Err: h.ended}
		}
		h.changed.Wait()
	}
}

func (h *half) write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended != nil || h.gone {
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
	}
	h.data = append(h.data, p...)
	h.changed.Broadcast()
	return len(p), nil
}

func (h *half) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	h.changed.Broadcast()
}

func (h *half) end(why error) {
	h.change(func() {
		if h.ended == nil {
			h.ended = why
		}
	})
}

func (h *half) setDeadline(t time.Time) {
	h.change(func() {
		h.deadline = t
		if h.timer != nil {
			h.timer.Stop()
		}
		if !t.IsZero() {
			h.timer = time.AfterFunc(time.Until(t), func() { h.change(func() {}) })
		}
	})
}

// A memoryConn is a connection in memory. It can be half closed.
type memoryConn struct{ in, out *half }

func newMemoryConn() (client, server *memoryConn) {
	a, b := newHalf(), newHalf()
	return &memoryConn{a, b}, &memoryConn{b, a}
}

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

func (c *memoryConn) Read(p []byte) (int, error)        { return c.in.read(p) }
func (c *memoryConn) Write(p []byte) (int, error)       { return c.out.write(p) }
func (c *memoryConn) LocalAddr() net.Addr               { return address("127.0.0.1:80") }
func (c *memoryConn) RemoteAddr() net.Addr              { return address("127.0.0.1:1") }
func (c *memoryConn) SetReadDeadline(t time.Time) error { c.in.setDeadline(t); return nil }
func (c *memoryConn) SetWriteDeadline(time.Time) error  { return nil }

func (c *memoryConn) SetDeadline(t time.Time) error {
	c.in.setDeadline(t)
	return nil
}

func (c *memoryConn) CloseWrite() error {
	c.out.end(io.EOF)
	return nil
}

func (c *memoryConn) Close() error {
	c.out.end(io.EOF)
	c.in.change(func() { c.in.closed, c.in.gone, c.in.deadline = true, true, time.Time{} })
	return nil
}

// reset breaks the connection.
func (c *memoryConn) reset() {
	c.out.end(syscall.ECONNRESET)
	c.in.change(func() { c.in.gone = true })
}
