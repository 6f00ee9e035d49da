package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/recoursehq/recourse/internal/config"
)

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
