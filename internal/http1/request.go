package http1

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// parse makes c.template the request in a head, and returns its header and the length of its body, if it is simple.
func (c *serverConn) parse(head []byte) (header http.Header, length int64, ok bool) {
	if again, ok := c.latest.again(head); ok {
		if header = c.latest.header; !c.latest.isSame(again) {
			header = c.latest.with(again)
		}
		if length, ok = parseLength(header); ok && length <= maxBody {
			return header, length, true
		}
	}
	text := string(head)
	line, fields, _ := strings.Cut(text, "\r\n")
	uri, ok := requestLine(line)
	if !ok {
		return nil, 0, false
	}
	header, ok = parseFields(fields)
	if !ok || hasAny(header, "Transfer-Encoding", "Trailer", "Expect", "Upgrade", "Pragma") || !staysOpen(header) {
		return nil, 0, false
	}
	length, ok = parseLength(header)
	hosts := header["Host"]
	if !ok || length > maxBody || len(hosts) != 1 || !consistsOf(hosts[0], inHost) {
		return nil, 0, false
	}
	delete(header, "Host")
	u := c.template.URL
	if uri != c.template.RequestURI {
		var err error
		if u, err = url.ParseRequestURI(uri); err != nil {
			return nil, 0, false
		}
	}
	c.latest.set(text, header)
	c.template = http.Request{
		Method: http.MethodPost, URL: u, Proto: proto, ProtoMajor: 1, ProtoMinor: 1,
		Host: hosts[0], RemoteAddr: c.remote, RequestURI: uri,
	}
	return header, length, true
}

// requestLine returns the path and query of a POST.
func requestLine(line string) (uri string, ok bool) {
	uri, isPost := strings.CutPrefix(line, http.MethodPost+" ")
	uri, isOurs := strings.CutSuffix(uri, " "+proto)
	if !isPost || !isOurs || !strings.HasPrefix(uri, "/") {
		return "", false
	}
	for i := range len(uri) {
		if uri[i] <= ' ' || uri[i] >= 0x7f {
			return "", false
		}
	}
	return uri, true
}

// isSimpleSoFar reports whether the complete lines so far may be the beginning of a simple request.
func isSimpleSoFar(window []byte) bool {
	line, fields, ok := strings.Cut(string(window[:bytes.LastIndexByte(window, '\n')+1]), "\r\n")
	if !ok {
		return false
	}
	if _, ok = requestLine(line); ok {
		_, ok = parseFields(fields)
	}
	return ok
}

// A requestBody is the body of a request: first what was read with its head, then the rest.
type requestBody struct {
	conn *serverConn

	mu     sync.Mutex
	left   int64 // bytes that have not been read
	ended  bool
	closed bool
}

// Read implements [io.Reader].
func (b *requestBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	return b.read(p)
}

func (b *requestBody) read(p []byte) (n int, err error) {
	if b.ended {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), b.left)]
	if c := b.conn; c.to > c.from {
		n = copy(p, c.in[c.from:c.to])
		c.from += n
	} else if len(p) > 0 {
		n, err = c.watch.readMore(p)
	}
	b.left -= int64(n)
	switch {
	case b.left == 0:
		err = io.EOF
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	default:
		return n, err
	}
	b.ended = true
	b.conn.watch.start()
	return n, err
}

// Close implements [io.Closer]. It reads the rest of the body.
func (b *requestBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	err := b.drain()
	b.closed = true
	return err
}

func (b *requestBody) drain() error {
	if b.left == 0 || b.ended {
		return nil
	}
	piece := make([]byte, 1<<10)
	for b.left > 0 && !b.ended {
		if _, err := b.read(piece); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return nil
}

// skip reads the rest of the body before an answer is written, and reports whether the next request can
// be read after it.
func (b *requestBody) skip() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.ended {
		return b.ended
	}
	b.closed = b.drain() == nil
	return b.closed
}
