package testkit

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// A network within the process, in which a waiting read blocks durably in the sense of testing/synctest: time
// advances when nothing else can run. Its addresses are those of loopback ports that no operating system has.

// maxPort is the highest port of TCP.
const maxPort = 1<<16 - 1

// memory are the listeners in memory, by address.
var memory struct {
	ports     atomic.Int64
	mu        sync.Mutex
	listeners map[string]*memoryListener
}

// InMemory makes the server listen in memory: see [Dial].
func InMemory() Option { return func(s *Server) { s.addr = newMemoryAddr() } }

// ServeInMemory is [Serve] in memory: see [Dial].
func ServeInMemory(tb testing.TB, handler http.Handler) string {
	tb.Helper()
	return serve(tb, newMemoryAddr(), handler)
}

// ListenInMemory returns a listener in memory: see [Dial].
func ListenInMemory() (net.Listener, error) { return listenMemory(newMemoryAddr()) }

// IsInMemory reports whether a URL or an address is that of a listener in memory.
func IsInMemory(address string) bool {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		address = u.Host
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	n, err := strconv.Atoi(port)
	return err == nil && n > maxPort
}

// Dial connects to a listener in memory if the address belongs to one, and like [net.Dialer.DialContext] if
// not. The listener and the dialer must be in the same bubble of testing/synctest, or in none.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if !IsInMemory(address) {
		return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, address)
	}
	memory.mu.Lock()
	l := memory.listeners[address]
	memory.mu.Unlock()
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: memoryAddr(address), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	return l.dial(ctx)
}

type memoryAddr string

func (memoryAddr) Network() string  { return "tcp" }
func (a memoryAddr) String() string { return string(a) }

func newMemoryAddr() string {
	return net.JoinHostPort("127.0.0.1", strconv.FormatInt(maxPort+memory.ports.Add(1), 10))
}

// A memoryListener is a [net.Listener] for [Dial].
type memoryListener struct {
	addr     memoryAddr
	accepted chan *memoryConn
	closed   chan struct{}
	once     sync.Once
}

func listenMemory(addr string) (net.Listener, error) {
	l := &memoryListener{addr: memoryAddr(addr), accepted: make(chan *memoryConn), closed: make(chan struct{})}
	memory.mu.Lock()
	defer memory.mu.Unlock()
	if memory.listeners[addr] != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: l.addr, Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	}
	if memory.listeners == nil {
		memory.listeners = map[string]*memoryListener{}
	}
	memory.listeners[addr] = l
	return l, nil
}

func (l *memoryListener) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := newMemoryPair(newMemoryAddr(), string(l.addr))
	var err error
	select {
	case l.accepted <- theirs:
		return ours, nil
	case <-l.closed:
		err = os.NewSyscallError("connect", syscall.ECONNREFUSED)
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: l.addr, Err: err}
}

// Accept implements [net.Listener].
func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
	}
}

// Close implements [net.Listener].
func (l *memoryListener) Close() error {
	err := net.ErrClosed
	l.once.Do(func() {
		err = nil
		memory.mu.Lock()
		delete(memory.listeners, string(l.addr))
		memory.mu.Unlock()
		close(l.closed)
	})
	return err
}

// Addr implements [net.Listener].
func (l *memoryListener) Addr() net.Addr { return l.addr }

// A memoryConn is one side of a connection in memory. It behaves like a [net.TCPConn].
type memoryConn struct {
	in, out       *stretch
	local, remote memoryAddr
	reset         atomic.Bool // Close resets the connection
}

func newMemoryPair(client, server string) (clientSide, serverSide *memoryConn) {
	there, back := newStretch(), newStretch()
	a, b := memoryAddr(client), memoryAddr(server)
	return &memoryConn{in: back, out: there, local: a, remote: b}, &memoryConn{in: there, out: back, local: b, remote: a}
}

// Read implements [net.Conn].
func (c *memoryConn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.wrap("read", err)
}

// Write implements [net.Conn].
func (c *memoryConn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.wrap("write", err)
}

