package demo

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/ops/console"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/store"
)

// started are what a demonstration has started. What was started last ends first.
type started struct{ ends []func() }

// later adds something to do at the end.
func (p *started) later(end func()) { p.ends = append(p.ends, end) }

// close ends all of them.
func (p *started) close() {
	for _, end := range slices.Backward(p.ends) {
		end()
	}
}

// serve serves a handler, on a free port if the usual address is taken, and returns its URL.
func (p *started) serve(ctx context.Context, usual string, handler http.Handler) (string, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", usual)
	if err != nil {
		ln, err = (&net.ListenConfig{}).Listen(ctx, "tcp", freeListen)
	}
	if err != nil {
		return "", err
	}
	const headerTimeout = 5 * time.Second
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = srv.Serve(ln) // it ends with Close
	}()
	p.later(func() { _ = srv.Close(); <-ended })
	return "http://" + ln.Addr().String(), nil
}

// folder returns an empty folder.
func (p *started) folder() (string, error) {
	dir, err := os.MkdirTemp("", "recourse-demo-")
	if err == nil {
		p.later(func() { _ = os.RemoveAll(dir) })
	}
	return dir, err
}

// store opens an empty store.
func (p *started) store(ctx context.Context) (*store.Store, error) {
	dir, err := p.folder()
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, "sqlite:"+filepath.Join(dir, "recourse.db"))
	if err == nil {
		p.later(func() { _ = s.Close() })
	}
	return s, err
}

// console shows a gateway in a browser, and returns the URL.
func (p *started) console(
	ctx context.Context, usual string, g *gateway.Gateway, s *store.Store, accounts *connection.Manager, log *slog.Logger,
) (string, error) {
	settings := &config.Journal{Failures: true, Successes: 1, Keep: time.Hour, MaxSize: 64 << 20, Arguments: config.ArgumentsMasked}
	kept := journal.New(s.Journal(), settings, log)
	p.later(func() { kept.Close(context.WithoutCancel(ctx)) })
	from := console.Sources{Journal: s.Journal(), Once: s.Once(), Gateway: g, Tally: console.NewTally()}
	if accounts != nil {
		from.Accounts = accounts
	}
	g.Observe(kept)
	g.Observe(from.Tally)
	return p.serve(ctx, usual, console.New(from, log).Handler())
}
