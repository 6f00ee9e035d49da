package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"

	"github.com/recoursehq/recourse/internal/config"
	door "github.com/recoursehq/recourse/internal/endpoint"
	"github.com/recoursehq/recourse/internal/limit"
	"github.com/recoursehq/recourse/internal/secret"
	"github.com/recoursehq/recourse/internal/upstream"
)

// limits are the limits of an endpoint. They do not change.
type limits struct {
	rates   []rate
	gates   []gate
	headers bool // successes report what remains
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

// newLimits returns an entry's limits, or nil.
func newLimits(entry *config.Server) *limits {
	if len(entry.Limits) == 0 {
		return nil
	}
	l := &limits{headers: entry.LimitHeaders}
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

// counting is what limits are counted with. It survives reloads, so that counts do not start over.
type counting struct {
	memory *limit.Memory
	gate   limit.Gate
	redis  map[string]*limit.Redis // by URL
}

// newCounter returns the counters for a configuration's limits: those of the previous table if nothing has
// changed.
func (g *Gateway) newCounter(cfg *config.Config, old *table) (limit.Counter, error) {
	switch {
	case cfg.Redis == "":
		return g.counting.memory, nil
	case old != nil && old.config.Redis == cfg.Redis && old.config.OnRedisFailure == cfg.OnRedisFailure:
		return old.counter, nil
	}
	inRedis := g.counting.redis[cfg.Redis]
	if inRedis == nil {
		var err error
		if inRedis, err = limit.OpenRedis(cfg.Redis, g.reach.Redis); err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
		g.counting.redis[cfg.Redis] = inRedis
	}
	memory := g.counting.memory
	if cfg.OnRedisFailure == config.RedisFailureClosed {
		memory = nil
	}
	return limit.NewShared(inRedis, memory, g.log), nil
}

// keepCounts drops what no limit of the table counts.
func (g *Gateway) keepCounts(t *table) {
	var windows []*limit.Window
	for _, on := range t.named {
		if on.limits == nil {
			continue
		}
		for i := range on.limits.rates {
			windows = append(windows, &on.limits.rates[i].window)
		}
	}
	g.counting.memory.Keep(windows)
}

// close ends the connections to Redis.
func (n *counting) close(log *slog.Logger) {
	for _, r := range n.redis {
		if err := r.Close(); err != nil {
			log.Debug("close the connection to Redis", slog.Any("cause", err))
		}
	}
}

// LimitStats is the state of the counters.
type LimitStats struct {
	Waiting       int   // calls that wait for others of the same caller to end
	RedisFailures int64 // how often Redis has failed
}

// Limits returns the state of the counters.
func (g *Gateway) Limits() LimitStats {
	stats := LimitStats{Waiting: g.counting.gate.Waiting()}
	if shared := g.table.Load().redis; shared != nil {
		stats.RedisFailures = shared.Failures()
	}
	return stats
}

// CheckRedis returns why limits that should be counted in Redis cannot be. It is [limit.ErrUncounted] if
// calls with limits are refused meanwhile.
func (g *Gateway) CheckRedis(ctx context.Context) error {
	if shared := g.table.Load().redis; shared != nil {
		return shared.Check(ctx)
	}
	return nil
}

// limitKey returns the key of the calls that a limit counts together with this one.
//
// A caller who was not verified is identified by the forwarded credentials, which the server checks, and
// otherwise by the address: anything that nobody checks could be changed with each call for free.
func (c *call) limitKey(l *config.Limit) limit.Key {
	var key limit.Key
	for _, by := range l.By {
		switch by {
		case config.LimitByTool:
			key.Tool = c.req.msg.Name
		case config.LimitByAddress:
			key.Address = c.address()
		case config.LimitByOrg:
			if key.Org = c.who.verified.Org; key.Org == "" {
				c.setCaller(&key)
			}
		case config.LimitByCaller:
			c.setCaller(&key)
		case config.LimitByServer:
		}
	}
	return key
}

// address returns the part of the client's address that limits count by.
func (c *call) address() netip.Addr { return door.Counted(c.table.proxies.Client(c.req.http)) }

func (c *call) setCaller(key *limit.Key) {
	if who := &c.who.verified; who.Known() {
		key.Access, key.Name = who.Access, who.Name
		return
	}
	var sent []string
	for _, name := range c.on.forward {
		if isCredential(name) {
			for _, value := range c.req.http.Header[name] {
				sent = append(sent, name, value)
			}
		}
	}
	if sent == nil {
		key.Address = c.address()
	} else {
		key.Digest = upstream.CallerOf(sent...)
	}
}

// isCredential reports whether a header identifies the client.
func isCredential(name string) bool { return name == "Cookie" || secret.Name(name) }

// partition says whose allowance a limit is, as far as that is known.
func (c *call) partition(l *config.Limit) string {
	key := c.limitKey(l)
	var parts []string
	for _, part := range []string{key.Org, key.Name, key.Tool} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}

// callsOf returns "1 call" or "2 calls".
func callsOf(n int64) string {
	if n == 1 {
		return "1 call"
	}
	return strconv.FormatInt(n, 10) + " calls"
}
