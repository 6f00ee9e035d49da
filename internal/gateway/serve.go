package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/http1"
)

const (
	headerTimeout  = 10 * time.Second
	keepAlive      = 2 * time.Minute
	maxHeaderBytes = 64 << 10
)

// A front answers requests: [http.Server], or the lean one before it.
type front interface {
	Serve(ln net.Listener) error
	Shutdown(ctx context.Context) error
	Close() error
}

// front returns the one that the configuration names.
func (g *Gateway) front(srv *http.Server) front {
	if g.table.Load().config.Front == config.FrontStandard {
		return srv
	}
	return http1.NewServer(srv)
}

// Serve answers requests on ln until ctx ends; then it takes no new ones, ends the
// streams, and gives the calls under way up to grace to end. It closes ln, but not
// the gateway. The error is nil after a ctx that has ended, unless calls had to be
// broken off.
//
// There is no limit on the time of an answer: each call has its own deadline. But a
// client has to read what it is sent: one that takes nothing of it for a minute is
// hung up on, and after 5 s when ctx has ended.
func (g *Gateway) Serve(ctx context.Context, ln net.Listener, grace time.Duration) error {
	srv := &http.Server{
		Handler:           g,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       keepAlive,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(g.log.Handler(), slog.LevelDebug), // what clients do wrong below HTTP
	}
	conns := newClientConns(ln, g.writing, g.ending)
	failed := make(chan error, 1)
	front := g.front(srv)
	g.work.Go(func() { failed <- front.Serve(conns) })
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	g.Drain()
	conns.end()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := front.Shutdown(ending)
	if errors.Is(err, context.DeadlineExceeded) {
		_ = front.Close() // what is left is broken off
		return fmt.Errorf("calls were still under way after %s and had to be broken off", grace)
	}
	if err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}
