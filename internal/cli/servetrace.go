package cli

import (
	"log/slog"
	"maps"
	"time"

	"github.com/recoursehq/recourse/internal/admin"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/trace"
)

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

// sameCollector reports whether traces go to the same place in the same way.
func sameCollector(a, b *config.Tracing) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Endpoint == b.Endpoint && maps.Equal(a.Headers, b.Headers)
}
