package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
)

// A trial does to a fresh gateway what nobody should. It says what has come of that, and fails if the gateway fails those who behave.
type trial func(ctx context.Context, gateway *process) (outcome string, err error)

var trials = []struct {
	name string
	run  trial
}{
	{"1000 calls that hang", hungCalls},
	{"a flood of garbage on 256 connections", garbageFlood},
	{"a result of 50 MB", largeResult},
	{"10000 idle sessions", idleSessions(pathJSON)},
	{"10000 idle sessions on a shared child", idleSessions(pathChild)},
}

const (
	// memoryMost is how much memory a gateway may hold in any trial: the default of memory_limit, and some for what is not Go's heap. It
	// collects garbage late, and so comes near to that whenever much is thrown away.
	memoryMost = (384 + 64) * megabyte
	// growthMost is how much more it may hold for a large result, and sessionMost for an idle session.
	growthMost, sessionMost = 8 * megabyte, 2 * kilobyte
)

// tryLimits runs the trials that are asked for. The error names those that have failed.
func tryLimits(ctx context.Context, o *options, out io.Writer) (err error) {
	fmt.Fprintf(out, row, "trial", "before", "peak", "in use", "result")
	for _, t := range trials {
		if !o.wants(t.name) {
			continue
		}
		if failed := try(ctx, o, out, t.name, t.run); failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", t.name, failed))
		}
	}
	return err
}

// row is the memory that a gateway has held, before a trial and at most, according to the system, and what of it is in use afterwards.
const row = "%-40s %9s %9s %9s  %s\n"

// A size is a number of bytes.
type size uint64

func (s size) String() string { return fmt.Sprintf("%.1f MB", float64(s)/megabyte) }

// try runs a trial with a fresh gateway, and prints a row.
func try(ctx context.Context, o *options, out io.Writer, name string, run trial) (err error) {
	var all processes
	defer func() { err = errors.Join(err, all.stop()) }()
	server, err := all.start(ctx, o, direct, roleServer)
	if err != nil {
		return err
	}
	gateway, err := all.gateway(ctx, o, gated, o.self, server, feature{})
	if err != nil {
		return err
	}
	_, err = others(ctx, gateway) // it also fetches the list of tools, and makes connections
	const forget = "5"            // the peak: see proc(5)
	if err := errors.Join(err, os.WriteFile(gateway.proc("clear_refs"), []byte(forget), 0o600)); err != nil {
		return err
	}
	before := gateway.resident("VmRSS")
	outcome, err := run(ctx, gateway)
	peak := gateway.resident("VmHWM")
	_, failed := others(ctx, gateway)
	u, unknown := gateway.usage(collect)
	fmt.Fprintf(out, row, name, before, peak, u.live, outcome)
	if peak > memoryMost {
		err = errors.Join(err, fmt.Errorf("%s of memory, and %s are allowed", peak, size(memoryMost)))
	}
	return errors.Join(err, failed, unknown)
}

// resident returns the memory of a process as the system sees it: VmRSS, or VmHWM, its peak.
func (p *process) resident(name string) (held size) {
	text, _ := os.ReadFile(p.proc("status")) // Linux has it
	_, value, _ := strings.Cut(string(text), name+":")
	_, _ = fmt.Sscan(value, &held)
	return held * kilobyte
}

// others calls a server that has nothing to do with the trial, and returns how long the slowest call took.
func others(ctx context.Context, gateway *process) (slowest time.Duration, err error) {
	all, err := newCallers(ctx, 1, gateway.address, pathJSON, echoText(1000))
	if err != nil {
		return 0, err
	}
	defer all.close()
	for range 50 {
		began := time.Now()
		if err := all[0].echo(); err != nil {
			return 0, err
		}
		slowest = max(slowest, time.Since(began))
	}
	return slowest.Round(100 * time.Microsecond), nil
}

// hungCalls makes calls that are never answered.
func hungCalls(ctx context.Context, gateway *process) (string, error) {
	all, err := newCallers(ctx, 1000, gateway.address, pathHung, echoText(1000))
	if err != nil {
		return "", err
	}
	defer all.close()
	err = all.each(0, func(_ int, c *echoCaller) error {
		_, err := c.tcp.Write(c.request)
		return err
	})
	pause.For(ctx, time.Second) // all have reached the server
	slowest, failed := others(ctx, gateway)
	return fmt.Sprintf("the slowest of 50 calls of another server took %s", slowest), errors.Join(err, failed)
}

