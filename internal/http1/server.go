package http1

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A Server answers simple requests on the goroutines of their connections, with the handler and the
// timeouts of the [http.Server] behind it. A connection that brings anything else, even in its tenth
// request, is handed over to that server for the rest of its life, together with what has been read. A
// request is simple if it is an HTTP/1.1 POST with a Content-Length of at most 64 KiB, a head of at
// most 8 KiB, and nothing else that concerns the message or the connection.
//
// Handlers see these differences from net/http:
//
//   - there is no Hijacker;
//   - trailers of an answer are not sent;
//   - [http.MaxBytesReader] refuses what is beyond its limit, but does not close the
//     connection;
//   - a client that has gone away is noticed 10 ms after its whole request has arrived, at
//     the earliest;
//   - requests of a connection may share a Header and a URL, so a handler must not modify them, as [http.Handler] says;
//     the header of an answer must not be used after the handler has ended;
//   - unless BaseContext returns a context that can end, a request's context has a method End(cause error), by which its
//     handler ends it.
//
// If the http.Server has ConnState, ConnContext or TLS set, it gets every connection.
// SetKeepAlivesEnabled only affects connections that were handed over.
type Server struct {
	standard *http.Server
	ending   atomic.Bool

	mu        sync.Mutex
	listeners map[net.Listener]*handover
	conns     map[*serverConn]struct{}
	date      atomic.Pointer[date]
}

// NewServer returns a Server in front of standard.
func NewServer(standard *http.Server) *Server {
	return &Server{standard: standard, listeners: map[net.Listener]*handover{}, conns: map[*serverConn]struct{}{}}
}

// Serve answers the requests on the connections to ln, and closes ln when it returns. The error is
// never nil; after Shutdown or Close it is [http.ErrServerClosed].
func (s *Server) Serve(ln net.Listener) error {
	if s.standard.ConnState != nil || s.standard.ConnContext != nil || s.standard.TLSConfig != nil {
		return s.standard.Serve(ln)
	}
	ln = &closeOnce{Listener: ln}
	defer func() { _ = ln.Close() }() // end returns the error
	others := &handover{addr: ln.Addr(), conns: make(chan net.Conn), done: make(chan struct{})}
	if !s.track(ln, others) {
		return http.ErrServerClosed
	}
	defer s.untrack(ln)
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.standard.Serve(others) }) // it ends with others
	defer serving.Wait()
	defer others.Close()
	base := context.Background()
	if s.standard.BaseContext != nil {
		base = s.standard.BaseContext(ln)
	}
	base = context.WithValue(base, http.ServerContextKey, s.standard)
	for pause := time.Duration(0); ; {
		nc, err := ln.Accept()
		var temporary interface{ Temporary() bool }
		switch {
		case err == nil:
			pause = 0
			s.begin(base, nc, others)
		case s.ending.Load():
			return http.ErrServerClosed
		case errors.As(err, &temporary) && temporary.Temporary():
			pause = min(max(5*time.Millisecond, 2*pause), time.Second)
			s.logf("http: Accept error: %v; retrying in %v", err, pause)
			<-time.After(pause)
		default:
			return err
		}
	}
}

func (s *Server) begin(base context.Context, nc net.Conn, others *handover) {
	c := newServerConn(context.WithValue(base, http.LocalAddrContextKey, nc.LocalAddr()), s, nc, others)
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	go c.serve() //nolint:contextcheck // its requests have contexts of their own
}

func (s *Server) track(ln net.Listener, others *handover) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending.Load() {
		return false
	}
	s.listeners[ln] = others
	return true
}

func (s *Server) untrack(ln net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, ln)
}

// forget stops tracking a connection.
func (s *Server) forget(c *serverConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// end stops accepting new connections.
func (s *Server) end() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending.Store(true)
	for ln, others := range s.listeners {
		err = errors.Join(err, ln.Close())
		_ = others.Close() // never fails
	}
	return err
}

// Close closes the listeners and all connections.
func (s *Server) Close() error {
	err := s.end()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.nc.Close() // its goroutine notices
	}
	s.mu.Unlock()
	return errors.Join(err, s.standard.Close())
}

// Shutdown closes the listeners, and then each connection as it becomes idle. If ctx ends first, its
// error is part of the result.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.end()
	rest := make(chan error, 1)
	go func() { rest <- s.standard.Shutdown(ctx) }()
	const longest = 500 * time.Millisecond
	for pause := time.Millisecond; !s.closeIdle(); pause = min(2*pause, longest) {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(ctx.Err(), <-rest)
		case <-timer.C:
		}
	}
	return errors.Join(err, <-rest)
}

// newFor is how long Shutdown waits for a connection that has not sent anything yet.
const newFor = 5 * time.Second

// closeIdle closes the connections that are idle, and reports whether there are no others.
func (s *Server) closeIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	quiescent := true
	for c := range s.conns {
		state := connState(c.state.Load())
		if state == idle || state == fresh && time.Since(c.accepted) > newFor {
			_ = c.nc.Close() // its goroutine notices
			delete(s.conns, c)
			continue
		}
		quiescent = false
	}
	return quiescent
}

func (s *Server) logf(format string, args ...any) {
	log := s.standard.ErrorLog
	if log == nil {
		log = slog.NewLogLogger(slog.Default().Handler(), slog.LevelInfo) // like package log
	}
	log.Printf(format, args...)
}

// A date is a formatted time, with the second that it is for.
type date struct {
	second int64
	text   string
}

// now returns the current time in the format of the Date header.
func (s *Server) now() string {
	now := time.Now()
	if d := s.date.Load(); d != nil && d.second == now.Unix() {
		return d.text
	}
	d := &date{now.Unix(), now.UTC().Format(http.TimeFormat)}
	s.date.Store(d)
	return d.text
}

// closeOnce is a listener that can be closed more than once.
type closeOnce struct {
	net.Listener

	once sync.Once
	err  error
}

// Close implements [net.Listener].
func (l *closeOnce) Close() error {
	l.once.Do(func() { l.err = l.Listener.Close() })
	return l.err
}

// A handover is the listener of the server behind. It accepts the connections that are handed over.
type handover struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

var _ net.Listener = (*handover)(nil)

// Accept implements [net.Listener].
func (h *handover) Accept() (net.Conn, error) {
	select {
	case nc := <-h.conns:
		return nc, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (h *handover) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

// Addr implements [net.Listener].
func (h *handover) Addr() net.Addr { return h.addr }

// give hands a connection over, or closes it.
func (h *handover) give(nc net.Conn) {
	select {
	case h.conns <- nc:
	case <-h.done:
		_ = nc.Close() // nobody accepts it any more
	}
}

// A handedConn is a connection from which some bytes have already been read.
type handedConn struct {
	net.Conn

	before []byte    // those bytes
	until  time.Time // for the rest of the head; zero: no limit
	set    bool
}

// Read implements [net.Conn].
func (c *handedConn) Read(p []byte) (int, error) {
	if len(c.before) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.before)
	if c.before = c.before[n:]; len(c.before) == 0 {
		c.before = nil
	}
	return n, nil
}

// SetReadDeadline implements [net.Conn]. The first call sets the deadline of the head, which has
// already begun to arrive.
func (c *handedConn) SetReadDeadline(t time.Time) error {
	if !c.set {
		c.set = true
		if !c.until.IsZero() {
			t = c.until
		}
	}
	return c.Conn.SetReadDeadline(t)
}

// CloseWrite closes the sending side, if the connection supports it.
func (c *handedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
