package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/recoursehq/recourse/internal/protocol/json"
)

// outageCalls is how many requests a server gets in an outage: initialize of each caller, which is still answered, and
// then calls of a tool that reads.
const (
	outageCalls   = 1000
	outageCallers = 32
)

// unavailable calls a server that answers every call with 503, and returns how many attempts reached it.
func unavailable(ctx context.Context, gateway, server *process) (float64, error) {
	before, err := server.usage(askUsage)
	if err != nil {
		return 0, err
	}
	all, err := newCallers(ctx, outageCallers, gateway.address, pathUnavailable, echoText(100))
	if err != nil {
		return 0, err
	}
	defer all.close()
	if err := all.fail(); err != nil {
		return 0, err
	}
	after, err := server.usage(askUsage)
	return float64(after.Calls - before.Calls), err
}

// refused calls a server that is stopped once the sessions are open, and returns how many attempts the gateway has
// logged, since nothing else can count them.
func refused(ctx context.Context, gateway, stopped *process) (float64, error) {
	all, err := newCallers(ctx, outageCallers, gateway.address, pathStopped, echoText(100))
	if err != nil {
		return 0, err
	}
	defer all.close()
	if err := stopped.stop(); err != nil {
		return 0, err
	}
	if err := all.fail(); err != nil {
		return 0, err
	}
	attempts, failures := outageCallers, 0
	lines := bufio.NewScanner(gateway.said())
	for lines.Scan() {
		var line struct {
			Server   string `json:"server"`
			Tool     string `json:"tool"`
			Attempts int    `json:"attempts"`
		}
		if err := json.UnmarshalLenient(lines.Bytes(), &line); err != nil {
			return 0, fmt.Errorf("the gateway's log: %w", err)
		}
		if line.Server == serverStopped && line.Tool != "" {
			attempts += line.Attempts
			failures++
		}
	}
	if want := outageCalls - outageCallers; failures != want {
		return 0, fmt.Errorf("%d calls failed, but %d failures are logged", want, failures)
	}
	return float64(attempts), lines.Err()
}

// fail makes the calls of an outage, and checks that each fails.
func (all callers) fail() error {
	var made atomic.Int64
	return all.each(0, func(_ int, c *caller) error {
		for made.Add(1) <= outageCalls-outageCallers {
			a, err := c.call()
			if err != nil {
				return err
			}
			if bytes.Contains(a.body, []byte(`"isError":false`)) {
				return fmt.Errorf("a server that is out has answered: %s", a.body)
			}
		}
		return nil
	})
}
