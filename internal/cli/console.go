package cli

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/auth"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/console"
	"github.com/recoursehq/recourse/internal/gateway"
)

// newConsole returns the pages about a gateway, whose calls they count from now on.
func newConsole(g *gateway.Gateway, kept *storage, log *slog.Logger) http.Handler {
	from := console.Sources{
		Gateway: g, Tally: console.NewTally(), Endpoint: func(server string) string { return endpointURL(g.Config(), server) },
	}
	g.Observe(from.Tally)
	if kept.store != nil {
		from.Journal = kept.store.Journal()
	}
	if kept.connections != nil {
		from.Accounts = kept.connections
	}
	c := console.New(from, log)
	if g.Config().ConsoleAccess != "" {
		c.RequireLogin((&operators{gateway: g, stored: kept.keys()}).verify)
	}
	return c.Handler()
}

// endpointURL returns where clients reach a server; "": they do not.
func endpointURL(cfg *config.Config, server string) string {
	base := cfg.PublicURL
	if base == "" {
		base = scheme(cfg) + cfg.Listen
	}
	for _, s := range cfg.Servers {
		if s.Name == server && s.Path != config.PathNone {
			return strings.TrimSuffix(base, "/") + s.Path
		}
	}
	return ""
}

// operators know whose API keys open the console, by the configuration that the gateway goes by.
type operators struct {
	gateway *gateway.Gateway
	stored  auth.KeyStore

	mu   sync.Mutex
	of   *config.Config // that keys was made for
	keys auth.BearerKeys
}

// verify is a [console.Verify].
func (o *operators) verify(ctx context.Context, key string) (string, error) {
	cfg := o.gateway.Config()
	r := (&http.Request{Header: http.Header{"Authorization": {"Bearer " + key}}}).WithContext(ctx)
	who, err := o.keysOf(cfg).Authenticate(r)
	switch {
	case err == nil && slices.Contains(who.Roles, cfg.ConsoleRole):
		return who.Name, nil
	case err == nil, auth.RefusalOf(err).At != contract.AtSession:
		return "", console.ErrNotOperator
	default:
		return "", err
	}
}

// keysOf returns the keys of the entry that the console goes by. An entry that is not there any more has none.
func (o *operators) keysOf(cfg *config.Config) auth.BearerKeys {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of != cfg {
		entry, _ := cfg.Access.Get(cfg.ConsoleAccess)
		var stored auth.KeyStore
		if entry.StoredKeys {
			stored = o.stored
		}
		o.of, o.keys = cfg, auth.BearerKeys{Keys: auth.NewKeys(cfg.ConsoleAccess, entry.Fixed(), stored)}
	}
	return o.keys
}
