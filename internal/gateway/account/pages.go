package account

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/call/door"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/policy/auth"
)

// Callers is how the pages identify the person who connects an account: by the credentials that let callers
// in to the endpoints.
type Callers struct {
	Config  *config.Config
	Lockout *door.Lockout          // nil: nobody is locked out
	Logins  map[string]*auth.Login // by entry of access control; nil: its callers enter what they call with
	// By returns the authenticators of the endpoints that an entry of access control lets callers in to.
	By func(access string) []authn.Authenticator
}

// NewPages returns the pages for connecting accounts, or nil if there is nothing to connect: token exchange keeps no accounts.
func NewPages(providers Providers, m *connection.Manager, of Callers, log *slog.Logger) (http.Handler, error) {
	pages := &connection.Pages{
		Manager: m, Providers: map[string]*connection.Provider{}, Log: log,
		URL:    func(r *http.Request) string { return door.Base(r, of.Config.PublicURL) },
		Asks:   of.asks,
		Verify: of.verifyKey,
	}
	for name, p := range providers {
		if p.Flow != connection.TokenExchange {
			pages.Providers[name] = &p.Provider
		}
	}
	switch {
	case len(providers) > 0 && m == nil, len(pages.Providers) > 0 && !m.Stores():
		return nil, errors.New("providers need a store that keeps connections")
	case len(pages.Providers) == 0:
		return nil, nil
	}
	return pages, nil
}

var errNotTheKey = errors.New("the endpoint knows no such key")

// asks returns how the callers of an entry of access control identify themselves on a page.
func (of Callers) asks(access string) connection.Asked {
	if login := of.Logins[access]; login != nil {
		return connection.Asked{Login: login}
	}
	if entry, ok := of.Config.Access.Get(access); ok && entry.Headers != nil {
		return connection.Asked{ID: entry.Headers.ID, Key: entry.Headers.Key}
	}
	return connection.Asked{Key: "API key of your agent"}
}

// verifyKey finds the owner of a key that was entered on a page, with or without an id. Guessing is limited
// as at the endpoint itself.
func (of Callers) verifyKey(r *http.Request, access, id, key string) (connection.Person, error) {
	address := door.Proxies(of.Config.Proxies()).Client(r)
	if of.Lockout.Wait(address, time.Now()) > 0 {
		return connection.Person{}, errNotTheKey
	}
	asked := r.Clone(r.Context())
	if entry, ok := of.Config.Access.Get(access); ok && entry.Headers != nil {
		asked.Header = http.Header{entry.Headers.Key: {key}}
		if entry.Headers.ID != "" {
			asked.Header[entry.Headers.ID] = []string{id}
		}
	} else {
		asked.Header = http.Header{"Authorization": {"Bearer " + key}}
	}
	for _, by := range of.By(access) {
		if who, err := by.Authenticate(asked); err == nil && who.Access == access && who.Method != auth.MethodLoopback {
			return connection.Person{Access: who.Access, Name: who.Name}, nil
		}
	}
	of.Lockout.Failed(address, time.Now())
	return connection.Person{}, errNotTheKey
}
