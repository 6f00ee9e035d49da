package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// loadConfiguration is for a gateway whose limits are tested: hung never answers, guarded is the same server with a
// limit on concurrent calls, and broken answers 503 and has a breaker.
const loadConfiguration = `listen: 127.0.0.1:0
log: json
servers:
  json: {url: "http://%[1]s/json/mcp", tools: {echo: {read_only: true}}}
  large: {url: "http://%[1]s/large/mcp", tools: {echo: {read_only: true}}}
  hung: {url: "http://%[1]s/hung/mcp"}
  guarded: {url: "http://%[1]s/hung/mcp", path: /guarded/mcp, concurrency: {max: 50, queue: 100, wait: 1m}}
  unavailable: {url: "http://%[1]s/unavailable/mcp", tools: {echo: {read_only: true}}}
  broken: {url: "http://%[1]s/unavailable/mcp", path: /broken/mcp, tools: {echo: {read_only: true}}, breaker: {}}
`

// A trial does to a gateway what nobody should, and reports the result. It fails if the gateway fails.
type trial struct {
	name string
	run  func(ctx context.Context, t *trialRun) (outcome string, err error)
}

// A trialRun is what a trial works with.
type trialRun struct {
	gateway, server *process
}

// memoryMost is how much memory a gateway may hold in any trial: the default of memory_limit, and some for what is not
// Go's heap. It collects garbage late, and so comes near to that whenever much is thrown away.
const memoryMost = (384 + 64) * megabyte

// trials has a trial for each limit. Each starts its own gateway.
var trials = []trial{
	{"1000 calls that hang", hungCalls},
	{"the same, concurrency 50 and queue 100", guardedCalls},
	{"a flood of garbage on 256 connections", garbageFlood},
	{"1000 requests that never end", halfRequests},
	{"50 slow readers of 50 MB", slowReaders},
	{"10000 idle sessions", idleCrowd},
	{"1000 callers at once", manyCallers},
	{"a total outage, 1000 calls", totalOutage},
	{"the same, with a breaker", brokenOutage},
}

// tryLimits runs the trials that are asked for and prints the results. The error names those that failed.
func tryLimits(ctx context.Context, o *options, dir string, out io.Writer) error {
	const row = "%-40s %9s %9s %9s  %s\n"
	fmt.Fprintf(out, row, "trial", "before", "peak", "live after", "result")
	var failed []error
	for _, t := range trials {
		if !o.wants(t.name) {
			continue
		}
		h, err := t.try(ctx, dir)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", t.name, err))
			h.outcome = "FAILED"
		}
		fmt.Fprintf(out, row, t.name, size(h.before), size(h.peak), size(h.after), h.outcome)
	}
	return errors.Join(failed...)
}

// harm is the result of a trial: the memory that the gateway held before, at most, and afterwards, in bytes, and what
// else is worth saying.
type harm struct {
	before, peak, after int64
	outcome             string
}

// try runs a trial with a fresh gateway.
func (t *trial) try(ctx context.Context, dir string) (h harm, err error) {
	server, err := start(ctx, dir, roleServer)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	file := filepath.Join(dir, "load.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, loadConfiguration, server.address), 0o600); err != nil {
		return h, err
	}
	gateway, err := start(ctx, dir, roleGateway, "", file)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, gateway.stop()) }()
	run := &trialRun{gateway: gateway, server: server}
	if _, err := run.others(ctx); err != nil { // it also fetches the list of tools, and makes connections
		return h, err
	}
	if err := gateway.forgetPeak(); err != nil {
		return h, err
	}
	before, err := gateway.resident()
	if err != nil {
		return h, err
	}
	if h.outcome, err = t.run(ctx, run); err != nil {
		return h, err
	}
	peak, err := gateway.resident()
	if err != nil {
		return h, err
	}
	h.before, h.peak = before.now, peak.peak
	if _, err := run.others(ctx); err != nil {
		return h, fmt.Errorf("afterwards: %w", err)
	}
	after, err := gateway.usage(askCollect)
	if err != nil {
		return h, err
	}
	h.after = int64(after.Live) //nolint:gosec // memory fits
	if h.peak > memoryMost {
		return h, fmt.Errorf("%s of memory, and %s are allowed", size(h.peak), size(memoryMost))
	}
	return h, nil
}

func size(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/megabyte) }

// others calls a server that has nothing to do with the trial, and returns how long the slowest call took.
func (t *trialRun) others(ctx context.Context) (slowest time.Duration, err error) {
	const calls = 50
	c, err := newCaller(ctx, t.gateway.address, pathJSON, echoText(1000))
	if err != nil {
		return 0, err
	}
	defer c.conn.close()
	for range calls {
		began := time.Now()
		if err := c.echo(); err != nil {
			return 0, err
		}
		slowest = max(slowest, time.Since(began))
	}
	return slowest, nil
}

// othersSay puts others into words.
func (t *trialRun) othersSay(ctx context.Context, what string) (string, error) {
	slowest, err := t.others(ctx)
	return fmt.Sprintf("%s; the slowest of 50 calls of another server took %s", what, slowest.Round(100*time.Microsecond)), err
}
