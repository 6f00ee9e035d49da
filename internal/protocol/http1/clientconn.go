package http1

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// readBuffer is the size of a connection's read buffer, and streamBuffer that of one that carries a single answer.
	readBuffer   = 4 << 10
	streamBuffer = 512
	// inlineWrite is how much any system accepts at once on a quiet connection. Longer requests are
	// written while waiting for the answer, since it may come before they are sent completely.
	inlineWrite = 16 << 10
	// writeWait is how long to wait for the end of a request whose answer is already complete.
	writeWait = 50 * time.Millisecond
)

// A clientConn is a connection to a server. It carries one request at a time.
type clientConn struct {
	transport *Transport
	address   string
	nc        net.Conn
	in        *bufio.Reader // reads from the clientConn itself
	out       []byte        // the request
	rest      rest
	abort     func()        // interrupts reads and writes on the connection
	since     time.Time     // when it became idle
	reused    bool          // it has carried an answer before
	single    bool          // it carries no other one
	latest    latest        // of answers
	template  http.Response // that of latest, without what differs from answer to answer

	// Of the request under way:
	mayRead int64        // bytes left for the head, while it is read
	writing chan written // nil: the request was written, with the outcome in sent
	sent    written
	stop    func() bool // stops waiting for the end of the context; nil: it has none
}

// written is the outcome of writing a request.
type written struct {
	n   int
	err error
}

func newClientConn(t *Transport, address string, nc net.Conn, buffer int) *clientConn {
	c := &clientConn{transport: t, address: address, nc: nc, rest: newRest(nc)}
	c.in = bufio.NewReaderSize(c, buffer)
	c.abort = func() { _ = nc.SetDeadline(past) } // a connection without deadlines is closed at the end
	return c
}

// Read reads from the server, up to the limit of the head.
func (c *clientConn) Read(p []byte) (int, error) {
	if c.mayRead <= 0 {
		return 0, fmt.Errorf("http1: the head of the answer has more than %d bytes", c.maxHead())
	}
	p = p[:min(int64(len(p)), c.mayRead)]
	n, err := c.nc.Read(p)
	c.mayRead -= int64(n)
	return n, err
}

// maxHead limits the head of an answer, as in net/http.
func (c *clientConn) maxHead() int64 {
	if most := c.transport.standard.MaxResponseHeaderBytes; most != 0 {
		return most
	}
	return 10 << 20
}

func (c *clientConn) close() { _ = c.nc.Close() }

// errUntouched says that a connection was gone before any of the request was written.
var errUntouched = errors.New("http1: the server has closed the connection")

// roundTrip sends the request in c.out. The error is errUntouched if nothing was sent.
func (c *clientConn) roundTrip(ctx context.Context, r *http.Request) (*http.Response, error) {
	if ctx.Done() != nil {
		c.stop = context.AfterFunc(ctx, c.abort)
	}
	resp, err := c.exchange(r)
	if err == nil {
		if c.single {
			c.out, c.template = nil, http.Response{}
		}
		c.guard(ctx, resp)
		return resp, nil
	}
	sent := c.end(false)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case sent.err != nil && sent.n == 0 && c.reused:
		return nil, errUntouched
	case sent.err != nil:
		return nil, fmt.Errorf("http1: write the request: %w", sent.err)
	}
	return nil, fmt.Errorf("http1: read the answer: %w", err)
}

// exchange writes the request and reads the head of the answer.
func (c *clientConn) exchange(r *http.Request) (*http.Response, error) {
	if err := c.write(); err != nil {
		return nil, err
	}
	c.mayRead = c.maxHead()
	if _, err := c.in.Peek(1); err != nil {
		return nil, err
	}
	for {
		resp, err := c.readHead(r)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols {
			c.mayRead = math.MaxInt64
			return resp, nil
		}
	}
}

// readHead reads the head of an answer.
func (c *clientConn) readHead(r *http.Request) (*http.Response, error) {
	arrived, _ := c.in.Peek(c.in.Buffered()) // that much has arrived
	end := bytes.Index(arrived, []byte("\r\n\r\n"))
	if end < 0 {
		return http.ReadResponse(c.in, r)
	}
	head := arrived[:end+len("\r\n")]
	if length, ok := c.latest.again(head); ok {
		header := c.latest.with(length)
		if n, ok := parseLength(header); ok {
			_, _ = c.in.Discard(end + len("\r\n\r\n")) // that much has arrived
			resp := c.template
			resp.Header, resp.ContentLength, resp.Body, resp.Request = header, n, &counted{c.in, n}, r
			return &resp, nil
		}
	}
	text := string(head)
	resp, err := http.ReadResponse(c.in, r)
	if err == nil && isRegular(resp) && strings.Count(text, "\n") == strings.Count(text, "\r\n") { // else net/http sees other lines
		c.latest.set(text, maps.Clone(resp.Header))
		c.template = *resp
		c.template.Body, c.template.Request = nil, nil
	}
	return resp, err
}

