package gateway

import (
	"fmt"
	"net/http"
	"reflect"

	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/auth"
	"github.com/recoursehq/recourse/internal/config"
	door "github.com/recoursehq/recourse/internal/endpoint"
)

// An access is who may call an endpoint. It does not change.
type access struct {
	said accessSaid
	who  authn.Authenticator

	bearer  bool     // Authorization may hold what is asked
	headers []string // other headers that may
	issuers []string // of tokens, where clients sign in
	scopes  []string // that every token needs
}

// accessSaid is all of a configuration that an access depends on.
type accessSaid struct {
	entries []config.Access
	names   []string
	proxies []string
}

// accessOf returns the access of an entry; nil: everybody is let in. old is the one of that entry before, which is kept where
// nothing has changed, with the tokens that it has verified.
func (g *Gateway) accessOf(cfg *config.Config, names []string, old *access) (*access, error) {
	if len(names) == 0 {
		return nil, nil //nolint:nilnil // there is none, which is no error
	}
	a := &access{said: accessSaid{names: names, proxies: cfg.TrustedProxies}}
	var all auth.AnyOf
	for _, name := range names {
		if name == config.Loopback {
			all = append(all, &auth.Loopback{Access: name, Proxies: cfg.Proxies()})
			a.said.entries = append(a.said.entries, config.Access{})
			continue
		}
		entry, ok := cfg.Access.Get(name)
		if !ok {
			return nil, fmt.Errorf("there is no access entry %s", name)
		}
		a.said.entries = append(a.said.entries, entry)
		all = append(all, a.add(g, name, &entry))
	}
	if old != nil && reflect.DeepEqual(old.said, a.said) {
		return old, nil
	}
	if a.who = all; len(all) == 1 {
		a.who = all[0]
	}
	return a, nil
}

// add makes the authenticator of an entry.
func (a *access) add(g *Gateway, name string, entry *config.Access) authn.Authenticator {
	if j := entry.JWT; j != nil {
		a.bearer = true
		a.issuers = append(a.issuers, j.Issuer)
		a.scopes = append(a.scopes, j.Scopes...)
		set := g.issuers.Keys(j.Issuer, j.JWKS)
		set.Begin()
		return auth.NewJWT(tokenRule(name, j), set)
	}
	var store auth.KeyStore
	if entry.StoredKeys {
		store = g.reach.Keys
	}
	keys := auth.NewKeys(name, entry.Fixed(), store)
	if h := entry.Headers; h != nil {
		if a.headers = append(a.headers, h.Key); h.ID != "" {
			a.headers = append(a.headers, h.ID)
		}
		return &auth.Headers{Keys: keys, ID: h.ID, Key: h.Key}
	}
	a.bearer = true
	return auth.BearerKeys{Keys: keys}
}

// tokenRule returns whose tokens an entry accepts.
func tokenRule(name string, j *config.AccessJWT) auth.TokenRule {
	rule := auth.TokenRule{
		Access: name, Issuer: j.Issuer, Audiences: j.Audience, Leeway: j.Leeway, Scopes: j.Scopes,
		NameClaim: j.Name, OrgClaim: j.Org, RolesClaim: j.Roles,
	}
	for _, algorithm := range j.Algorithms {
		rule.Algorithms = append(rule.Algorithms, string(algorithm))
	}
	return rule
}

// newLogins returns where the callers of entries of access control sign in on pages.
func (g *Gateway) newLogins(cfg *config.Config) map[string]*auth.Login {
	logins := map[string]*auth.Login{}
	for _, entry := range cfg.Access {
		j := entry.Value.JWT
		if j == nil || j.Login == nil {
			continue
		}
		client := auth.LoginClient{ID: j.Login.ClientID, Secret: j.Login.ClientSecret, Scopes: j.Login.Scopes}
		logins[entry.Key] = auth.NewLogin(tokenRule(entry.Key, j), g.issuers.Keys(j.Issuer, j.JWKS), client)
	}
	return logins
}

// transport is how issuers are reached.
func (g *Gateway) transport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	if g.reach.Dial != nil {
		t.DialContext = g.reach.Dial
	}
	return t
}

// lockoutOf returns the lockout of a configuration; old is the one before, which is kept where nothing has changed.
func lockoutOf(rule config.Lockout, old *table) *door.Lockout {
	switch {
	case rule.Failures == 0:
		return nil
	case old != nil && old.config.LockoutRule() == rule:
		return old.lockout
	default:
		return door.NewLockout(rule.Failures, rule.Within)
	}
}
