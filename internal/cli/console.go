package cli

import (
	"log/slog"
	"net/http"

	"github.com/recoursehq/recourse/internal/console"
)

// newConsole returns the pages about a gateway.
func newConsole(kept *storage, log *slog.Logger) http.Handler {
	var from console.Sources
	if kept.store != nil {
		from.Journal = kept.store.Journal()
	}
	return console.New(from, log).Handler()
}
