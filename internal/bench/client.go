package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A client speaks HTTP/1.1 over one connection. It only understands what Go's servers answer, and so costs a fraction
// of net/http's client: the machine's time is for what is measured.
type client struct {
	conn net.Conn
	in   *bufio.Reader
	body []byte // of the last answer
}

var _ connection = (*client)(nil)

// An answer is what a server answered. Its body is valid until the next request.
type answer struct {
	status  int
	session string
	body    []byte
}

func dial(ctx context.Context, address string) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
	if err := c.expect(0); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// patience is the least time that an answer is waited for. Nothing that is measured should take so long.
const patience = time.Minute

func (c *client) expect(d time.Duration) error {
	return c.conn.SetDeadline(time.Now().Add(d + patience))
}

func (c *client) close() { _ = c.conn.Close() } // nothing more is read from it

func (c *client) do(request []byte) (answer, error) {
	if _, err := c.conn.Write(request); err != nil {
		return answer{}, err
	}
	return c.answer()
}

// answer reads an answer to its end.
func (c *client) answer() (answer, error) {
	var a answer
	line, err := c.line()
	if err != nil {
		return answer{}, err
	}
	status, _, _ := strings.Cut(strings.TrimPrefix(string(line), "HTTP/1.1 "), " ")
	if a.status, err = strconv.Atoi(status); err != nil {
		return answer{}, fmt.Errorf("status line %q", line)
	}
	length, chunked := 0, false
	for {
		if line, err = c.line(); err != nil {
			return answer{}, err
		}
		name, value, isField := bytes.Cut(line, []byte(": "))
		if !isField {
			break
		}
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")): // some proxies write names in lower case

			if length, err = strconv.Atoi(string(value)); err != nil {
				return answer{}, err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = true
		case bytes.EqualFold(name, []byte(headerSession)):
			a.session = string(value)
		}
	}
	c.body = c.body[:0]
	if chunked {
		err = c.readChunks()
	} else {
		err = c.read(length)
	}
	a.body = c.body
	return a, err
}

// line reads a line without its end.
func (c *client) line() ([]byte, error) {
	line, err := c.in.ReadSlice('\n')
	return bytes.TrimSuffix(line, []byte("\r\n")), err
}

// read appends n bytes to the body.
func (c *client) read(n int) error {
	have := len(c.body)
	if cap(c.body) < have+n {
		c.body = append(make([]byte, 0, 2*(have+n)), c.body...)
	}
	c.body = c.body[:have+n]
	_, err := io.ReadFull(c.in, c.body[have:])
	return err
}

func (c *client) readChunks() error {
	for {
		line, err := c.line()
		if err != nil {
			return err
		}
		size, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil {
			return err
		}
		if err := c.read(int(size)); err != nil {
			return err
		}
		switch line, err = c.line(); {
		case err != nil:
			return err
		case len(line) > 0:
			return errors.New("a chunk does not end where it said")
		case size == 0:
			return nil
		}
	}
}

// post returns a request with a JSON-RPC message. The fields are added to its header.
func post(address, path, session, message string, fields ...string) []byte {
	if session != "" {
		fields = append(fields, headerSession+": "+session, headerVersion+": "+protocolVersion)
	}
	more := strings.Join(append(fields, ""), "\r\n") // the last one needs a line end, too
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\nContent-Type: %s\r\nAccept: %s, %s\r\n"+
		"%sContent-Length: %d\r\n\r\n%s", path, address, typeJSON, typeJSON, typeEvents, more, len(message), message)
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + protocolVersion +
		`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// open opens a session and returns its id.
func (c *client) open(address, path string, fields ...string) (session string, err error) {
	a, err := c.do(post(address, path, "", initialize, fields...))
	switch {
	case err != nil:
		return "", err
	case a.status != http.StatusOK, a.session == "":
		return "", fmt.Errorf("initialize: HTTP %d, session %q: %s", a.status, a.session, a.body)
	}
	session = a.session
	if a, err = c.do(post(address, path, session, initialized, fields...)); err != nil {
		return "", err
	}
	if a.status != http.StatusAccepted {
		return "", fmt.Errorf("notifications/initialized: HTTP %d: %s", a.status, a.body)
	}
	return session, nil
}
