package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
)

// crowdSize is how many callers there are in trials with many.
const crowdSize = 1000

// hungCalls makes calls that are never answered, and leaves in the end.
func hungCalls(ctx context.Context, t *trialRun) (string, error) {
	all, err := newCallers(ctx, crowdSize, t.gateway.address, pathHung, echoText(1000))
	if err != nil {
		return "", err
	}
	defer all.close()
	if err := all.send(); err != nil {
		return "", err
	}
	if err := t.reached(ctx, crowdSize*2); err != nil { // and initialize of each
		return "", err
	}
	return t.othersSay(ctx, fmt.Sprintf("%d calls wait", crowdSize))
}

// guardedCalls does so with a server that has a limit on concurrent calls.
func guardedCalls(ctx context.Context, t *trialRun) (string, error) {
	all, err := newCallers(ctx, crowdSize, t.gateway.address, pathGuarded, echoText(1000))
	if err != nil {
		return "", err
	}
	defer all.close()
	if err := all.send(); err != nil {
		return "", err
	}
	const within, bound = 10 * time.Second, 50
	const excess = crowdSize - 3*bound // the others are under way, or wait
	var refused atomic.Int64
	var reading sync.WaitGroup
	all.setReadDeadline(time.Now().Add(within))
	enough := make(chan struct{})
	for _, c := range all {
		conn, _ := c.conn.(*client)
		reading.Go(func() {
			a, err := conn.answer()
			if err == nil && bytes.Contains(a.body, []byte("no more of them can wait")) && refused.Add(1) == excess {
				close(enough)
			}
		})
	}
	select {
	case <-enough:
	case <-time.After(within):
	}
	all.setReadDeadline(time.Now())
	reading.Wait()
	u, err := t.server.usage(askUsage)
	if err != nil {
		return "", err
	}
	if calls := u.Calls - crowdSize - 1 - 50; calls != bound || refused.Load() != excess {
		return "", fmt.Errorf("%d calls reached the server, and %d were refused", calls, refused.Load())
	}
	return t.othersSay(ctx, fmt.Sprintf("%d calls reach the server, %d are refused at once", bound, excess))
}

// setReadDeadline limits how long answers are waited for.
func (all callers) setReadDeadline(end time.Time) {
	for _, c := range all {
		if conn, ok := c.conn.(*client); ok {
			_ = conn.conn.SetReadDeadline(end) // a closed connection has none
		}
	}
}

