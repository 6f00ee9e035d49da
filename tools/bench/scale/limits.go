package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
	"github.com/recoursehq/recourse/internal/test/testkit/late"
)

// limits are calls that three gateways let through together, counted in Redis. It wants redis-server.
var limits = subject{name: "limits", of: "calls allowed in an hour", sizes: []int{1000, 4000}, most: 20_000, measure: measureLimits}

func measureLimits(ctx context.Context, n int) (figures []figure, err error) {
	for _, each := range []struct {
		name string
		do   func(ctx context.Context, r *limited) error
	}{
		{"one answer of Redis in 1,000 late", func(ctx context.Context, r *limited) error { return r.call(ctx, 10*n) }},
		{"Redis restarted empty", restartRedis},
		{"Redis stopped for 300 ms, five times", stallRedis},
	} {
		r, err := limit(ctx, n)
		if err == nil {
			err = errors.Join(each.do(ctx, r), r.stop())
		}
		if err != nil {
			return nil, err
		}
		passed := float64(r.passed.Load())
		if len(figures) == 0 {
			figures = append(figures, figure{
				"answers of Redis for each refusal", (float64(r.proxy.Answers()) - passed) / (float64(r.made.Load()) - passed),
			})
		}
		figures = append(figures, figure{"passed, " + each.name, passed})
	}
	return figures, nil
}

// restartRedis ends Redis when half of the calls have passed, and starts it again two seconds later.
func restartRedis(ctx context.Context, r *limited) error {
	if err := r.call(ctx, r.most/2); err != nil {
		return err
	}
	if err := r.redis.stop(); err != nil {
		return err
	}
	var again error
	var starting sync.WaitGroup
	starting.Go(func() {
		pause.For(ctx, 2*time.Second)
		again = r.redis.start(ctx)
	})
	err := r.callFor(ctx, 4*time.Second, r.most)
	starting.Wait()
	return errors.Join(err, again, r.call(ctx, 10*r.most))
}

// stallRedis lets Redis hang now and then.
func stallRedis(ctx context.Context, r *limited) error {
	var stalling sync.WaitGroup
	stalling.Go(func() {
		for range 5 {
			pause.For(ctx, 300*time.Millisecond)
			_ = r.redis.hang(ctx) // it only makes the figures worse
		}
	})
	err := r.callFor(ctx, 3*time.Second, r.most)
	stalling.Wait()
	return err
}

// limited is three gateways in front of a server, with a limit that they count together.
type limited struct {
	most         int
	redis        *redisServer
	proxy        *late.Proxy
	gateways     []*gatewayProcess
	callers      []*sessionClient
	made, passed atomic.Int64
	ends         []func() error
}

func limit(ctx context.Context, n int) (r *limited, err error) {
	r = &limited{most: n, redis: &redisServer{address: freeAddress(ctx)}}
	if err := r.redis.start(ctx); err != nil {
		return nil, err
	}
	if r.proxy, err = late.New(r.redis.address, 1000, time.Second); err != nil {
		return nil, err
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body) // what cannot be read is no call
		if bytes.Contains(body, []byte(`"tools/call"`)) {
			r.passed.Add(1)
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		serveStreams(w, q)
	}))
	r.ends = append(r.ends, func() error { server.Close(); return nil }, r.proxy.Close, r.redis.stop)
	for range 3 {
		g, err := startGateway(ctx, func(string) string {
			return fmt.Sprintf("redis: 'redis://%s'\non_redis_failure: open\nservers: {it: {url: '%s', limits: {hour: {calls: %d/1h}}}}\n",
				r.proxy.Address, server.URL, n)
		})
		if err != nil {
			return nil, err
		}
		r.gateways = append(r.gateways, g)
		r.ends = append(r.ends, g.stop)
	}
	return r, nil
}

// call makes that many calls.
func (r *limited) call(ctx context.Context, calls int) error {
	var made atomic.Int64
	return r.each(ctx, func() bool { return made.Add(1) <= int64(calls) })
}

// callFor makes at least that many calls, for that long.
func (r *limited) callFor(ctx context.Context, least time.Duration, calls int) error {
	var made atomic.Int64
	until := time.Now().Add(least)
	return r.each(ctx, func() bool { return made.Add(1) <= int64(calls) || time.Now().Before(until) })
}

// each lets eight callers at each gateway call one after the other while more.
func (r *limited) each(ctx context.Context, more func() bool) error {
	for n := len(r.callers); n < 8*len(r.gateways); n++ {
		c, err := openSession(ctx, r.gateways[n%len(r.gateways)].address)
		if err != nil {
			return err
		}
		r.callers = append(r.callers, c)
	}
	errs := make([]error, len(r.callers))
	var calling sync.WaitGroup
	for i, c := range r.callers {
		calling.Go(func() {
			for errs[i] == nil && more() {
				r.made.Add(1)
				errs[i] = c.do(http.MethodPost, echo)
			}
		})
	}
	calling.Wait()
	return errors.Join(errs...)
}

func (r *limited) stop() (err error) {
	for i := range r.ends {
		err = errors.Join(err, r.ends[len(r.ends)-1-i]())
	}
	return err
}

// A redisServer keeps nothing on disk.
type redisServer struct {
	address string
	command *exec.Cmd
}

func (s *redisServer) start(ctx context.Context) error {
	_, port, _ := net.SplitHostPort(s.address)
	s.command = exec.CommandContext(ctx, "redis-server", "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no")
	if err := s.command.Start(); err != nil {
		return err
	}
	for range 500 {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.address)
		if err == nil {
			return conn.Close()
		}
		pause.For(ctx, 20*time.Millisecond)
	}
	return errors.Join(errors.New("redis-server does not start"), s.stop())
}

// hang lets it answer nothing for 300 ms.
func (s *redisServer) hang(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return err
	}
	_, err = io.WriteString(conn, "CLIENT PAUSE 300 ALL\r\n")
	return errors.Join(err, conn.Close())
}

func (s *redisServer) stop() error {
	_ = s.command.Process.Kill() // it may have ended
	_ = s.command.Wait()
	return nil
}
