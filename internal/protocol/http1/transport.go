package http1

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"
)

// maxBody is the longest body of a simple message, in bytes.
const maxBody = 64 << 10

// A Transport sends simple requests on its caller's goroutine, and all others through the
// [http.Transport] behind it, whose settings apply to both. A request is simple if it is a POST over
// plain HTTP, without a proxy, with a body of at most 64 KiB, or a GET without a body. A
// Transport is safe for concurrent use.
//
// A request is sent at most once: a kept connection must be quiet before anything is written to it, and
// another connection is tried only if the first accepted not a single byte. Unlike in net/http, no
// header such as Idempotency-Key permits sending a request again.
//
// A kept connection that the server has closed is closed here when it is next considered, or after the
// idle timeout.
type Transport struct {
	standard *http.Transport

	mu      sync.Mutex
	idle    map[string][]*clientConn // by address, oldest first
	kept    int                      // connections in idle
	closing bool                     // returned connections are closed, too
	sweeper *time.Timer              // nil: no connection is kept
}

// NewTransport returns a Transport in front of standard.
func NewTransport(standard *http.Transport) *Transport {
	return &Transport{standard: standard, idle: map[string][]*clientConn{}}
}

// Post sends to with that context, header and body. For a simple request, to is not copied, and is the answer's Request. If dialing fails,
// the error is the dialer's; after that, it is the cause of a context that has ended, or an error of the connection.
func (t *Transport) Post(ctx context.Context, to *http.Request, header http.Header, body []byte) (*http.Response, error) {
	if to.Method != http.MethodPost || !isPlain(to) || !isShort(int64(len(body))) || !t.serves(ctx, to, header) {
		return t.ask(ctx, to, header, body)
	}
	c, err := t.take(ctx, addressOf(to))
	if err != nil {
		return nil, err
	}
	if c.out, err = appendHead(c.out[:0], to, header, int64(len(body)), t.standard.DisableKeepAlives); err != nil {
		t.put(c)
		return nil, err
	}
	c.out = append(c.out, body...)
	return t.send(ctx, c, to)
}

