package fieldmcp

import (
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/recoursehq/recourse/systems/internal/loopback"
)

const (
	// tokenLife is how long an access token lasts.
	tokenLife = 30 * time.Minute
	// refreshLife is how long a refresh token lasts that is not used.
	refreshLife = 90 * 24 * time.Hour
)

// An account is what a farmer has at the provider and has granted to the system.
type account struct {
	refreshToken string // the last one: those before it are used up
	issued       time.Time
	scopes       []string
	revoked      bool // the farmer has taken the access back
}

// errNotConnected says that there is nothing to change.
var errNotConnected = errors.New("the organisation has not connected an account")

// connect grants an organisation's account, with these scopes, and returns the refresh
// token.
func (p *provider) connect(organisation string, scopes []string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := &account{scopes: slices.Clone(scopes)}
	p.accounts[organisation] = a
	return p.renew(a)
}

// renew gives an account another refresh token.
func (p *provider) renew(a *account) string {
	a.refreshToken, a.issued = "rt-"+rand.Text(), p.now()
	return a.refreshToken
}

// change changes an organisation's account; its access tokens end with that.
func (p *provider) change(organisation string, how func(a *account)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.accounts[organisation]
	if a == nil {
		return errNotConnected
	}
	how(a)
	for token, g := range p.tokens {
		if g.account == a {
			delete(p.tokens, token)
		}
	}
	return nil
}

// A grant is what an access token is good for.
type grant struct {
	account *account
	scopes  []string
	expires time.Time
}

// token grants an access token for a refresh token (RFC 6749, section 6), which is used
// up by that. The scopes are those that are asked for, of those that the farmer has
// granted.
func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	refresh, asked := r.PostFormValue("refresh_token"), r.PostFormValue("scope")
	p.mu.Lock()
	defer p.mu.Unlock()
	var a *account
	for _, other := range p.accounts {
		if other.refreshToken == refresh {
			a = other
		}
	}
	switch {
	case a == nil || a.revoked:
		loopback.Refuse(w, http.StatusBadRequest, "invalid_grant")
		return
	case p.now().Sub(a.issued) >= refreshLife:
		loopback.Refuse(w, http.StatusUnauthorized, "invalid_token")
		return
	}
	scopes := slices.DeleteFunc(strings.Fields(asked), func(scope string) bool { return !slices.Contains(a.scopes, scope) })
	for token, g := range p.tokens {
		if !p.now().Before(g.expires) {
			delete(p.tokens, token)
		}
	}
	token := "at-" + rand.Text()
	p.tokens[token] = grant{account: a, scopes: scopes, expires: p.now().Add(tokenLife)}
	loopback.Answer(w, http.StatusOK, map[string]any{
		"access_token": token, "refresh_token": p.renew(a), "token_type": "Bearer", "expires_in": int(tokenLife / time.Second),
		"scope": strings.Join(scopes, " "),
	})
}

// admits reports whether the request has an access token for a scope; where it has
// not, it is answered (RFC 6750, section 3).
func (p *provider) admits(w http.ResponseWriter, r *http.Request, scope string) bool {
	p.mu.Lock()
	g, ok := p.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	p.mu.Unlock()
	switch {
	case !ok || !p.now().Before(g.expires):
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		loopback.Refuse(w, http.StatusUnauthorized, "invalid_token")
		return false
	case !slices.Contains(g.scopes, scope):
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+scope+`"`)
		loopback.Refuse(w, http.StatusForbidden, "insufficient_scope")
		return false
	}
	return true
}