// wrap wraps the error as package net does.
func (c *memoryConn) wrap(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		err = os.NewSyscallError(op, errno)
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// Close implements [net.Conn].
func (c *memoryConn) Close() error {
	end := io.EOF
	if c.reset.Load() {
		end = syscall.ECONNRESET
	}
	_ = c.in.end(syscall.EPIPE, net.ErrClosed)
	return c.wrap("close", c.out.end(net.ErrClosed, end))
}

// CloseWrite ends what the other side can read, like [net.TCPConn.CloseWrite].
func (c *memoryConn) CloseWrite() error {
	return c.wrap("close", c.out.end(syscall.EPIPE, io.EOF))
}

// SetLinger makes Close reset the connection if sec is 0, like [net.TCPConn.SetLinger]. Data already written
// can still be read.
func (c *memoryConn) SetLinger(sec int) error {
	c.reset.Store(sec == 0)
	return nil
}

// LocalAddr implements [net.Conn].
func (c *memoryConn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements [net.Conn].
func (c *memoryConn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements [net.Conn].
func (c *memoryConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements [net.Conn].
func (c *memoryConn) SetReadDeadline(t time.Time) error {
	return c.wrap("set", c.in.setDeadline(&c.in.reader, t))
}

// SetWriteDeadline implements [net.Conn].
func (c *memoryConn) SetWriteDeadline(t time.Time) error {
	return c.wrap("set", c.out.setDeadline(&c.out.writer, t))
}

// A stretch is one direction of a connection.
type stretch struct {
	mu             sync.Mutex
	changed        *sync.Cond
	data           []byte // not yet read
	reader, writer side
}

// A side is the reader or the writer.
type side struct {
	end   error // what it gets instead of more data
	late  bool  // its deadline has passed
	timer *time.Timer
}

func newStretch() *stretch {
	s := &stretch{}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// room is how many bytes a stretch holds: about as many as the buffers of a socket.
const room = 256 << 10

func (s *stretch) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case errors.Is(s.reader.end, net.ErrClosed):
			return 0, s.reader.end
		case s.reader.late:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case len(s.data) > 0:
			n := copy(p, s.data)
			s.data = s.data[n:]
			s.changed.Broadcast()
			return n, nil
		case s.reader.end != nil:
			return 0, s.reader.end
		}
		s.changed.Wait()
	}
}

func (s *stretch) write(p []byte) (written int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.writer.end != nil:
			return written, s.writer.end
		case s.writer.late:
			return written, os.ErrDeadlineExceeded
		}
		n := min(len(p)-written, room-len(s.data))
		s.data = append(s.data, p[written:written+n]...)
		written += n
		if n > 0 {
			s.changed.Broadcast()
		}
		if written == len(p) {
			return written, nil
		}
		s.changed.Wait()
	}
}

// end sets what both sides get from now on, unless they already get something else. It returns the error of a
// writer that has already closed its side.
func (s *stretch) end(writer, reader error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changed.Broadcast()
	if errors.Is(reader, net.ErrClosed) { // it will not read the remaining data
		s.data, s.reader.end = nil, reader
	}
	if s.reader.end == nil {
		s.reader.end = reader
	}
	if errors.Is(s.writer.end, net.ErrClosed) {
		return s.writer.end
	}
	if s.writer.end == nil || errors.Is(writer, net.ErrClosed) {
		s.writer.end = writer
	}
	return nil
}

func (s *stretch) setDeadline(of *side, t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if errors.Is(of.end, net.ErrClosed) {
		return of.end
	}
	if of.timer != nil {
		of.timer.Stop()
	}
	of.timer, of.late = nil, !t.IsZero() && !time.Now().Before(t)
	if !t.IsZero() && !of.late {
		var timer *time.Timer
		timer = time.AfterFunc(time.Until(t), func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if of.timer == timer { // and no other deadline has replaced it
				of.late = true
				s.changed.Broadcast()
			}
		})
		of.timer = timer
	}
	s.changed.Broadcast()
	return nil
}
