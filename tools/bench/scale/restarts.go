package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/recoursehq/recourse/internal/pause"
)

// restarts are rolling ones: two replicas behind HAProxy are restarted one after the other, while sixteen clients call.
var restarts = subject{name: "restarts", of: "rolling restarts", sizes: []int{5, 20}, most: 100, measure: measureRestarts}

// checks are how HAProxy can find out that a replica ends: within the second of its shutdown_delay, or not before it has ended.
var checks = []struct{ name, settings string }{
	{"HAProxy notices in time", "inter 100ms fall 2"},
	{"HAProxy notices too late", "inter 2s fall 3"},
}

//go:embed haproxy.cfg
var haproxyConfiguration string

func measureRestarts(ctx context.Context, n int) (figures []figure, err error) {
	for _, check := range checks {
		r := &rolling{address: freeAddress(ctx)}
		if err := errors.Join(r.restart(ctx, check.settings, n), r.stop()); err != nil {
			return nil, err
		}
		figures = append(figures, figure{"calls, " + check.name, float64(r.calls.Load())},
			figure{"without an answer", float64(r.broken.Load())})
	}
	return figures, nil
}

// rolling are replicas behind HAProxy.
type rolling struct {
	address  string // HAProxy's
	replicas []*gatewayProcess
	ends     []func()

	calls, broken atomic.Int64
}

// restart restarts all replicas n times while clients call.
func (r *rolling) restart(ctx context.Context, check string, n int) error {
	if err := r.start(ctx, check); err != nil {
		return err
	}
	calling, stop := context.WithCancel(ctx)
	var clients sync.WaitGroup
	for i := range 16 {
		clients.Go(func() { r.call(calling, time.Duration(i%4)*5*time.Millisecond) })
	}
	defer clients.Wait()
	defer stop()
	for i := range n * len(r.replicas) {
		g := r.replicas[i%len(r.replicas)]
		if err := errors.Join(g.in.Close(), g.command.Wait(), g.begin(ctx)); err != nil {
			return err
		}
		pause.For(ctx, 2*time.Second) // until HAProxy has noticed
	}
	return ctx.Err()
}

func (r *rolling) start(ctx context.Context, check string) error {
	server := httptest.NewServer(http.HandlerFunc(serveStreams))
	r.ends = append(r.ends, server.Close)
	var text strings.Builder
	fmt.Fprintf(&text, haproxyConfiguration, r.address, check)
	for i := range 2 {
		admin := freeAddress(ctx)
		g, err := startGateway(ctx, func(string) string {
			return "admin: " + admin + "\nshutdown_delay: 1s\nsession_keys: [a secret that all the replicas know]\n" +
				"servers: {it: {url: '" + server.URL + "'}}\n"
		})
		if err != nil {
			return err
		}
		r.replicas = append(r.replicas, g)
		_, port, _ := net.SplitHostPort(admin)
		fmt.Fprintf(&text, "  server r%d %s port %s\n", i, g.address, port)
	}
	file := filepath.Join(r.replicas[0].dir, "haproxy.cfg")
	haproxy := exec.CommandContext(ctx, "haproxy", "-q", "-f", file)
	if err := errors.Join(os.WriteFile(file, []byte(text.String()), 0o600), haproxy.Start()); err != nil {
		return err
	}
	r.ends = append(r.ends, func() { _ = haproxy.Process.Kill(); _ = haproxy.Wait() }) // it may have ended
	pause.For(ctx, time.Second)                                                        // until it listens
	return nil
}

func (r *rolling) stop() (err error) {
	for _, g := range r.replicas {
		err = errors.Join(err, g.stop())
	}
	for _, end := range r.ends {
		end()
	}
	return err
}

// call makes calls with a wait after each until ctx ends, and counts those that get no answer, or one of HAProxy's own.
func (r *rolling) call(ctx context.Context, wait time.Duration) {
	var c *sessionClient
	for ctx.Err() == nil {
		err := error(nil)
		if c == nil {
			c, err = openSession(context.WithoutCancel(ctx), r.address)
		}
		if err == nil {
			err = c.do(http.MethodPost, echo)
		}
		r.calls.Add(1)
		if err != nil && c != nil {
			_ = c.Close() // it is broken
			c = nil
		}
		if err != nil {
			r.broken.Add(1)
		}
		pause.For(ctx, wait)
	}
}
