package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/recovery"
)

// An agent is a script that works on tasks.
type agent struct {
	name, doc string
	start     start
}

// A start prepares an agent for one world, and returns what works on its tasks.
type start func(s *dealing, c *contract.Contract, random func() float64) func(t *task) claim

// again says whether a script repeats a failed call, and after which wait. attempt counts from 1; result is nil if
// there was none.
type again func(attempt int, result json.RawMessage) (wait time.Duration, repeat bool)

// retries is how often scripts repeat a call.
const retries = 3

// agents are the agents that are played. The goal is about the first.
var agents = []agent{
	{
		"obeys", "does what the contract says: package recovery, as it is", obeying,
	},
	{
		"blind", "repeats whatever fails at once, three times",
		scripted(func(int, json.RawMessage) (time.Duration, bool) { return 0, true }),
	},
	{
		"middleware",
		"repeats whatever fails three times, after 1, 2 and 4 s, as FastMCP's RetryMiddleware does when it is given every exception",
		scripted(func(attempt int, _ json.RawMessage) (time.Duration, bool) { return backoff(attempt), true }),
	},
	{
		"retryable", "does so only where the failure has a member `retryable` that is true",
		scripted(func(attempt int, result json.RawMessage) (time.Duration, bool) {
			return backoff(attempt), isRetryable(result)
		}),
	},
	{
		"gives up", "repeats nothing",
		scripted(func(int, json.RawMessage) (time.Duration, bool) { return 0, false }),
	},
}

// expecting is the first agent with a contract that says what a success looks like. It is played where failures look like
// successes.
var expecting = agent{
	"obeys, expects", "does the same with a contract that says what a success looks like, where failures look like successes",
	func(s *dealing, _ *contract.Contract, random func() float64) func(*task) claim {
		return obeying(s, expectant(), random)
	},
}

// expectant is the contract of the shop with what its successes look like: they are about the order that was asked for.
var expectant = sync.OnceValue(func() *contract.Contract {
	c, err := contract.Builtin().Load("shop.yaml", []byte(`form: 1
name: shop
extends: commerce
expects:
  `+toolRead+`:
  - {path: /items, not_empty_for: /externalIds}
  - {path: /items/*/externalId, equals: /externalIds/0}
  `+toolWrite+`:
  - {path: /id, equals: /order/externalId}
codes: []
`))
	if err != nil {
		panic(err)
	}
	return c
})

// agentsIn returns the agents that are played in a world.
func agentsIn(w *world) []agent {
	if slices.ContainsFunc(w.Faults, func(f trouble) bool { return f.silent() }) {
		return slices.Insert(slices.Clone(agents), 1, expecting)
	}
	return agents
}

func backoff(attempt int) time.Duration { return time.Second << (attempt - 1) }

// obeying recovers with package recovery.
func obeying(s *dealing, c *contract.Contract, random func() float64) func(t *task) claim {
	client := recovery.New(s, c, recovery.WithClock(s.clock), recovery.WithRandom(random), recovery.WithTimeout(patience),
		recovery.WithAttemptTimeout(clientTimeout), recovery.WithLogger(slog.New(slog.DiscardHandler)))
	return func(t *task) claim {
		result, err := client.CallTool(context.Background(), t.call())
		if e, ok := errors.AsType[*recourse.Error](err); ok {
			return claim{open: e.Effect == recourse.EffectUnknown}
		}
		if err != nil {
			return claim{}
		}
		return claimOf(t, result)
	}
}

// scripted returns the start of a script.
func scripted(repeats again) start {
	return func(s *dealing, _ *contract.Contract, _ func() float64) func(*task) claim {
		return func(t *task) claim {
			ctx := context.Background()
			for attempt := 1; ; attempt++ {
				result, err := s.CallTool(ctx, t.call())
				if err == nil && !isError(result) {
					return claimOf(t, result)
				}
				wait, ok := repeats(attempt, result)
				if !ok || attempt > retries || s.clock.Sleep(ctx, wait) != nil || !s.clock.now.Before(t.deadline) {
					return claim{}
				}
			}
		}
	}
}

func isError(result json.RawMessage) bool {
	var r struct {
		IsError bool `json:"isError"`
	}
	return json.Unmarshal(result, &r) == nil && r.IsError
}

func isRetryable(result json.RawMessage) bool {
	var r struct {
		Error struct {
			Retryable bool `json:"retryable"`
		} `json:"error"`
	}
	return json.Unmarshal(result, &r) == nil && r.Error.Retryable
}
