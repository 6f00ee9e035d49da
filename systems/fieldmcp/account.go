package fieldmcp

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/systems/internal/loopback"
)

const (
	// tokenLife is the lifetime of an access token.
	tokenLife = 30 * time.Minute
	// refreshLife is how long a refresh token is valid without being used.
	refreshLife = 90 * 24 * time.Hour
)

// An account is a farmer's account at the provider, with what is granted to the system.
type account struct {
	refreshToken string // the latest one: earlier ones are used up
	spent        map[string]bool
	issued       time.Time
	scopes       []string
	revoked      bool // the farmer has revoked the access
}

// errNotConnected says that there is nothing to change.
var errNotConnected = errors.New("the organisation has not connected an account")

// connect grants access to an organisation's account, with these scopes, and returns the refresh token.
func (p *StandIn) connect(organisation string, scopes []string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := &account{scopes: slices.Clone(scopes), spent: map[string]bool{}}
	p.accounts[organisation] = a
	return p.renew(a)
}

// renew gives an account a new refresh token.
func (p *StandIn) renew(a *account) string {
	if a.refreshToken != "" {
		a.spent[a.refreshToken] = true
	}
	a.refreshToken, a.issued = "rt-"+rand.Text(), p.o.Now()
	return a.refreshToken
}

// change changes an organisation's account; this ends its access tokens.
func (p *StandIn) change(organisation string, how func(a *account)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.accounts[organisation]
	if a == nil {
		return errNotConnected
	}
	how(a)
	p.endTokens(a)
	return nil
}

// Lapse expires the access that an organisation has granted, as if it had not been used for 90 days.
func (p *StandIn) Lapse(organisation string) error {
	return p.change(organisation, func(a *account) { a.issued = p.o.Now().Add(-refreshLife) })
}

// Revoke revokes the access that an organisation has granted.
func (p *StandIn) Revoke(organisation string) error {
	return p.change(organisation, func(a *account) { a.revoked = true })
}

// endTokens ends the access tokens of an account.
func (p *StandIn) endTokens(a *account) {
	for token, g := range p.tokens {
		if g.account == a {
			delete(p.tokens, token)
		}
	}
}

// A grant is the authority of an access token.
type grant struct {
	account *account
	scopes  []string
	expires time.Time
}

// token grants an access token for a refresh token (RFC 6749, section 6), or for the code that a person has
// brought back (section 4.1.3).
func (p *StandIn) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var a *account
	if r.PostFormValue("grant_type") == "authorization_code" {
		if a = p.exchange(r); a == nil {
			loopback.Refuse(w, http.StatusBadRequest, "invalid_grant")
			return
		}
	} else {
		a = p.accountOf(r.PostFormValue("refresh_token"))
		switch {
		case a == nil || a.revoked:
			loopback.Refuse(w, http.StatusBadRequest, "invalid_grant")
			return
		case p.o.Now().Sub(a.issued) >= refreshLife:
			loopback.Refuse(w, http.StatusUnauthorized, "invalid_token")
			return
		}
	}
	scopes := a.scopes
	if asked := r.PostFormValue("scope"); asked != "" {
		scopes = slices.DeleteFunc(strings.Fields(asked), func(scope string) bool { return !slices.Contains(a.scopes, scope) })
	}
	for token, g := range p.tokens {
		if !p.o.Now().Before(g.expires) {
			delete(p.tokens, token)
		}
	}
	token := "at-" + rand.Text()
	p.tokens[token] = grant{account: a, scopes: slices.Clone(scopes), expires: p.o.Now().Add(tokenLife)}
	loopback.Answer(w, http.StatusOK, map[string]any{
		"access_token": token, "refresh_token": p.renew(a), "token_type": "Bearer", "expires_in": int(tokenLife / time.Second),
		"scope": strings.Join(scopes, " "),
	})
}

// accountOf returns the account of a refresh token. If the token was used before, either this client or the
// earlier one has stolen it: the access is revoked (RFC 9700, section 4.14.2).
func (p *StandIn) accountOf(refresh string) *account {
	for _, a := range p.accounts {
		if a.refreshToken == refresh {
			return a
		}
		if a.spent[refresh] {
			a.revoked = true
			p.endTokens(a)
		}
	}
	return nil
}

// grantOf returns the scopes of an access token.
func (p *StandIn) grantOf(ctx context.Context, token string) (scopes []string, active bool) {
	if p.o.Introspect != nil {
		return p.o.Introspect(ctx, token)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g, ok := p.tokens[token]
	return g.scopes, ok && p.o.Now().Before(g.expires)
}

// admits reports whether the request has an access token for a scope; if not, it answers the request (RFC
// 6750, section 3).
func (p *StandIn) admits(w http.ResponseWriter, r *http.Request, scope string) bool {
	scopes, active := p.grantOf(r.Context(), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	switch {
	case !active:
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		loopback.Refuse(w, http.StatusUnauthorized, "invalid_token")
		return false
	case !slices.Contains(scopes, scope):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+scope+`"`)
		loopback.Refuse(w, http.StatusForbidden, "insufficient_scope")
		return false
	}
	return true
}