// rubbish returns ways not to speak HTTP or JSON-RPC: each is sent over a connection of its own.
func rubbish(address string) [][]byte {
	noise := make([]byte, 64*kilobyte)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise) // never fails
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nAccept: %[2]s, %s\r\n", pathJSON, typeJSON, typeEvents)
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`
	return [][]byte{
		noise,
		post(address, pathJSON, "", string(noise)),
		[]byte(head), // half a request
		[]byte(head + "X-Large: " + strings.Repeat("a", 8*megabyte) + "\r\n\r\n"),
		[]byte(head + strings.Repeat("X-Small: a\r\n", 100_000) + "\r\n"),
		post(address, pathJSON, "", call+strings.Repeat("[", megabyte)),
		post(address, pathJSON, "", call+`"`+strings.Repeat("x", 3*megabyte)+`"}`),
		[]byte(head + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\n \r\n", 200_000)),
		[]byte(head + "Content-Length: 4000000\r\n\r\n{"),
	}
}

// garbageFlood sends all of that for a while, from many connections.
func garbageFlood(ctx context.Context, gateway *process) (string, error) {
	const connections, lasts = 256, 5 * time.Second
	pieces := rubbish(gateway.address)
	var sent atomic.Int64
	var all sync.WaitGroup
	end := time.Now().Add(lasts)
	for i := range connections {
		all.Go(func() {
			for n := i; time.Now().Before(end) && ctx.Err() == nil; n++ {
				throw(ctx, gateway.address, pieces[n%len(pieces)])
				sent.Add(1)
			}
		})
	}
	pause.For(ctx, lasts/2)
	slowest, err := others(ctx, gateway)
	all.Wait()
	return fmt.Sprintf("%d pieces in %s; meanwhile the slowest of 50 calls took %s", sent.Load(), lasts, slowest), err
}

// throw sends something over its own connection, and waits a moment for an answer.
func throw(ctx context.Context, address string, what []byte) {
	c, err := dial(ctx, address)
	if err != nil {
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(200 * time.Millisecond))
	if _, err := c.Write(what); err == nil { // otherwise it was refused while it was being sent
		_, _ = io.Copy(io.Discard, c.Conn)
	}
}

// largeResult asks for one, and reads all of it.
func largeResult(ctx context.Context, gateway *process) (string, error) {
	all, err := newCallers(ctx, 1, gateway.address, pathLarge, echoText(100))
	if err != nil {
		return "", err
	}
	defer all.close()
	before := gateway.resident("VmRSS")
	a, err := all[0].call()
	if err != nil || a.status != http.StatusOK || len(a.body) < largeSize || !bytes.HasSuffix(a.body, []byte(closing)) {
		return "", fmt.Errorf("HTTP %d, %d bytes: %w", a.status, len(a.body), err)
	}
	grown := max(gateway.resident("VmHWM"), before) - before
	if grown > growthMost {
		return "", fmt.Errorf("%s more memory, and %s are allowed", grown, size(growthMost))
	}
	return grown.String() + " more memory", nil
}

// idleSessions opens sessions over one connection and leaves them.
func idleSessions(path string) trial {
	return func(ctx context.Context, gateway *process) (string, error) {
		c, err := dial(ctx, gateway.address)
		if err != nil {
			return "", err
		}
		defer c.Close()
		const sessions = 10_000
		var before usage
		for i := range sessions {
			if i == 1 { // the first one makes the connections, or starts the child
				if before, err = gateway.usage(collect); err != nil {
					return "", err
				}
			}
			if _, err := c.open(gateway.address, path); err != nil {
				return "", err
			}
		}
		after, err := gateway.usage(collect)
		each := (float64(after.live) - float64(before.live)) / (sessions - 1)
		if each > sessionMost {
			return "", fmt.Errorf("a session takes %.0f B, and %d are allowed", each, sessionMost)
		}
		return fmt.Sprintf("a session takes %.1f KB", each/kilobyte), err
	}
}
