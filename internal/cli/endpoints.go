package cli

import (
	"context"
	"log/slog"

	"github.com/recoursehq/recourse/internal/config"
)

// logServing logs what is served at the base URL.
func logServing(ctx context.Context, log *slog.Logger, cfg *config.Config, base string) {
	for _, s := range cfg.Servers {
		log.LogAttrs(ctx, slog.LevelInfo, "serving",
			slog.String("server", s.Name), slog.String("title", s.Title), slog.String("url", reachedAt(s, base)),
			slog.String("contract", s.Contract), slog.String("mode", string(s.Mode)))
	}
	for _, e := range cfg.Endpoints {
		log.LogAttrs(ctx, slog.LevelInfo, "serving",
			slog.String("endpoint", e.Name), slog.String("title", e.Title), slog.String("url", base+e.Path),
			slog.String("contract", e.Contract), slog.Any("servers", serversOf(e)))
	}
}

// reachedAt returns where clients reach a server.
func reachedAt(s *config.Server, base string) string {
	if s.Path == config.PathNone {
		return "through endpoints only"
	}
	return base + s.Path
}

// serversOf returns the names of the servers that an endpoint offers.
func serversOf(e *config.Endpoint) []string {
	names := make([]string, len(e.Servers))
	for i := range e.Servers {
		names[i] = e.Servers[i].Name
	}
	return names
}
