package connection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
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
	TokenExchange     Flow = "token_exchange"     // the caller's own token is exchanged for another
)

// A Provider issues the tokens of accounts. It does not change.
type Provider struct {
	Name  string // of its entry in the configuration
	Title string // what people call it
	Flow  Flow

	AuthorizeURL, DeviceURL, TokenURL string

	ClientID, ClientSecret string
	// InBody says that the client's credentials are sent in the body of requests for tokens, not in the
	// Authorization header.
	InBody bool

	Scopes []string
	Params map[string]string // additional parameters of the authorisation request, or of an exchange

	Header string // header for the credential in requests to servers
	Prefix string // prefix of the credential in it
}

func (p *Provider) config(redirect string, scopes []string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, RedirectURL: redirect, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: p.AuthorizeURL, TokenURL: p.TokenURL, AuthStyle: p.style()},
	}
}

// style returns where the client's secret goes. If the library had to find out, it would repeat a rejected
// request, and with it a token that is valid only once.
func (p *Provider) style() oauth2.AuthStyle {
	if p.InBody || p.ClientSecret == "" {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// redeem exchanges a refresh token or, for client credentials, those for a token.
func (p *Provider) redeem(ctx context.Context, old Token) (Token, error) {
	if p.Flow == ClientCredentials {
		return p.request(ctx, nil)
	}
	t, err := p.config("", nil).TokenSource(ctx, &oauth2.Token{RefreshToken: old.Refresh}).Token()
	if err != nil {
		return Token{}, err
	}
	fresh, err := newToken(t, old.Scopes)
	fresh.Refresh = cmp.Or(fresh.Refresh, old.Refresh) // not every provider has a new one each time
	if fresh.Refresh == old.Refresh && fresh.Ends.IsZero() {
		fresh.Ends = old.Ends
	}
	return fresh, err
}

// request requests a token in the gateway's own name, with more parameters.
func (p *Provider) request(ctx context.Context, more url.Values) (Token, error) {
	config := clientcredentials.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, TokenURL: p.TokenURL, Scopes: p.Scopes, AuthStyle: p.style(),
		EndpointParams: more,
	}
	t, err := config.Token(ctx)
	if err != nil {
		return Token{}, err
	}
	own, err := newToken(t, p.Scopes)
	own.Ends = time.Time{} // it can be requested again at any time
	return own, err
}

// A Token is issued by a provider. Expires and Ends are zero if that is not known.
type Token struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"`
	Expires time.Time `json:"expires,omitzero"`
	Ends    time.Time `json:"ends,omitzero"` // when nobody can use the account any more unless it is connected again
	Scopes  []string  `json:"scopes,omitempty"`
}

var errNoHeader = errors.New("the provider has issued an access token that cannot be sent in a header")

// isSendable reports whether a credential can be sent in a header as it is (RFC 6749, appendix A.12).
func isSendable(credential string) bool {
	return credential != "" && !strings.ContainsFunc(credential, func(c rune) bool { return c <= ' ' || c > '~' })
}

// newToken returns a token; asked are its scopes if the provider does not say what it has granted (RFC 6749, section 5.1).
// An account is not connected with a token that no request could carry.
func newToken(t *oauth2.Token, asked []string) (Token, error) {
	if !isSendable(t.AccessToken) {
		return Token{}, errNoHeader
	}
	scopes := asked
	if said, ok := t.Extra("scope").(string); ok && said != "" {
		scopes = strings.FieldsFunc(said, func(r rune) bool { return r == ' ' || r == ',' })
	}
	expires := t.Expiry.UTC().Truncate(time.Second)
	ends := expires
	if t.RefreshToken != "" {
		ends = lapses(t)
	}
	return Token{Access: t.AccessToken, Refresh: t.RefreshToken, Expires: expires, Ends: ends, Scopes: slices.Clone(scopes)}, nil
}

// lapses returns when a refresh token expires. No standard has a member for that: GitHub, Google, LinkedIn and others use the first of
// these, Keycloak the second.
func lapses(t *oauth2.Token) time.Time {
	for _, member := range []string{"refresh_token_expires_in", "refresh_expires_in"} {
		seconds, err := strconv.ParseFloat(fmt.Sprint(t.Extra(member)), 64)
		if err == nil && seconds > 0 && seconds < maxLapse.Seconds() {
			return time.Now().Add(time.Duration(seconds) * time.Second).UTC().Truncate(time.Second)
		}
	}
	return time.Time{}
}

// maxLapse is more than any provider's refresh token lives; a longer time is not believed.
const maxLapse = 20 * 365 * 24 * time.Hour

// A tokenFailure is the meaning of a failed request for a token.
type tokenFailure int

const (
	passing tokenFailure = iota // it may succeed later: the provider cannot be reached, or is in trouble
	refused                     // the grant is no longer valid: it was revoked
	lapsed                      // or it has expired, which providers report in their own words
	faulty                      // the configuration is wrong: the client's credentials, or what is requested
)

// judge returns the meaning of an error in a request for a token.
func judge(err error) tokenFailure {
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

// failure returns the Error for a request for a token. It shows nothing that the provider sent.
func (p *Provider) failure(err error) *recourse.Error {
	var e *recourse.Error
	answer, answered := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case errors.Is(err, errNoHeader):
		e = recourse.BadResponse(p.Title).WithMessage("%s has issued an access token that cannot be used.", p.Title)
	case !answered:
		switch e = recourse.From(err); e.Kind {
		case recourse.KindInternal:
			e = recourse.Unavailable(p.Title)
		case recourse.KindUnreachable:
			e = recourse.Unreachable(p.Title)
		case recourse.KindTimeout:
			e = recourse.Timeout(p.Title, 0)
		default:
		}
	case judge(err) == faulty:
		const refused = "%s does not accept this gateway: its operator has to look at provider %s."
		return p.misconfigured(refused, answer.Response.StatusCode).CausedBy(safe(err))
	default:
		if e = recourse.FromHTTP(p.Title, answer.Response); e.Kind == recourse.KindClientError { // only its word says that it passes
			e = recourse.Unavailable(p.Title)
		}
	}
	return e.WithProvider(p.Title).WithOrigin(recourse.OriginProvider).WithEffect(recourse.EffectNone).CausedBy(safe(err))
}

// safe returns an error without anything that the provider sent, which may include a token.
func safe(err error) error {
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return errors.New("the token endpoint answered " + answer.Response.Status + " " + oneWord(answer.ErrorCode))
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err // its URL may contain the operator's secrets
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
