package http1

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

// maxHead is the longest head of a simple request, in bytes.
const maxHead = 8 << 10

// connState is what a connection is doing, for code that wants to close it.
type connState int32

const (
	fresh  connState = iota // no request has arrived yet
	active                  // a request is being answered
	idle
)

// A serverConn is a client's connection. Its goroutine reads a request, answers it, and reads the next.
type serverConn struct {
	server   *Server
	nc       net.Conn
	others   *handover
	base     context.Context //nolint:containedctx // the parent of those of its requests
	remote   string
	most     int // bytes allowed in a head
	accepted time.Time
	state    atomic.Int32 // connState

	in       []byte // what has been read and not used is in[from:to]
	from, to int
	latest   latest        // of requests
	template http.Request  // that of latest, without what differs from request to request
	header   http.Header   // of the answer
	body     *bufio.Writer // of the answer, until its head is decided
	head     []byte        // the fields of the answer
	out      outgoing
	limited  bool // nc has a write deadline
	watch    watch
}

func newServerConn(base context.Context, s *Server, nc net.Conn, others *handover) *serverConn {
	c := &serverConn{server: s, nc: nc, others: others, base: base, accepted: time.Now()}
	c.in, c.header = make([]byte, readBuffer), make(http.Header)
	if remote := nc.RemoteAddr(); remote != nil {
		c.remote = remote.String()
	}
	c.most = maxHead
	if m := s.standard.MaxHeaderBytes; m > 0 {
		c.most = min(c.most, m)
	}
	c.body = bufio.NewWriterSize(nil, bodyBuffer)
	c.out.nc = nc
	c.watch.init(nc)
	return c
}

// errOther means that the connection belongs to the server behind.
var errOther = errors.New("http1: not a simple request")

// serve answers requests until the connection ends or is handed over.
func (c *serverConn) serve() {
	defer c.server.forget(c)
	now := c.accepted
	for first := true; ; first = false {
		head, until, err := c.readHead(now, first)
		if err == nil {
			err = c.answer(head)
		}
		switch {
		case err == nil:
		case errors.Is(err, errOther):
			c.handOver(until)
			return
		default:
			_ = c.nc.Close() // nobody is left to tell
			return
		}
		c.state.Store(int32(idle))
		if c.server.ending.Load() {
			_ = c.nc.Close() // nobody is left to tell
			return
		}
		now = time.Now()
	}
}

// handOver hands the connection to the server behind. until is the deadline of the head.
func (c *serverConn) handOver(until time.Time) {
	before := bytes.Clone(c.in[c.from:c.to])
	if c.server.ending.Load() || c.watch.setReadDeadline(never) != nil {
		_ = c.nc.Close() // it was idle, or is broken
		return
	}
	c.others.give(&handedConn{Conn: c.nc, before: before, until: until})
}

// headTimeout returns how long the head may take; 0 means no limit.
func (c *serverConn) headTimeout() time.Duration {
	if s := c.server.standard; s.ReadHeaderTimeout != 0 {
		return s.ReadHeaderTimeout
	}
	return c.server.standard.ReadTimeout
}

func (c *serverConn) idleTimeout() time.Duration {
	if s := c.server.standard; s.IdleTimeout != 0 {
		return s.IdleTimeout
	}
	return c.server.standard.ReadTimeout
}

func after(now time.Time, d time.Duration) time.Time {
	if d <= 0 {
		return never
	}
	return now.Add(d)
}

// beginning is how many bytes of a request must arrive before its timeout starts.
const beginning = 4

// readHead reads to the end of a head. It returns the head without the empty line, and its deadline.
// The error is errOther if the head cannot belong to a simple request.
func (c *serverConn) readHead(now time.Time, first bool) (head []byte, until time.Time, err error) {
	if first {
		until = after(now, c.headTimeout())
	} else {
		for quiet := after(now, c.idleTimeout()); c.to-c.from < beginning; {
			if err := c.fill(quiet); err != nil {
				return nil, never, err
			}
		}
		for i := 0; i < beginning && (c.in[c.from] == '\r' || c.in[c.from] == '\n'); i++ { // net/http skips these after a POST
			c.from++
		}
	}
	for scanned := 0; ; {
		window := c.in[c.from:c.to]
		if end := bytes.Index(window[max(0, scanned-3):], []byte("\r\n\r\n")); end >= 0 {
			end += max(0, scanned-3)
			c.from += end + len("\r\n\r\n")
			return window[:end+2], until, nil
		}
		// net/http answers as soon as it sees a line that it does not accept.
		if bytes.IndexByte(window[scanned:], '\n') >= 0 && !isSimpleSoFar(window) || len(window) >= c.most {
			return nil, until, errOther
		}
		scanned = len(window)
		if !first && until.IsZero() {
			until = after(time.Now(), c.headTimeout())
		}
		switch err := c.fill(until); {
		case err != nil && len(window) > 0:
			return nil, until, errOther // net/http may answer that, even after the deadline
		case err != nil:
			return nil, never, err
		}
	}
}

