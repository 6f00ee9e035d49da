package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/internal/protocol/json"
)

// redeemTimeout limits the request for an ID token.
const redeemTimeout = 20 * time.Second

// A Login lets people identify themselves in a browser, by signing in at the issuer of their tokens (OpenID
// Connect Core 1.0, the authorization code flow, with PKCE). It is immutable.
type Login struct {
	verifier

	client oauth2.Config
}

// LoginClient is the gateway as the issuer knows it.
type LoginClient struct {
	ID, Secret string
	Scopes     []string
}

// A SignIn is a sign-in in progress. Its secrets are valid once.
type SignIn struct {
	State, Nonce, Verifier string
	Redirect               string // where the issuer sends the person back to
}

// NewLogin returns a login for the people that rule describes, but with ID tokens, which are for the client
// alone.
func NewLogin(rule TokenRule, keys *KeySet, client LoginClient) *Login {
	rule.Audiences = []string{client.ID}
	return &Login{newVerifier(rule, keys), oauth2.Config{ClientID: client.ID, ClientSecret: client.Secret, Scopes: client.Scopes}}
}

// URL returns the issuer's page on which the person signs in. If again is set, they must sign in even if they
// already have, so that they can do so as somebody else.
func (l *Login) URL(ctx context.Context, s SignIn, again bool) (string, error) {
	client, _, err := l.at(ctx, s.Redirect)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(s.Verifier), oauth2.SetAuthURLParam("nonce", s.Nonce)}
	if again {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"))
	}
	return client.AuthCodeURL(s.State, options...), nil
}

var (
	errOtherIssuer = errors.New("the answer comes from another issuer")
	errNoIDToken   = errors.New("the issuer has sent no ID token")
	errNonce       = errors.New("the ID token is not of this sign-in: its nonce is another")
	errParty       = errors.New("the ID token was issued to another client")
)

// Redeem returns who has signed in. issuer is the issuer named in the answer (RFC 9207), if any.
func (l *Login) Redeem(ctx context.Context, s SignIn, code, issuer string) (authn.Identity, error) {
	client, names, err := l.at(ctx, s.Redirect)
	if err != nil {
		return authn.Identity{}, err
	}
	if issuer != l.rule.Issuer && (issuer != "" || names) {
		return authn.Identity{}, errOtherIssuer
	}
	ctx, cancel := context.WithTimeout(ctx, redeemTimeout)
	defer cancel()
	ctx = context.WithValue(ctx, oauth2.HTTPClient, l.keys.issuers.redeems())
	issued, err := client.Exchange(ctx, code, oauth2.VerifierOption(s.Verifier))
	if err != nil {
		return authn.Identity{}, fmt.Errorf("redeem a code: %w", err)
	}
	token, ok := issued.Extra("id_token").(string)
	if !ok || token == "" {
		return authn.Identity{}, errNoIDToken
	}
	return l.identify(ctx, token, s.Nonce)
}

// identify returns the person that an ID token names (OpenID Connect Core 1.0, section 3.1.3.7).
func (l *Login) identify(ctx context.Context, token, nonce string) (authn.Identity, error) {
	claims, err := l.verify(ctx, token)
	if err != nil {
		return authn.Identity{}, err
	}
	if said, _ := claims.text("nonce"); said == "" || said != nonce {
		return authn.Identity{}, forged(errNonce)
	}
	audiences, _ := texts(claims.Audience)
	if party, _ := claims.text("azp"); party != l.client.ClientID && (len(audiences) > 1 || claims.claim("azp") != nil) {
		return authn.Identity{}, forged(errParty)
	}
	return claims.identity(&l.rule)
}

// at returns the client with the issuer's endpoints, and whether the issuer names itself in its answers.
func (l *Login) at(ctx context.Context, redirect string) (client *oauth2.Config, names bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	text, err := l.keys.issuers.metadata(ctx, l.rule.Issuer)
	if err != nil {
		return nil, false, err
	}
	var said struct {
		Authorize string   `json:"authorization_endpoint"`
		Token     string   `json:"token_endpoint"`
		Methods   []string `json:"token_endpoint_auth_methods_supported"`
		Names     bool     `json:"authorization_response_iss_parameter_supported"`
	}
	switch err := json.Unmarshal(text, &said); {
	case err != nil:
		return nil, false, fmt.Errorf("metadata of %s: %w", l.rule.Issuer, err)
	case !IsSafeURL(said.Authorize), !IsSafeURL(said.Token):
		return nil, false, fmt.Errorf("metadata of %s: an endpoint is not an https URL: %.200q, %.200q",
			l.rule.Issuer, said.Authorize, said.Token)
	}
	at := l.client
	at.RedirectURL = redirect
	at.Endpoint = oauth2.Endpoint{AuthURL: said.Authorize, TokenURL: said.Token, AuthStyle: oauth2.AuthStyleInHeader}
	const basic, post = "client_secret_basic", "client_secret_post"
	if at.ClientSecret == "" || slices.Contains(said.Methods, post) && !slices.Contains(said.Methods, basic) {
		at.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &at, said.Names, nil
}

// redeems returns a client for requests with a code, which follows no redirects.
func (s *Issuers) redeems() *http.Client {
	return &http.Client{
		Transport:     s.http.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Issuer returns the issuer's URL.
func (l *Login) Issuer() string { return l.rule.Issuer }

// Host returns the name under which people know the issuer.
func (l *Login) Host() string {
	u, err := url.Parse(l.rule.Issuer)
	if err != nil {
		return l.rule.Issuer
	}
	return u.Host
}
