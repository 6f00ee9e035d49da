package connection

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"golang.org/x/oauth2"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/store"
)

// With token exchange (RFC 8693), a server gets a token for the person behind a call: the caller's own token, which the gateway has
// verified, is exchanged for it. Nothing is stored: the new tokens are kept in memory.

// maxExchanged limits the bytes of these tokens.
const maxExchanged = 64 << 20

const accessTokenType = "urn:ietf:params:oauth:token-type:access_token"

// A Subject is the token with which a caller came.
type Subject struct {
	Token   string // "": none
	Expires time.Time
}

// Exchange returns the credential for which a provider exchanges a caller's token. refused is the version of the one that the server
// has refused; 0: none. The error is a [*recourse.Error] or, if the caller has to bring another token, an [*auth.Refusal].
func (m *Manager) Exchange(ctx context.Context, p *Provider, s Subject, refused int64) (Credential, error) {
	if s.Token == "" {
		return Credential{}, recourse.Unauthenticated().WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone).
			WithMessage("This server acts for a person: call with an access token that %s exchanges, not with a key.", p.Title)
	}
	// After a change of the configuration, tokens are exchanged anew.
	at := accountKey{p.Name, "token " + hash(fmt.Sprintf("%q", []any{s.Token, p.TokenURL, p.ClientID, p.ClientSecret, p.Scopes, p.Params}))}
	exchange := func(context.Context) (known, error) { return m.exchange(p, s, at) }
	m.mu.Lock()
	k, ok := m.exchanged.Get(at)
	isFresh := ok && k.c.Version != refused && time.Until(k.c.Expires) > usableFor
	var f *flight
	switch {
	case isFresh:
	case ok && k.c.Version == refused:
		f = m.force(at, exchange)
	default:
		f = m.fly(at, exchange)
	}
	m.mu.Unlock()
	switch {
	case isFresh:
		return p.credential(k), nil
	case f == nil:
		return Credential{}, p.reconnect(Expired)
	}
	if err := f.wait(ctx); err != nil {
		return Credential{}, err
	}
	return p.credential(f.got), nil
}

// exchange exchanges a token, and keeps what it gets for as long as both are valid.
func (m *Manager) exchange(p *Provider, s Subject, at accountKey) (known, error) {
	redeeming, cancel := context.WithTimeout(m.withClient(m.life), redeemTimeout) // nothing is lost with it
	defer cancel()
	asked := url.Values{"subject_token_type": {accessTokenType}, "requested_token_type": {accessTokenType}}
	for name, value := range p.Params {
		asked.Set(name, value)
	}
	asked.Set("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange")
	asked.Set("subject_token", s.Token)
	t, err := p.request(redeeming, asked)
	if err != nil {
		return known{}, p.notExchanged(err)
	}
	ends := s.Expires
	if !t.Expires.IsZero() && t.Expires.Before(ends) {
		ends = t.Expires
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.exchanges++
	k := known{c: &store.Connection{Version: m.exchanges, Expires: ends}, token: t}
	m.exchanged.Keep(at, k, len(t.Access))
	return k, nil
}

// badToken is how providers describe a caller's token that they do not accept. RFC 8693 has the code invalid_request for it, as for a
// request that is wrong in any other way.
var badToken = regexp.MustCompile(
	`(?i)\b(invalid|expired|revoked|inactive)\b[a-z_ ]*token\W*$|token\b.*\b(invalid|expired|revoked|inactive|not (active|valid))\b`)

// notExchanged returns the failure for a token that was not exchanged.
func (p *Provider) notExchanged(err error) error {
	verdict := judge(err)
	answer, _ := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case verdict == refused, verdict == lapsed,
		verdict == faulty && answer.ErrorCode == "invalid_request" && badToken.MatchString(answer.ErrorDescription):
		e := recourse.Unauthenticated().WithMessage("%s no longer accepts the token: sign in again.", p.Title).
			WithOrigin(recourse.OriginCaller).WithEffect(recourse.EffectNone).CausedBy(safe(err))
		return &auth.Refusal{Record: e, At: contract.AtCredentialsInvalid}
	case verdict == faulty && answer.ErrorCode == "insufficient_scope" && len(p.Scopes) > 0:
		return auth.MissingScope(p.Scopes, p.Scopes)
	}
	return p.failure(err)
}
