package connection

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/recoursehq/recourse"
)

// A Flow is how an account is connected.
type Flow string

// The flows.
const (
	AuthorizationCode Flow = "authorization_code" // a person signs in at the provider
	ClientCredentials Flow = "client_credentials" // nobody has to do anything
	APIKey            Flow = "api_key"            // a person enters a key here
	DeviceCode        Flow = "device_code"        // a person enters a code at the provider
)

// A Provider is what accounts are connected to. It does not change.
type Provider struct {
	Name  string // of its entry in the configuration
	Title string // what people call it
	Flow  Flow

	AuthorizeURL, DeviceURL, TokenURL string

	ClientID, ClientSecret string
	// InBody says that these stand in the body of requests for tokens, and not in their Authorization header.
	InBody bool

	Scopes []string
	Params map[string]string // more parameters of the authorisation request

	Header string // in which servers get the credential
	Prefix string // before the credential in it
}

func (p *Provider) config(redirect string, scopes []string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, RedirectURL: redirect, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: p.AuthorizeURL, TokenURL: p.TokenURL, AuthStyle: p.style()},
	}
}

// style returns where the client's secret stands. Left to find it out, the library would send a refused request again, and
// with it a token that counts once.
func (p *Provider) style() oauth2.AuthStyle {
	if p.InBody || p.ClientSecret == "" {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// redeem returns the token for a refresh token, or, for client credentials, for those.
func (p *Provider) redeem(ctx context.Context, old Token) (Token, error) {
	if p.Flow == ClientCredentials {
		config := clientcredentials.Config{
			ClientID: p.ClientID, ClientSecret: p.ClientSecret, TokenURL: p.TokenURL, Scopes: p.Scopes, AuthStyle: p.style(),
		}
		t, err := config.Token(ctx)
		return newToken(t, p.Scopes), err
	}
	t, err := p.config("", nil).TokenSource(ctx, &oauth2.Token{RefreshToken: old.Refresh}).Token()
	fresh := newToken(t, old.Scopes)
	if fresh.Refresh == "" {
		fresh.Refresh = old.Refresh // not every provider has a new one each time
	}
	return fresh, err
}

// A Token is what a provider has issued. Its zero Expires means that it does not say.
type Token struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	Scopes  []string  `json:"scopes,omitempty"`
}

// newToken returns a token; asked are its scopes if the provider does not say what it has granted (RFC 6749, section 5.1).
func newToken(t *oauth2.Token, asked []string) Token {
	if t == nil {
		return Token{}
	}
	scopes := asked
	if said, ok := t.Extra("scope").(string); ok && said != "" {
		scopes = strings.FieldsFunc(said, func(r rune) bool { return r == ' ' || r == ',' })
	}
	return Token{
		Access: t.AccessToken, Refresh: t.RefreshToken, Expires: t.Expiry.UTC().Truncate(time.Second), Scopes: slices.Clone(scopes),
	}
}

// A verdict is what a failed request for a token means.
type verdict int

const (
	passing verdict = iota // it may succeed later: the provider cannot be reached, or is in trouble
	refused                // the grant counts no more: it was revoked
	lapsed                 // or it has expired, which providers say in words of their own
	faulty                 // the configuration is wrong: who we are, or what we ask for
)

// judge tells what the error of a request for a token means.
func judge(err error) verdict {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok:
		return passing
	case answer.ErrorCode == "invalid_grant":
		return refused
	case answer.ErrorCode == "invalid_token", answer.ErrorCode == "expired_token":
		return lapsed
	case answer.Response.StatusCode >= http.StatusInternalServerError, answer.Response.StatusCode == http.StatusTooManyRequests,
		answer.ErrorCode == "temporarily_unavailable", answer.ErrorCode == "server_error", answer.ErrorCode == "slow_down":
		return passing
	default:
		return faulty
	}
}

// failure returns the Error of a request for a token. Nothing of what the provider has sent is shown.
func (p *Provider) failure(err error) *recourse.Error {
	var e *recourse.Error
	answer, answered := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !answered:
		e = recourse.From(err)
		if e.Kind == recourse.KindInternal {
			e = recourse.Unavailable(p.Title)
		}
	case judge(err) == faulty:
		e = recourse.New(recourse.KindInternal, "").
			WithMessage("%s does not accept this gateway: its operator has to look at provider %s.", p.Title, p.Name)
	default:
		e = recourse.FromHTTP(p.Title, answer.Response)
	}
	return e.WithProvider(p.Title).WithOrigin(recourse.OriginProvider).WithEffect(recourse.EffectNone).CausedBy(safe(err))
}

// safe returns an error without what the provider has sent, in which there may be a token.
func safe(err error) error {
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return errors.New("the token endpoint answered " + answer.Response.Status + " " + oneWord(answer.ErrorCode))
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err // its URL may have secrets of the operator's
	}
	return err
}

// oneWord returns an error code as OAuth has them, and nothing else.
func oneWord(code string) string {
	if len(code) > 40 || strings.ContainsFunc(code, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
		return ""
	}
	return code
}
