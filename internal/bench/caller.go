package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// echoLine is repeated as the text of a message: 50 bytes, with escapes and digits as tools write them.
const echoLine = `Field 17 north: 4.2 ha, \"wheat\", sown in April\n`

// echoText returns a text of size bytes, a multiple of those of echoLine, as it is written in JSON.
func echoText(size int) string { return strings.Repeat(echoLine, size/len(echoLine)) }

// firstID has as many digits as all later ids, so that a request can be changed in place.
const firstID = 1_000_000_000

// A connection sends requests to a server and returns the answers, one after the other.
type connection interface {
	// do sends a request as it is and reads its answer to the end.
	do(request []byte) (answer, error)
	// expect lets requests fail after d and some patience.
	expect(d time.Duration) error
	close()
}

// A caller calls echo, one call after the other, in its own session if the server has sessions.
type caller struct {
	conn    connection
	request []byte
	idAt    int // position of the id in request
	want    []byte
	wantAt  int // position of the id in want
	id      int64
}

// newCaller opens a session at path, over its own connection, and prepares calls with text.
func newCaller(ctx context.Context, address, path, text string, fields ...string) (*caller, error) {
	conn, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	session, err := conn.open(address, path, fields...)
	if err != nil {
		conn.close()
		return nil, err
	}
	c := prepare(conn, firstID, text, func(message string) []byte { return post(address, path, session, message, fields...) })
	if path == pathEvents {
		c.want = slices.Concat([]byte(eventOpening), c.want, []byte(eventClosing))
		c.wantAt += len(eventOpening)
	}
	return c, nil
}

// prepare returns a caller with text over conn, whose ids follow first. request makes a request from a message.
func prepare(conn connection, first int64, text string, request func(message string) []byte) *caller {
	id := strconv.FormatInt(first, 10)
	c := &caller{conn: conn, id: first}
	c.request = request(opening + id + `,"method":"tools/call","params":{"name":"echo","arguments":{"message":"` + text + `"}}}`)
	c.want = append(appendOpening(nil, []byte(id)), text+closing...)
	c.idAt, c.wantAt = bytes.Index(c.request, []byte(id)), bytes.Index(c.want, []byte(id))
	return c
}

// call makes one call and returns the answer, whatever it is.
func (c *caller) call() (answer, error) {
	c.id++
	strconv.AppendInt(c.request[:c.idAt], c.id, 10)
	return c.conn.do(c.request)
}

// echo makes one call, and checks that the answer is what was sent.
func (c *caller) echo() error {
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
type callers []*caller

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
		c.conn.close()
	}
}

// each runs f for every caller at the same time and waits for all. A call without an answer after d and some patience
// fails.
func (all callers) each(d time.Duration, f func(i int, c *caller) error) error {
	errs := make([]error, len(all))
	var running sync.WaitGroup
	for i, c := range all {
		if errs[i] = c.conn.expect(d); errs[i] != nil {
			continue
		}
		running.Go(func() { errs[i] = f(i, c) })
	}
	running.Wait()
	return errors.Join(errs...)
}

// A load is what callers achieved in some time.
type load struct {
	calls    int
	rate     float64       // calls a second
	p50, p99 time.Duration // of a call's duration
}

// echo lets all of them call for about d.
func (all callers) echo(ctx context.Context, d time.Duration) (load, error) {
	times := make([][]time.Duration, len(all))
	start := time.Now()
	err := all.each(d, func(i int, c *caller) error {
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
		return load{}, err
	}
	sorted := slices.Concat(times...)
	slices.Sort(sorted)
	return load{
		calls: len(sorted), rate: float64(len(sorted)) / elapsed.Seconds(),
		p50: sorted[len(sorted)/2], p99: sorted[len(sorted)*99/100],
	}, nil
}

// inTurn lets one request at a time through, of all connections that share the turn.
type inTurn struct {
	connection

	turn *sync.Mutex
}

func (c inTurn) do(request []byte) (answer, error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	return c.connection.do(request)
}

// takeTurns makes the callers call one at a time.
func (all callers) takeTurns() {
	turn := new(sync.Mutex)
	for _, c := range all {
		c.conn = inTurn{c.conn, turn}
	}
}
