package serve

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/recoursehq/recourse/internal/cli/load"
	"github.com/recoursehq/recourse/internal/config"
)

// announce logs what is served, and what an operator should know about it.
func announce(ctx context.Context, r *load.Loaded, at net.Addr, log *slog.Logger) {
	cfg := r.Config
	for _, name := range slices.Sorted(maps.Keys(r.Left)) {
		log.LogAttrs(ctx, slog.LevelWarn, "not served: only the host can start it",
			slog.String("server", name), slog.String("reference", r.Left[name]))
	}
	logServing(ctx, log, cfg, scheme(cfg)+at.String())
	warnOfExpiry(ctx, cfg, log)
	warnOfReach(ctx, at, cfg, log)
	for _, warning := range warnings(r) {
		log.LogAttrs(ctx, slog.LevelWarn, warning)
	}
}

// warnOfReach logs that other machines can call servers that let everybody in.
func warnOfReach(ctx context.Context, addr net.Addr, cfg *config.Config, log *slog.Logger) {
	if open := cfg.Open(); !isLoopback(addr) && len(open) > 0 {
		log.LogAttrs(ctx, slog.LevelWarn, "other machines can reach this address, and nobody is asked who they are: "+
			"add `access`, listen on 127.0.0.1, or put a proxy that authenticates callers in front",
			slog.String("address", addr.String()), slog.Any("servers", open))
	}
}

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

// scheme returns the scheme of the URLs at which clients reach the gateway.
func scheme(cfg *config.Config) string {
	if cfg.TLS != nil {
		return "https://"
	}
	return "http://"
}

// warnOfExpiry logs that the certificate must be renewed soon.
func warnOfExpiry(ctx context.Context, cfg *config.Config, log *slog.Logger) {
	if cfg.TLS == nil {
		return
	}
	if at, soon := cfg.TLS.Expires(); soon {
		log.LogAttrs(ctx, slog.LevelWarn, expiry(at), slog.Time("expires", at), slog.String("cert", cfg.TLS.Cert))
	}
}

// expiry says when a certificate expires.
func expiry(at time.Time) string {
	days, when := int(time.Until(at).Hours()/24), "within a day"
	if days > 0 {
		when = fmt.Sprintf("in %d days", days)
	}
	return "the certificate expires " + when + ": renew it"
}

// isLoopback reports whether only this machine can reach an address.
func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
