package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/cli/term"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/ops/console"
	"github.com/recoursehq/recourse/internal/ops/journaltools"
	"github.com/recoursehq/recourse/internal/policy/auth"
)

// newConsole returns the gateway's pages, which count its calls from now on.
func newConsole(g *gateway.Gateway, kept *storage, asked *operators, log *slog.Logger) http.Handler {
	from := console.Sources{Gateway: g, Tally: console.NewTally()}
	g.Observe(from.Tally)
	if kept.store != nil {
		from.Journal, from.Once, from.Pins = kept.store.Journal(), kept.store.Once(), kept.store.Pins()
	}
	if kept.connections.Stores() {
		from.Accounts = kept.connections
	}
	c := console.New(from, log)
	if asked != nil {
		c.RequireLogin(asked.verify)
	}
	return c.Handler()
}

// newJournalTools returns the journal's tools for agents.
func newJournalTools(g *gateway.Gateway, kept *storage, asked *operators, log *slog.Logger) http.Handler {
	of := journaltools.Options{Journal: kept.store.Journal(), Contracts: g.Contracts}
	if asked != nil {
		of.Operators = asked
	}
	return journaltools.New(of, term.Version(), log)
}

// operators checks the API keys that open the console and the journal's tools, by the gateway's current
// configuration.
type operators struct {
	gateway *gateway.Gateway
	stored  auth.KeyStore

	mu   sync.Mutex
	of   *config.Config // that keys belongs to
	keys auth.BearerKeys
}

// newOperators returns the operators of a gateway; nil: no login is required.
func newOperators(g *gateway.Gateway, kept *storage) *operators {
	if g.Config().ConsoleAccess == "" {
		return nil
	}
	return &operators{gateway: g, stored: kept.keys()}
}

// Authenticate implements [authn.Authenticator].
func (o *operators) Authenticate(r *http.Request) (authn.Identity, error) {
	cfg := o.gateway.Config()
	who, err := o.keysOf(cfg).Authenticate(r)
	if err == nil && !slices.Contains(who.Roles, cfg.ConsoleRole) {
		return authn.Identity{}, recourse.New(recourse.KindPermissionDenied, "This API key is not an operator's.").
			WithOrigin(recourse.OriginCaller).WithHint("Use a key with the role " + cfg.ConsoleRole + ".")
	}
	return who, err
}

// verify implements [console.KeyCheck].
func (o *operators) verify(ctx context.Context, key string) (string, error) {
	r := (&http.Request{Header: http.Header{"Authorization": {"Bearer " + key}}}).WithContext(ctx)
	who, err := o.Authenticate(r)
	if errors.Is(err, recourse.ClassAuth) || errors.Is(err, recourse.ClassPermission) {
		return "", console.ErrNotOperator
	}
	return who.Name, err
}

// keysOf returns the keys of the entry that the console uses. An entry that no longer exists has none.
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
