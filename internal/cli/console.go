package cli

import (
	"log/slog"
	"net/http"

	"github.com/recoursehq/recourse/internal/console"
	"github.com/recoursehq/recourse/internal/gateway"
)

// newConsole returns the pages about a gateway, whose calls they count from now on.
func newConsole(g *gateway.Gateway, kept *storage, log *slog.Logger) http.Handler {
	from := console.Sources{Gateway: g, Tally: console.NewTally()}
	g.Observe(from.Tally)
	if kept.store != nil {
		from.Journal = kept.store.Journal()
	}
	if kept.connections != nil {
		from.Accounts = kept.connections
	}
	return console.New(from, log).Handler()
}
