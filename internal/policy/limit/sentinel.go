package limit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// openFailover returns a counter in the Redis that Sentinels name as the primary.
func openFailover(address string, patience time.Duration) (*Redis, error) {
	o, err := redis.ParseFailoverURL(address)
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	if o.MasterName == "" {
		return nil, errors.New("redis: `master_name` is empty")
	}
	o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patience, patience, patience/2
	// Whoever connects may find that a Sentinel does not answer, and must have time left to ask the others: otherwise the client
	// would ask the same one for ever. No call waits longer than the patience.
	o.DialTimeout = 3 * patience
	o.ContextTimeoutEnabled, o.MaxRetries, o.DialerRetries = true, -1, 1
	o.DisableIdentity = true
	o.RouteByLatency, o.RouteRandomly, o.ReplicaOnly = false, false, false // replicas do not count
	client := redis.NewFailoverClient(o)
	client.AddHook(masterDial{o.MasterName})
	return &Redis{client, patience}, nil
}

// masterDial says why there is no connection to the primary.
type masterDial struct{ name string }

// DialHook makes an error that says that nothing was sent, whatever it was in talking to Sentinels.
func (m masterDial) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := next(ctx, network, address)
		switch {
		case err == nil:
			return conn, nil
		case errors.Is(err, redis.Nil): // it would pass for an answer of Redis: that there is no such key
			err = fmt.Errorf("no Sentinel knows a primary that is called %q: see `master_name` in `redis`", m.name)
		}
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
}

// ProcessHook and ProcessPipelineHook change nothing.
func (masterDial) ProcessHook(redis.ProcessHook) redis.ProcessHook { return nil }

func (masterDial) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return nil
}
