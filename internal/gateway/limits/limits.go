// Package limits defines how much an endpoint allows its callers: in a window of time, and at once. Package limit
// counts.
//
//	a call
//	  |  Allowance.Enter      waits for its turn, if there are limits on calls at once
//	  |  Allowance.Charge     counts it in each window, or refuses it and counts nothing
//	  v
//	the following stages
//	  |  Allowance.GiveBack   if the call should not have counted
//	  |  Allowance.Leave      makes room for another one
//	  v
//	TellRemaining, TellRefusal: what the client reads of this in headers
package limits

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/policy/limit"
)

// Limits are the limits of an endpoint. They are immutable.
type Limits struct {
	Headers bool // successful answers report what remains

	rates []rate
	gates []gate
}

// A rate limits the calls in a window of time.
type rate struct {
	*config.Limit

	window limit.Window
}

// A gate limits the calls that are in progress at once.
type gate struct {
	*config.Limit

	bound limit.Bound
}

// New returns an entry's limits, or nil.
func New(entry *config.Server) *Limits {
	if len(entry.Limits) == 0 {
		return nil
	}
	l := &Limits{Headers: entry.LimitHeaders}
	for _, each := range entry.Limits {
		id := "{" + entry.Name + "}:" + each.Name
		if each.AtOnce > 0 {
			l.gates = append(l.gates, gate{each, limit.Bound{ID: id, AtOnce: each.AtOnce, Queue: each.Queue, Wait: each.Wait}})
		} else {
			l.rates = append(l.rates, rate{each, limit.Window{ID: id, Calls: each.Calls.Calls, Length: each.Calls.Window}})
		}
	}
	return l
}

// Counting holds the counters of limits. It survives reloads, so that counts do not start over.
type Counting struct {
	gate   limit.Gate
	memory *limit.Memory
	redis  map[string]*limit.Redis // by URL
	within time.Duration
	log    *slog.Logger
}

// NewCounting returns counters in memory, and in Redis, which must answer within a time.
func NewCounting(within time.Duration, log *slog.Logger) *Counting {
	return &Counting{memory: limit.NewMemory(), redis: map[string]*limit.Redis{}, within: within, log: log}
}

// Counter returns the counters for a configuration's limits: those of the previous one if nothing has changed.
func (n *Counting) Counter(cfg, old *config.Config, counter limit.Counter) (limit.Counter, error) {
	switch {
	case cfg.Redis == "":
		return n.memory, nil
	case old != nil && old.Redis == cfg.Redis && old.OnRedisFailure == cfg.OnRedisFailure:
		return counter, nil
	}
	inRedis := n.redis[cfg.Redis]
	if inRedis == nil {
		var err error
		if inRedis, err = limit.OpenRedis(cfg.Redis, n.within); err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
		n.redis[cfg.Redis] = inRedis
	}
	return limit.NewShared(inRedis, n.memory, cfg.OnRedisFailure == config.RedisFailureClosed, n.log), nil
}

// Keep drops the counters that none of the limits uses. Some of all may be nil.
func (n *Counting) Keep(all []*Limits) {
	var windows []*limit.Window
	for _, l := range all {
		if l == nil {
			continue
		}
		for i := range l.rates {
			windows = append(windows, &l.rates[i].window)
		}
	}
	n.memory.Keep(windows)
}

// Waiting returns how many calls wait for other calls of the same caller to end.
func (n *Counting) Waiting() int { return n.gate.Waiting() }

// Close ends the connections to Redis.
func (n *Counting) Close() {
	for _, r := range n.redis {
		if err := r.Close(); err != nil {
			n.log.Debug("close the connection to Redis", slog.Any("cause", err))
		}
	}
}

// Wait reports whether calls may have to wait for others to end.
func (l *Limits) Wait() bool { return len(l.gates) > 0 }