// reached waits until the server has received that many calls in total.
func (t *trialRun) reached(ctx context.Context, calls int64) error {
	for end := time.Now().Add(patience); ; {
		u, err := t.server.usage(askUsage)
		switch {
		case err != nil:
			return err
		case u.Calls >= calls:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%d of %d calls have reached the server", u.Calls, calls)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// send sends a call of each caller. Nobody waits for the answers.
func (all callers) send() error {
	return all.each(0, func(_ int, c *caller) error {
		conn, _ := c.conn.(*client)
		_, err := conn.conn.Write(c.request)
		return err
	})
}

// rubbish are ways not to speak HTTP or JSON-RPC. Each returns what is sent over one connection.
var rubbish = []func(address string, random *rand.ChaCha8) []byte{
	func(_ string, random *rand.ChaCha8) []byte { // anything
		return noise64(random)
	},
	func(address string, random *rand.ChaCha8) []byte { // as the body of a good request
		return post(address, pathJSON, "", string(noise64(random)))
	},
	func(address string, _ *rand.ChaCha8) []byte { // half a request
		whole := post(address, pathJSON, "", initialize)
		return whole[:len(whole)/2]
	},
	func(address string, _ *rand.ChaCha8) []byte { // a header of 8 MB
		return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nX-Large: %s\r\n\r\n", pathJSON, address, strings.Repeat("a", 8*megabyte))
	},
	func(address string, _ *rand.ChaCha8) []byte { // 100,000 small ones
		return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", pathJSON, address, strings.Repeat("X-Small: a\r\n", 100_000))
	},
	func(address string, _ *rand.ChaCha8) []byte { // JSON a million levels deep
		return post(address, pathJSON, "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+strings.Repeat("[", megabyte))
	},
	func(address string, _ *rand.ChaCha8) []byte { // a meaningless body of 3 MB
		return post(address, pathJSON, "", `{"jsonrpc":"2.0","id":1,"method":"`+strings.Repeat("x", 3*megabyte)+`"}`)
	},
	func(address string, _ *rand.ChaCha8) []byte { // endless chunks
		return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nAccept: %[3]s, %s\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n%s", pathJSON, address, typeJSON, typeEvents, strings.Repeat("1\r\n \r\n", 200_000))
	},
	func(address string, _ *rand.ChaCha8) []byte { // a body that is announced but never sent
		return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nAccept: %[3]s, %s\r\nContent-Length: 4000000\r\n\r\n{",
			pathJSON, address, typeJSON, typeEvents)
	},
}

func noise64(random *rand.ChaCha8) []byte {
	text := make([]byte, 64*kilobyte)
	_, _ = random.Read(text) // never fails
	return text
}

// garbageFlood sends all of that for a while, from many connections.
func garbageFlood(ctx context.Context, t *trialRun) (string, error) {
	const connections, lasts = 256, 5 * time.Second
	var sent atomic.Int64
	var all sync.WaitGroup
	end := time.Now().Add(lasts)
	for i := range connections {
		all.Go(func() {
			var seed [32]byte
			binary.NativeEndian.PutUint64(seed[:], uint64(i)) //nolint:gosec // it is small
			random := rand.NewChaCha8(seed)
			for n := i; time.Now().Before(end) && ctx.Err() == nil; n++ {
				throw(ctx, t.gateway.address, rubbish[n%len(rubbish)](t.gateway.address, random))
				sent.Add(1)
			}
		})
	}
	pause.For(ctx, lasts/2)
	slowest, err := t.others(ctx)
	all.Wait()
	return fmt.Sprintf("%d pieces in %s; meanwhile the slowest of 50 calls took %s",
		sent.Load(), lasts, slowest.Round(100*time.Microsecond)), err
}

// throw sends something over its own connection, and waits a moment for an answer.
func throw(ctx context.Context, address string, what []byte) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer conn.Close()
	const moment = 200 * time.Millisecond
	_ = conn.SetDeadline(time.Now().Add(moment))
	if _, err := conn.Write(what); err != nil {
		return // it was refused while it was being sent
	}
	var answer [4 * kilobyte]byte
	for {
		if _, err := conn.Read(answer[:]); err != nil {
			return
		}
	}
}

// halfRequests begins requests and never completes them, until the gateway hangs up on all of them.
func halfRequests(ctx context.Context, t *trialRun) (string, error) {
	var conns []net.Conn
	defer func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	}()
	var d net.Dialer
	head := post(t.gateway.address, pathJSON, "", initialize)
	for range crowdSize {
		conn, err := d.DialContext(ctx, "tcp", t.gateway.address)
		if err != nil {
			return "", err
		}
		conns = append(conns, conn)
		if _, err := conn.Write(head[:60]); err != nil {
			return "", err
		}
	}
	said, err := t.othersSay(ctx, fmt.Sprintf("%d requests stay unfinished", crowdSize))
	if err != nil {
		return "", err
	}
	began := time.Now()
	for _, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		for {
			var answer [kilobyte]byte
			if _, err := conn.Read(answer[:]); err != nil {
				if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
					return "", errors.New("the gateway does not hang up")
				}
				break
			}
		}
	}
	return fmt.Sprintf("%s; all are hung up on within %s", said, time.Since(began).Round(time.Second)), nil
}

// slowReaders asks for large results and stops reading once they have begun.
func slowReaders(ctx context.Context, t *trialRun) (string, error) {
	const readers, lasts = 50, 5 * time.Second
	all, err := newCallers(ctx, readers, t.gateway.address, pathLarge, echoText(100))
	if err != nil {
		return "", err
	}
	defer all.close()
	var begun atomic.Int64
	err = all.each(lasts, func(_ int, c *caller) error {
		conn, _ := c.conn.(*client)
		if _, err := conn.conn.Write(c.request); err != nil {
			return err
		}
		var piece [16 * kilobyte]byte
		for end := time.Now().Add(lasts); time.Now().Before(end); pause.For(ctx, lasts/50) {
			n, err := conn.conn.Read(piece[:])
			if err != nil {
				return err
			}
			begun.Add(int64(n))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return t.othersSay(ctx, fmt.Sprintf("%s of %s are read in %s", size(begun.Load()), size(readers*largeSize), lasts))
}

// idleCrowd opens sessions and leaves them.
func idleCrowd(ctx context.Context, t *trialRun) (string, error) {
	const sessions = 10_000
	c, err := dial(ctx, t.gateway.address)
	if err != nil {
		return "", err
	}
	defer c.close()
	for range sessions {
		if err := c.expect(0); err != nil {
			return "", err
		}
		if _, err := c.open(t.gateway.address, pathJSON); err != nil {
			return "", err
		}
	}
	return t.othersSay(ctx, fmt.Sprintf("%d sessions are open", sessions))
}

// manyCallers lets many callers call at the same time.
func manyCallers(ctx context.Context, t *trialRun) (string, error) {
	all, err := newCallers(ctx, crowdSize, t.gateway.address, pathJSON, echoText(1000))
	if err != nil {
		return "", err
	}
	defer all.close()
	l, err := all.echo(ctx, 3*time.Second)
	return fmt.Sprintf("%d calls, all answered: %.0f/s, p50 %s, p99 %s", l.calls, l.rate,
		l.p50.Round(time.Millisecond), l.p99.Round(time.Millisecond)), err
}

// totalOutage calls a server that answers 503 to everything, and checks that the gateway limits what it sends.
func totalOutage(ctx context.Context, t *trialRun) (string, error) {
	attempts, err := unavailable(ctx, t.gateway, t.server)
	if most := 1.2*outageCalls + 10; err == nil && attempts > most {
		err = fmt.Errorf("%.0f attempts, and %.0f are allowed", attempts, most)
	}
	return fmt.Sprintf("%.0f attempts reach the server", attempts), err
}

// brokenOutage does so with a breaker.
func brokenOutage(ctx context.Context, t *trialRun) (string, error) {
	before, err := t.server.usage(askUsage)
	if err != nil {
		return "", err
	}
	all, err := newCallers(ctx, outageCallers, t.gateway.address, pathBroken, echoText(100))
	if err != nil {
		return "", err
	}
	defer all.close()
	if err := all.fail(); err != nil {
		return "", err
	}
	after, err := t.server.usage(askUsage)
	attempts := after.Calls - before.Calls - outageCallers // without initialize of each
	if most := int64(200); err == nil && attempts > most {
		err = fmt.Errorf("%d attempts, and %d are allowed", attempts, most)
	}
	return fmt.Sprintf("%d attempts reach the server", attempts), err
}