// fill reads more, until the deadline. The connection may still have an earlier deadline, from the last
// request: resetting it costs more than an extra read.
func (c *serverConn) fill(until time.Time) error {
	if c.to-c.from == 0 {
		c.from, c.to = 0, 0
	}
	switch {
	case c.to == len(c.in) && c.from > 0:
		c.to = copy(c.in, c.in[c.from:c.to])
		c.from = 0
	case c.to == len(c.in):
		larger := make([]byte, maxHead)
		c.to = copy(larger, c.in)
		c.in = larger
	}
	if b, ok := c.watch.take(); ok {
		c.in[c.to] = b
		c.to++
		return nil
	}
	for {
		if !until.IsZero() && (c.watch.armed.IsZero() || c.watch.armed.After(until)) {
			if err := c.watch.setReadDeadline(until); err != nil {
				return err
			}
		}
		n, err := c.nc.Read(c.in[c.to:])
		c.to += n
		if n > 0 {
			return nil
		}
		if err == nil {
			continue
		}
		late := !until.IsZero() && !time.Now().Before(until)
		if !errors.Is(err, os.ErrDeadlineExceeded) || late || c.watch.armed.Equal(until) {
			return err
		}
		if err := c.watch.setReadDeadline(until); err != nil {
			return err
		}
	}
}

// answer answers a request. The error says why the connection cannot continue.
func (c *serverConn) answer(head []byte) error {
	start := time.Now()
	header, length, ok := c.parse(head)
	if !ok {
		c.from -= len(head) + len("\r\n")
		return errOther
	}
	c.state.Store(int32(active))
	if c.server.ending.Load() {
		return http.ErrServerClosed
	}
	if d := c.server.standard.WriteTimeout; d > 0 {
		c.limited = true
		_ = c.nc.SetWriteDeadline(time.Now().Add(d)) // a write reports the error
	}
	ctx, cancel := c.newContext()
	defer cancel()
	clear(c.header)
	w := &response{conn: c, header: c.header, length: -1, request: c.template.WithContext(ctx)}
	w.request.Header, w.request.ContentLength, w.request.Body = header, length, http.NoBody
	body := &w.body
	body.conn, body.left = c, length
	if length > 0 {
		w.request.Body = body
	}
	c.body.Reset((*chunks)(w))
	c.out.broken = cancel
	c.watch.begin(cancel, after(start, c.server.standard.ReadTimeout))
	if length == 0 {
		c.watch.start()
	}
	if !c.handle(w) {
		return http.ErrAbortHandler
	}
	cancel()
	w.finish()
	c.watch.end()
	_ = body.Close()  // nothing else reads the rest of it
	c.body.Reset(nil) // an idle connection does not hold its last request
	if c.limited {
		c.limited = false
		_ = c.nc.SetWriteDeadline(never) // a write reports the error
	}
	if !w.mayReuse() {
		return http.ErrServerClosed
	}
	return nil
}

// handle runs the handler and reports whether it returned.
func (c *serverConn) handle(w *response) (ended bool) {
	defer func() {
		if ended {
			return
		}
		if reason := recover(); reason != nil && reason != http.ErrAbortHandler { //nolint:errorlint // net/http compares it
			stack := make([]byte, 64<<10)
			stack = stack[:runtime.Stack(stack, false)]
			c.server.logf("http: panic serving %v: %v\n%s", c.remote, reason, stack)
		}
		w.done.Store(true)
		c.watch.end()
		_ = c.out.flush() // what was written so far is sent
		_ = c.nc.Close()  // in case the goroutine ends
	}()
	handler := c.server.standard.Handler
	if handler == nil {
		handler = http.DefaultServeMux
	}
	handler.ServeHTTP(w, w.request)
	return true
}
