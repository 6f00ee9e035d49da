package mcptool_test

import (
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/protocol/json"
	"github.com/recoursehq/recourse/mcptool"
)

// A Guard accepts the gateway's authenticators, since both take the same interface.
func TestGuardTakesTheAuthenticatorsOfTheGateway(t *testing.T) {
	t.Parallel()
	token := issuer(t)
	key, _ := auth.NewKey()
	expired, _ := auth.NewKey()
	keys := auth.BearerKeys{Keys: auth.NewKeys("team", []*auth.Key{
		{Name: "ada", Org: "willow", Hash: auth.HashOf(key)},
		{Name: "bob", Hash: auth.HashOf(expired), Expires: time.Now().Add(-time.Hour)},
	}, nil)}
	behind := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, ok := mcptool.CallerOf(r.Context())
		if !ok || r.Header.Get("X-Caller") != who.Name {
			t.Errorf("%v: the handler sees %+v, and %q in the header", ok, who, r.Header.Get("X-Caller"))
		}
		_, _ = w.Write([]byte(who.Access + " " + who.Name + " " + who.Org))
	})
	guard := mcptool.Guard(behind, contract.MustBuiltin("recourse"), mcptool.WithAuthenticator(auth.AnyOf{keys, token.authenticator}),
		mcptool.WithCallerHeader("X-Caller"))
	for name, c := range map[string]struct {
		credentials string
		status      int
		challenge   string
		body        string
	}{
		"an API key":            {"Bearer " + key, http.StatusOK, "", "team ada willow"},
		"an expired key":        {"Bearer " + expired, http.StatusUnauthorized, "Bearer", `"kind":"token_expired"`},
		"an unknown key":        {"Bearer rk_nobody", http.StatusUnauthorized, "Bearer", `"kind":"unauthenticated"`},
		"no credentials":        {"", http.StatusUnauthorized, "Bearer", `"kind":"unauthenticated"`},
		"a token":               {"Bearer " + token.sign(t, "fields:read"), http.StatusOK, "", "sso carol "},
		"a token without scope": {"Bearer " + token.sign(t, ""), http.StatusForbidden, `Bearer error="insufficient_scope", scope="fields:read"`, `"kind":"missing_scope"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
			r.Header.Set("Content-Type", "application/json")
			if c.credentials != "" {
				r.Header.Set("Authorization", c.credentials)
			}
			w := httptest.NewRecorder()
			guard.ServeHTTP(w, r)
			if w.Code != c.status || w.Header().Get("WWW-Authenticate") != c.challenge || !strings.Contains(w.Body.String(), c.body) {
				t.Errorf("%d %q %s", w.Code, w.Header().Get("WWW-Authenticate"), w.Body)
			}
		})
	}
}

// A request that has not passed a Guard with an authenticator has no caller.
func TestCallerWithoutGuard(t *testing.T) {
	t.Parallel()
	behind := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who, ok := mcptool.CallerOf(r.Context()); ok || who.Known() {
			t.Errorf("%+v", who)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	for _, handler := range []http.Handler{behind, mcptool.Guard(behind, contract.MustBuiltin("recourse"))} {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodDelete, "/mcp", http.NoBody))
	}
}

// A tokenIssuer signs tokens that its authenticator accepts.
type tokenIssuer struct {
	authenticator *auth.JWT
	signer        jose.Signer
	url           string
}

func issuer(t *testing.T) *tokenIssuer {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "k1", Algorithm: string(jose.EdDSA), Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(set) }))
	t.Cleanup(server.Close)
	issuers := auth.NewIssuers(http.DefaultTransport)
	t.Cleanup(issuers.Close)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: private, KeyID: "k1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	rule := auth.TokenRule{
		Access: "sso", Issuer: server.URL, Audiences: []string{"mcp"}, Algorithms: []string{string(jose.EdDSA)}, Scopes: []string{"fields:read"},
		NameClaim: "sub",
	}
	return &tokenIssuer{authenticator: auth.NewJWT(rule, issuers.Keys(server.URL, server.URL)), signer: signer, url: server.URL}
}

func (i *tokenIssuer) sign(t *testing.T, scope string) string {
	t.Helper()
	claims, err := json.Marshal(map[string]any{"iss": i.url, "sub": "carol", "aud": "mcp", "scope": scope, "exp": time.Now().Add(time.Hour).Unix()})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := i.signer.Sign(claims)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
