package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A response is what a server answered. Its body is valid until the next request.
type response struct {
	status  int
	session string
	body    []byte
}

// A rawClient speaks HTTP/1.1 over one connection, on the caller's goroutine. So it costs a fraction of net/http's client: the machine's
// time is for what is measured.
type rawClient struct {
	net.Conn

	in   *bufio.Reader
	body bytes.Buffer // of the last answer
}

func dial(ctx context.Context, address string) (*rawClient, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &rawClient{Conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}, nil
}

// patience is the least time that an answer is waited for. Nothing that is measured should take so long.
const patience = time.Minute

// do sends a request as it is and reads its answer to the end.
func (c *rawClient) do(request []byte) (response, error) {
	if _, err := c.Write(request); err != nil {
		return response{}, err
	}
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return response{}, err
	}
	defer r.Body.Close()
	c.body.Reset()
	_, err = c.body.ReadFrom(r.Body)
	return response{r.StatusCode, r.Header.Get(headerSession), c.body.Bytes()}, err
}

// post returns a request with a JSON-RPC message. The fields are added to its header.
func post(address, path, session, message string, fields ...string) []byte {
	if session != "" {
		fields = append(fields, headerSession+": "+session, "Mcp-Protocol-Version: "+protocolVersion)
	}
	more := strings.Join(append(fields, ""), "\r\n") // the last one needs a line end, too
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\nContent-Type: %s\r\nAccept: %[3]s, %s\r\n"+
		"%sContent-Length: %d\r\n\r\n%s", path, address, typeJSON, typeEvents, more, len(message), message)
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + protocolVersion +
		`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// open opens a session and returns its id.
func (c *rawClient) open(address, path string, fields ...string) (session string, err error) {
	_ = c.SetDeadline(time.Now().Add(patience)) // a connection that is closed needs none
	a, err := c.do(post(address, path, "", initialize, fields...))
	if err != nil || a.status != http.StatusOK || a.session == "" {
		return "", errors.Join(err, fmt.Errorf("initialize: HTTP %d, session %q: %s", a.status, a.session, a.body))
	}
	session = a.session
	a, err = c.do(post(address, path, session, initialized, fields...))
	if err != nil || a.status != http.StatusAccepted {
		return "", errors.Join(err, fmt.Errorf("notifications/initialized: HTTP %d: %s", a.status, a.body))
	}
	return session, nil
}

// echoLine is repeated as the text of a message: 50 bytes, with escapes and digits as tools write them.
const echoLine = `Field 17 north: 4.2 ha, \"wheat\", sown in April\n`

// echoText returns a text of size bytes, a multiple of those of echoLine, as it is written in JSON.
func echoText(size int) string { return strings.Repeat(echoLine, size/len(echoLine)) }

// firstID has as many digits as all later ids, so that a request can be changed in place.
const firstID = 1_000_000_000

// An echoCaller calls echo, one call after the other, in its own session if the server has sessions.
type echoCaller struct {
	do      func(request []byte) (response, error)
	tcp     *rawClient // nil: it calls a pipe
	request []byte
	idAt    int // position of the id in request
	want    []byte
	wantAt  int // position of the id in want
	id      int64
}

// newCaller opens a session at path, over its own connection, and prepares calls with text.
func newCaller(ctx context.Context, address, path, text string, fields ...string) (*echoCaller, error) {
	conn, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	session, err := conn.open(address, path, fields...)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c := prepare(conn.do, text, func(message string) []byte { return post(address, path, session, message, fields...) })
	c.tcp = conn
	if path == pathEvents {
		c.want = slices.Concat([]byte(eventOpening), c.want, []byte(eventClosing))
		c.wantAt += len(eventOpening)
	}
	return c, nil
}

// prepare returns a caller with text. request makes a request from a message.
func prepare(do func([]byte) (response, error), text string, request func(message string) []byte) *echoCaller {
	id := strconv.Itoa(firstID)
	c := &echoCaller{do: do, id: firstID}
	c.request = request(opening + id + `,"method":"tools/call","params":{"name":"echo","arguments":{"message":"` + text + `"}}}`)
	c.want = append(appendOpening(nil, []byte(id)), text+closing...)
	c.idAt, c.wantAt = bytes.Index(c.request, []byte(id)), bytes.Index(c.want, []byte(id))
	return c
}

// call makes one call and returns the answer, whatever it is.
func (c *echoCaller) call() (response, error) {
	c.id++
	strconv.AppendInt(c.request[:c.idAt], c.id, 10)
	return c.do(c.request)
}

// echo makes one call, and checks that the answer is what was sent.
func (c *echoCaller) echo() error {
	a, err := c.call()
	if err != nil {
		return err
	}
	strconv.AppendInt(c.want[:c.wantAt], c.id, 10)
	if a.status != http.StatusOK || !bytes.Equal(a.body, c.want) {
		return fmt.Errorf("HTTP %d with %.300q instead of %.300q", a.status, a.body, c.want)
	}
	return nil
}

// callers call at the same time.
type callers []*echoCaller

// newCallers opens n sessions.
func newCallers(ctx context.Context, n int, address, path, text string, fields ...string) (callers, error) {
	var all callers
	for range n {
		c, err := newCaller(ctx, address, path, text, fields...)
		if err != nil {
			all.close()
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (all callers) close() {
	for _, c := range all {
		if c.tcp != nil {
			_ = c.tcp.Close() // nothing more is read from it
		}
	}
}

// each runs f for every caller at the same time and waits for all. A call without an answer after d and some patience fails.
func (all callers) each(d time.Duration, f func(i int, c *echoCaller) error) error {
	errs := make([]error, len(all))
	var running sync.WaitGroup
	for i, c := range all {
		if c.tcp != nil {
			_ = c.tcp.SetDeadline(time.Now().Add(d + patience)) // a connection that is closed needs none
		}
		running.Go(func() { errs[i] = f(i, c) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// echo lets all of them call for about d, and returns how many calls they have made.
func (all callers) echo(ctx context.Context, d time.Duration) (s sample, calls int, err error) {
	times := make([][]time.Duration, len(all))
	start := time.Now()
	err = all.each(d, func(i int, c *echoCaller) error {
		for before := start; before.Sub(start) < d; {
			if err := c.echo(); err != nil {
				return err
			}
			now := time.Now()
			times[i] = append(times[i], now.Sub(before))
			before = now
		}
		return ctx.Err()
	})
	elapsed := time.Since(start)
	if err != nil {
		return s, 0, err
	}
	sorted := slices.Concat(times...)
	slices.Sort(sorted)
	calls = len(sorted)
	return sample{rate: float64(calls) / elapsed.Seconds(), p50: float64(sorted[calls/2]), p99: float64(sorted[calls*99/100])}, calls, nil
}
