//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A fault is one way to break the cluster; do breaks it, waits, and mends it. It is another node's turn in each round.
type fault struct {
	name string
	do   func(ctx context.Context, c *cluster, round int) error
}

var faults = []fault{
	{"the link of a gateway is cut", func(ctx context.Context, c *cluster, round int) error {
		return cut(ctx, c.gateways[round%3], 3*time.Second)
	}},
	{"a gateway is killed", func(_ context.Context, c *cluster, round int) error {
		c.gateways[(round+1)%3].signal(syscall.SIGKILL, 500*time.Millisecond)
		return nil
	}},
	{"the Redis primary is killed", func(ctx context.Context, c *cluster, _ int) error {
		n, _ := c.primary(ctx)
		n.signal(syscall.SIGKILL, 5*time.Second)
		pause(ctx, 6*time.Second)
		return nil
	}},
	{"PostgreSQL is killed", func(_ context.Context, c *cluster, _ int) error {
		c.postgres.signal(syscall.SIGKILL, 2*time.Second)
		return nil
	}},
	{"the links of a gateway, Redis and PostgreSQL are slow", func(ctx context.Context, c *cluster, round int) error {
		n, _ := c.primary(ctx)
		slowed := []*node{c.gateways[round%3], n, c.postgres}
		for _, n := range slowed {
			if err := do(ctx, "tc qdisc add dev "+n.name+" root "+c.slow); err != nil {
				return err
			}
		}
		pause(ctx, 4*time.Second)
		for _, n := range slowed {
			if err := do(ctx, "tc qdisc del dev "+n.name+" root"); err != nil {
				return err
			}
		}
		return nil
	}},
	{"the gateways are restarted one after the other", func(ctx context.Context, c *cluster, _ int) error {
		for _, n := range c.gateways {
			n.again(ctx, syscall.SIGTERM)
			if err := c.ready(ctx); err != nil {
				return err
			}
			pause(ctx, time.Second) // until HAProxy has noticed
		}
		return nil
	}},
	{"the link of the Redis primary is cut", func(ctx context.Context, c *cluster, _ int) error {
		n, _ := c.primary(ctx)
		return cut(ctx, n, 6*time.Second)
	}},
	{"the disk of PostgreSQL is full", fill},
	{"Redis's clock jumps ahead", func(_ context.Context, c *cluster, _ int) error { return c.jump(30) }},
	{"Redis's clock jumps back", func(_ context.Context, c *cluster, _ int) error { return c.jump(0) }},
	{"the link of PostgreSQL is cut", func(ctx context.Context, c *cluster, _ int) error { return cut(ctx, c.postgres, 3*time.Second) }},
	{"a Sentinel, the Redis replica and HAProxy hang for a second", func(ctx context.Context, c *cluster, round int) error {
		_, replica := c.primary(ctx)
		for _, n := range []*node{c.sentinels[round%3], replica, c.haproxy} {
			n.signal(syscall.SIGSTOP, 0)
			defer n.signal(syscall.SIGCONT, 0)
		}
		pause(ctx, time.Second)
		return nil
	}},
	{"all gateways are killed", func(_ context.Context, c *cluster, _ int) error {
		for _, n := range c.gateways {
			n.signal(syscall.SIGKILL, 500*time.Millisecond)
		}
		return nil
	}},
}

// cut takes a link down for a while.
func cut(ctx context.Context, n *node, lasts time.Duration) error {
	if err := n.link(ctx, "down"); err != nil {
		return err
	}
	pause(ctx, lasts)
	return n.link(ctx, "up")
}

// fill takes all space of the disk for a while. PostgreSQL may end of it, and is started again.
func fill(ctx context.Context, c *cluster, _ int) error {
	name := filepath.Join(c.dir, "pg", "full")
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	size := int64(0)
	for piece := int64(64 << 20); piece >= 4096; piece /= 2 {
		for syscall.Fallocate(int(f.Fd()), 0, size, piece) == nil {
			size += piece
		}
	}
	pause(ctx, 4*time.Second)
	return os.Remove(name)
}

// jump sets by how many seconds Redis's clock is off, if it can be.
func (c *cluster) jump(seconds uint64) error {
	if c.clock == "" {
		return nil
	}
	f, err := os.OpenFile(c.clock, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(binary.NativeEndian.AppendUint64(nil, seconds))
	return errors.Join(err, f.Close())
}
