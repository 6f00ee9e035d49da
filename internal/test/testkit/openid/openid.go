// Package openid makes real OpenID providers for tests: zitadel's example.
package openid

import (
	"log/slog"
	"net/http"
	"sync"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
)

// one is held while a provider is made or asked: making one writes variables of its package that all providers read,
// and the state of a device is read without its lock.
var one sync.Mutex

// Provider returns a provider whose issuer is at a URL, and whose people and clients are in accounts.
func Provider(issuer string, accounts exampleop.Storage) http.Handler {
	one.Lock()
	defer one.Unlock()
	provider := exampleop.SetupServer(issuer, accounts, slog.New(slog.DiscardHandler), false)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one.Lock()
		defer one.Unlock()
		provider.ServeHTTP(w, r)
	})
}