// ask sends a request through the transport behind.
func (t *Transport) ask(ctx context.Context, to *http.Request, header http.Header, body []byte) (*http.Response, error) {
	r := to.WithContext(ctx)
	r.Header = header
	if len(body) > 0 {
		r.ContentLength = int64(len(body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		r.Body, _ = r.GetBody() // there is no error
	}
	return t.standard.RoundTrip(r)
}

// Open is for a request, a POST with a body or a GET without, whose answer is a stream. A simple one gets a connection of its own, which
// holds little while the stream is open.
func (t *Transport) Open(ctx context.Context, to *http.Request, header http.Header, body []byte) (*http.Response, error) {
	simple := to.Method == http.MethodGet && len(body) == 0 || to.Method == http.MethodPost && isShort(int64(len(body)))
	if !simple || !isPlain(to) || to.Body != nil || !t.serves(ctx, to, header) {
		return t.ask(ctx, to, header, body)
	}
	c, err := t.dial(ctx, addressOf(to), streamBuffer)
	if err != nil {
		return nil, err
	}
	c.single = true
	if c.out, err = appendHead(nil, to, header, int64(len(body)), t.standard.DisableKeepAlives); err != nil {
		c.close()
		return nil, err
	}
	c.out = append(c.out, body...)
	return c.roundTrip(ctx, to)
}

// send sends the request in c.out, on another connection if c was gone before any of it was written.
func (t *Transport) send(ctx context.Context, c *clientConn, r *http.Request) (*http.Response, error) {
	for {
		resp, err := c.roundTrip(ctx, r)
		if !errors.Is(err, errUntouched) {
			return resp, err
		}
		next, err := t.take(ctx, addressOf(r))
		if err != nil {
			return nil, err
		}
		next.out = c.out
		c = next
	}
}

// CloseIdleConnections closes the idle connections of both transports.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	t.closing = true
	all := t.idle
	t.idle, t.kept = map[string][]*clientConn{}, 0
	t.stopSweeper()
	t.mu.Unlock()
	for _, conns := range all {
		for _, c := range conns {
			c.close()
		}
	}
	t.standard.CloseIdleConnections()
}

// serves reports whether the transport behind would send the request to its server without a proxy, and the header needs nothing that only
// net/http does.
func (t *Transport) serves(ctx context.Context, r *http.Request, header http.Header) bool {
	if !isOrdinary(t.standard) || !simpleFields(header) || httptrace.ContextClientTrace(ctx) != nil {
		return false
	}
	if t.standard.Proxy == nil {
		return true
	}
	proxy, err := t.standard.Proxy(r)
	return proxy == nil && err == nil
}

// isPlain reports whether the request, without header and body, goes over plain HTTP and asks for nothing special.
func isPlain(r *http.Request) bool {
	u := r.URL
	return u != nil && u.Scheme == "http" && u.Opaque == "" && u.User == nil &&
		!r.Close && r.TransferEncoding == nil && r.Trailer == nil &&
		r.Cancel == nil && //nolint:staticcheck // it is deprecated, and still there
		consistsOf(u.Host, inHost) && (r.Host == "" || consistsOf(r.Host, inHost))
}

// isShort reports whether a body of that length is simple.
func isShort(length int64) bool { return 0 < length && length <= maxBody }

// isOrdinary reports whether the settings need nothing that only net/http does.
func isOrdinary(s *http.Transport) bool {
	return s.DisableCompression && s.MaxConnsPerHost <= 0 && s.ResponseHeaderTimeout <= 0 && s.Protocols == nil &&
		s.Dial == nil //nolint:staticcheck // as above
}

// simpleFields reports whether all fields of the header are valid, and none of them needs what only
// net/http does.
func simpleFields(header http.Header) bool {
	for name, values := range header {
		if !consistsOf(name, inName) || isSpecial(name) {
			return false
		}
		for _, value := range values {
			if value != "" && !consistsOf(value, inValue) {
				return false
			}
		}
	}
	return header != nil
}

// isSpecial reports whether a field, in any spelling, concerns the message or the connection. net/http
// only knows one spelling of User-Agent.
func isSpecial(name string) bool {
	switch len(name) { // most names are none of these
	case len("Host"), len("Expect"), len("Trailer"), len("Connection"), len("Content-Length"), len("Transfer-Encoding"):
	default:
		return false
	}
	switch http.CanonicalHeaderKey(name) {
	case "Connection", "Content-Length", "Expect", "Host", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	case "User-Agent":
		return name != "User-Agent"
	default:
		return false
	}
}

// addressOf returns the address of the server of a request.
func addressOf(r *http.Request) string {
	if r.URL.Port() == "" {
		return net.JoinHostPort(r.URL.Hostname(), "80")
	}
	return r.URL.Host
}

// take returns a quiet connection: a kept one or a new one.
func (t *Transport) take(ctx context.Context, address string) (*clientConn, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for {
		c := t.pop(address)
		if c == nil {
			return t.dial(ctx, address, readBuffer)
		}
		if c.rest.isQuiet() {
			return c, nil
		}
		c.close()
	}
}

// dial returns a new connection with a read buffer of that size.
func (t *Transport) dial(ctx context.Context, address string, buffer int) (*clientConn, error) {
	dial := t.standard.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	nc, err := dial(ctx, "tcp", address)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	return newClientConn(t, address, nc, buffer), nil
}

// pop returns the connection that was kept most recently, or nil.
func (t *Transport) pop(address string) *clientConn {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closing = false
	conns := t.idle[address]
	last := len(conns) - 1
	if last < 0 {
		return nil
	}
	c := conns[last]
	conns[last] = nil
	t.idle[address] = conns[:last]
	t.kept--
	c.reused = true
	return c
}

// put keeps a connection whose answer has been read to its end, or closes it.
func (t *Transport) put(c *clientConn) {
	s := t.standard
	perHost := s.MaxIdleConnsPerHost
	if perHost == 0 {
		perHost = http.DefaultMaxIdleConnsPerHost
	}
	t.mu.Lock()
	conns := t.idle[c.address]
	if t.closing || s.DisableKeepAlives || len(conns) >= perHost {
		t.mu.Unlock()
		c.close()
		return
	}
	c.since = time.Now()
	c.rest.begin()
	t.idle[c.address] = append(conns, c)
	t.kept++
	var over *clientConn
	if s.MaxIdleConns > 0 && t.kept > s.MaxIdleConns {
		over = t.popOldest()
	}
	if t.sweeper == nil && s.IdleConnTimeout > 0 {
		t.sweeper = time.AfterFunc(s.IdleConnTimeout, t.sweep)
	}
	t.mu.Unlock()
	if over != nil {
		over.close()
	}
}

// oldest returns the connection that has been idle the longest, or nil.
func (t *Transport) oldest() *clientConn {
	var oldest *clientConn
	for _, conns := range t.idle {
		if len(conns) > 0 && (oldest == nil || conns[0].since.Before(oldest.since)) {
			oldest = conns[0]
		}
	}
	return oldest
}

func (t *Transport) popOldest() *clientConn {
	c := t.oldest()
	t.idle[c.address] = t.idle[c.address][1:]
	t.kept--
	return c
}

// sweep closes the connections that have been idle too long.
func (t *Transport) sweep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweeper = nil
	now := time.Now()
	for {
		c := t.oldest()
		if c == nil {
			clear(t.idle)
			return
		}
		if left := t.standard.IdleConnTimeout - now.Sub(c.since); left > 0 {
			t.sweeper = time.AfterFunc(left, t.sweep)
			return
		}
		t.popOldest().close()
	}
}

func (t *Transport) stopSweeper() {
	if t.sweeper != nil {
		t.sweeper.Stop()
		t.sweeper = nil
	}
}
