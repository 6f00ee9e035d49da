package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"

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

// keepLists gives each endpoint without a configured file for its lists one in the user's cache folder,
// if that exists. The file's name depends on the path of the configuration file.
func keepLists(cfg *config.Config, path string) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	sum := sha256.Sum256([]byte(path))
	for _, e := range cfg.Endpoints {
		if e.Lists == "" {
			e.Lists = filepath.Join(folder, "recourse", "lists-"+e.Name+"-"+hex.EncodeToString(sum[:6])+".json")
		}
	}
}
