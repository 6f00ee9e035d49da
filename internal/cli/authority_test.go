package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/recoursehq/recourse/internal/test/testkit/openid"
	"github.com/recoursehq/recourse/systems/fieldmcp"
)

// An authority is a provider with zitadel's certified OAuth server for the accounts, and the API of fieldmcp's
// stand-in. A refresh token can be used once: using it again revokes all tokens of the same sign-in.
type authority struct {
	*storage.Storage

	url  string
	op   http.Handler
	life time.Duration // of access tokens

	mu       sync.Mutex
	secrets  map[string]string    // every secret exchanged with the gateways, and its kind
	family   map[string]string    // of refresh tokens: the first token of the sign-in
	spent    map[string]bool      // redeemed refresh tokens
	ends     map[string]time.Time // expiry of access tokens
	revoked  map[string]bool      // revoked families
	signIns  int
	redeemed int
	replayed int
}

// An appClient is the gateway as an OAuth client. It may ask for the scopes of fieldmcp.
type appClient struct{ op.Client }

func (appClient) IsScopeAllowed(scope string) bool { return strings.HasPrefix(scope, "ag") }

// newAuthority starts an authority for the gateway at that URL.
func newAuthority(t *testing.T, gateway string, life time.Duration) *authority {
	t.Helper()
	a := &authority{
		secrets: map[string]string{}, life: life, family: map[string]string{}, spent: map[string]bool{}, ends: map[string]time.Time{}, revoked: map[string]bool{},
	}
	api, err := fieldmcp.NewStandIn(fieldmcp.StandInOptions{Introspect: a.introspect})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch first, _, _ := strings.Cut(r.URL.Path[1:], "/"); first {
		case "auth", "oauth", "login", ".well-known", "keys":
			a.note(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	a.url = srv.URL
	client := storage.WebClient("recourse", "hunter2", gateway+"/connect/callback", gateway+"/connect/login")
	a.Storage = storage.NewStorageWithClients(storage.NewUserStore(a.url), map[string]*storage.Client{"recourse": client})
	a.op = openid.Provider(a.url, a)
	return a
}

// GetClientByClientID implements [op.Storage].
func (a *authority) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := a.Storage.GetClientByClientID(ctx, id)
	return appClient{c}, err
}

var errSpent = errors.New("the refresh token was used before")

// TokenRequestByRefreshToken implements [op.Storage].
func (a *authority) TokenRequestByRefreshToken(ctx context.Context, token string) (op.RefreshTokenRequest, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	first := a.family[token]
	if a.spent[token] {
		a.replayed++
		a.revoked[first] = true
	}
	if a.revoked[first] {
		return nil, errSpent
	}
	return a.Storage.TokenRequestByRefreshToken(ctx, token)
}

// CreateAccessAndRefreshTokens implements [op.Storage].
func (a *authority) CreateAccessAndRefreshTokens(
	ctx context.Context, request op.TokenRequest, current string,
) (access, refresh string, ends time.Time, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.spent[current] { // two concurrent requests
		a.replayed++
		a.revoked[a.family[current]] = true
		return "", "", time.Time{}, errSpent
	}
	access, refresh, _, err = a.Storage.CreateAccessAndRefreshTokens(ctx, request, current)
	if err != nil {
		return "", "", time.Time{}, err
	}
	if current == "" {
		a.family[refresh] = refresh
		a.signIns++
	} else {
		a.family[refresh], a.spent[current] = a.family[current], true
		a.redeemed++
	}
	ends = time.Now().Add(a.life)
	a.ends[access] = ends
	return access, refresh, ends, nil
}

// SetIntrospectionFromToken implements [op.Storage].
func (a *authority) SetIntrospectionFromToken(ctx context.Context, said *oidc.IntrospectionResponse, token, subject, client string) error {
	a.mu.Lock()
	ends := a.ends[token]
	a.mu.Unlock()
	if time.Now().After(ends) {
		return errors.New("the token has expired")
	}
	return a.Storage.SetIntrospectionFromToken(ctx, said, token, subject, client)
}

// introspect asks the authorization server for the scopes of an access token (RFC 7662), as an API would.
func (a *authority) introspect(ctx context.Context, token string) (scopes []string, active bool) {
	form := url.Values{"token": {token}}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, a.url+"/oauth/introspect", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth("recourse", "hunter2")
	w := httptest.NewRecorder()
	a.op.ServeHTTP(w, r)
	var said struct {
		Active bool   `json:"active"`
		Scope  string `json:"scope"`
	}
	if w.Code != http.StatusOK || json.Unmarshal(w.Body.Bytes(), &said) != nil {
		return nil, false
	}
	return strings.Fields(said.Scope), said.Active
}

// note passes a request on, and records the secrets in it and in the answer.
func (a *authority) note(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // a request that fails to parse is refused below
	said := maps.Clone(r.Form)
	answer := httptest.NewRecorder()
	a.op.ServeHTTP(answer, r)
	if to, err := url.Parse(answer.Header().Get("Location")); err == nil {
		maps.Copy(said, to.Query())
	}
	var tokens map[string]any
	if json.Unmarshal(answer.Body.Bytes(), &tokens) == nil {
		for name, value := range tokens {
			said.Add(name, fmt.Sprint(value))
		}
	}
	a.mu.Lock()
	for _, name := range []string{"code", "code_verifier", "state", "nonce", "access_token", "refresh_token", "id_token"} {
		if value := said.Get(name); value != "" {
			a.secrets[value] = name
		}
	}
	a.mu.Unlock()
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// token returns an access token of a caller, as a client would get it.
func (a *authority) token(t *testing.T, caller string) string {
	t.Helper()
	key, err := a.SigningKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: key.SignatureAlgorithm(), Key: jose.JSONWebKey{Key: key.Key(), KeyID: key.ID()}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	token, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: a.url, Subject: caller, Audience: jwt.Audience{"farm"}, IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(time.Hour)),
	}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// revokeAll revokes all sign-ins so far.
func (a *authority) revokeAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, first := range a.family {
		a.revoked[first] = true
	}
	clear(a.ends)
}

// A tally is what an authority counts.
type tally struct{ signIns, redeemed, replayed, revoked int }

func (a *authority) tally() tally {
	a.mu.Lock()
	defer a.mu.Unlock()
	return tally{a.signIns, a.redeemed, a.replayed, len(a.revoked)}
}