// isRegular reports whether an answer is a 200 with a body of known length on a connection that stays open.
func isRegular(resp *http.Response) bool {
	return resp.StatusCode == http.StatusOK && resp.ContentLength > 0 && !resp.Close
}

// write writes the request, or starts to.
func (c *clientConn) write() error {
	if len(c.out) <= inlineWrite {
		n, err := c.nc.Write(c.out)
		c.sent = written{n, err}
		return err
	}
	writing := make(chan written, 1)
	c.writing = writing
	go func() {
		n, err := c.nc.Write(c.out)
		writing <- written{n, err}
	}()
	return nil
}

// guard makes sure that the connection is kept or closed when the answer ends.
func (c *clientConn) guard(ctx context.Context, resp *http.Response) {
	switch {
	case switches(resp): // unrequested
		resp.Body = &answerBody{conn: c, ctx: ctx, from: c.in, closes: true}
	case resp.ContentLength == 0:
		resp.Body = http.NoBody
		c.end(!resp.Close)
	default:
		resp.Body = &answerBody{conn: c, ctx: ctx, from: resp.Body, closes: resp.Close}
	}
}

// switches reports whether the connection switches to another protocol.
func switches(resp *http.Response) bool {
	return resp.StatusCode == http.StatusSwitchingProtocols && resp.Header.Get("Upgrade") != "" &&
		hasToken(strings.Join(resp.Header["Connection"], ","), "upgrade")
}

func hasToken(value, token string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(value, func(c rune) bool { return c == ' ' || c == ',' || c == '\t' }),
		func(word string) bool { return strings.EqualFold(word, token) })
}

// end ends the exchange, keeps the connection if possible, and closes it otherwise. It returns the
// outcome of writing the request.
func (c *clientConn) end(keep bool) written {
	if c.stop != nil && !c.stop() {
		keep = false // abort was called, or is about to be
	}
	c.stop = nil
	if keep && !c.single && c.in.Buffered() == 0 && c.wrote() {
		if cap(c.out) > inlineWrite {
			c.out = nil
		}
		sent := c.sent
		c.transport.put(c)
		return sent
	}
	c.close()
	if c.writing != nil {
		c.sent = <-c.writing
	}
	return c.sent
}

// wrote reports whether the request was written, or is written soon.
func (c *clientConn) wrote() bool {
	if c.writing == nil {
		return c.sent.err == nil
	}
	timer := time.NewTimer(writeWait)
	defer timer.Stop()
	select {
	case c.sent = <-c.writing:
		c.writing = nil
		return c.sent.err == nil
	case <-timer.C:
		return false
	}
}

// An answerBody is the body of an answer. The connection is kept when the body has been read to its
// end; an earlier Close or an error closes it.
type answerBody struct {
	conn   *clientConn
	ctx    context.Context
	from   io.Reader
	closes bool // the connection ends with the body
	err    error
	closed atomic.Bool
	ended  atomic.Bool // the connection no longer belongs to this body
}

// Read implements [io.Reader].
func (b *answerBody) Read(p []byte) (n int, err error) {
	switch {
	case b.closed.Load():
		return 0, http.ErrBodyReadAfterClose
	case b.err != nil:
		return 0, b.err
	}
	if n, err = b.from.Read(p); err == nil {
		return n, nil
	}
	if err != io.EOF && b.ctx.Err() != nil { //nolint:errorlint // io.EOF itself is the end
		err = context.Cause(b.ctx)
	}
	b.err = err
	b.end(err == io.EOF && !b.closes) //nolint:errorlint // as above
	return n, err
}

func (b *answerBody) end(keep bool) {
	if !b.ended.Swap(true) {
		b.conn.end(keep)
	}
}

// Close implements [io.Closer].
func (b *answerBody) Close() error {
	b.closed.Store(true)
	b.end(false)
	return nil
}

// counted reads a body of known length from a connection.
type counted struct {
	from *bufio.Reader
	left int64
}

// Read implements [io.Reader].
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	switch {
	case c.left == 0:
		err = io.EOF
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close implements [io.Closer].
func (*counted) Close() error { return nil }
