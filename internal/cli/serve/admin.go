package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/ops/admin"
	"github.com/recoursehq/recourse/internal/ops/trace"
	"github.com/recoursehq/recourse/internal/policy/limit"
)

// tell sends traces and serves the admin endpoints until stop is called.
func tell(
	ctx context.Context, cfg *config.Config, g *gateway.Gateway, kept *storage, log *slog.Logger,
) (stop func(), err error) {
	parts := admin.Sources{Gateway: g.Figures, Protections: g.Protections, Limits: g.Limits}
	stopTraces := serveTraces(cfg, g, log, &parts)
	kept.count(&parts)
	kept.doubt(&parts)
	stopAdmin, err := serveAdmin(ctx, cfg, g, kept, parts, log)
	if err != nil {
		stopTraces()
		return nil, err
	}
	return func() { stopTraces(); stopAdmin() }, nil
}

// serveAdmin serves the admin endpoints, if they are configured, until stop is called.
func serveAdmin(
	ctx context.Context, cfg *config.Config, g *gateway.Gateway, kept *storage, parts admin.Sources, log *slog.Logger,
) (stop func(), err error) {
	if cfg.Admin == "" {
		return func() {}, nil
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Admin)
	if err != nil {
		return nil, term.Hint(err, "choose another address with `admin` in the file; port 0 takes a free one")
	}
	a := admin.New(term.Version(), parts)
	g.Observe(a)
	if kept.store != nil {
		a.Watch("store", kept.check)
	}
	a.Watch("redis", func(ctx context.Context) error {
		err := g.CheckRedis(ctx)
		if errors.Is(err, limit.ErrUncounted) {
			return fmt.Errorf("%w: %w", admin.ErrNotReady, err)
		}
		return err
	})
	if cfg.Profiles {
		a.Profile()
	}
	what := "serving health and metrics"
	asked := newOperators(g, kept)
	if cfg.Console {
		a.Show(newConsole(g, kept, asked, log))
		what = "serving health, metrics and the console"
	}
	if cfg.JournalTools {
		a.Offer(newJournalTools(g, kept, asked, log))
	}
	context.AfterFunc(ctx, a.Drain)
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // it reports the drain, too
	var serving sync.WaitGroup
	serving.Go(func() { a.Serve(life, ln, log) })
	log.LogAttrs(ctx, slog.LevelInfo, what, slog.String("address", "http://"+ln.Addr().String()))
	return func() { end(); serving.Wait() }, nil
}

// flushTime is how long the last traces may take when the program ends.
const flushTime = 5 * time.Second

// serveTraces sends traces, if they are configured, until stop is called. Their counts go to the
// metrics.
func serveTraces(cfg *config.Config, g *gateway.Gateway, log *slog.Logger, to *admin.Sources) (stop func()) {
	if cfg.Tracing == nil {
		return func() {}
	}
	e := trace.New(cfg.Tracing, term.Version(), log, nil)
	g.Observe(e)
	to.Spans = func() admin.Spans { return admin.Spans(e.Figures()) }
	return func() { e.Close(flushTime) }
}
