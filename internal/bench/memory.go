package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"
)

// growth passes the large result at path through the gateway and returns by how many bytes its memory grows.
func growth(ctx context.Context, gateway *process, path string) (float64, error) {
	c, err := newCaller(ctx, gateway.address, path, echoText(100))
	if err != nil {
		return 0, err
	}
	defer c.conn.close()
	before, err := gateway.usage(askCollect)
	if err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- c.large() }()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	peak := before.Held
	for {
		select {
		case err := <-done:
			return float64(peak - before.Held), err
		case <-ticker.C:
			now, err := gateway.usage(askUsage)
			if err != nil {
				return 0, err
			}
			peak = max(peak, now.Held)
		}
	}
}

// large makes one call, and checks that the answer is the large result.
func (c *caller) large() error {
	a, err := c.call()
	if err != nil {
		return err
	}
	if a.status != http.StatusOK || len(a.body) < largeSize || !bytes.HasSuffix(bytes.TrimSpace(a.body), []byte(closing)) {
		return fmt.Errorf("the large result: HTTP %d, %d bytes", a.status, len(a.body))
	}
	return nil
}

// idleSessions is how many sessions are opened to measure one.
const idleSessions = 1000

// sessionSize opens sessions at path through the gateway, without streams and on shared connections, and returns how
// many bytes of the heap each holds.
func sessionSize(ctx context.Context, gateway *process, path string) (float64, error) {
	c, err := dial(ctx, gateway.address)
	if err != nil {
		return 0, err
	}
	defer c.close()
	if _, err := c.open(gateway.address, path); err != nil { // makes the connections, or starts the child
		return 0, err
	}
	before, err := gateway.usage(askCollect)
	if err != nil {
		return 0, err
	}
	for range idleSessions {
		if _, err := c.open(gateway.address, path); err != nil {
			return 0, err
		}
	}
	after, err := gateway.usage(askCollect)
	return (float64(after.Live) - float64(before.Live)) / idleSessions, err
}
