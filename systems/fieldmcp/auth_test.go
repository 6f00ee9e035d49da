package fieldmcp_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/systems/fieldmcp"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

// knock makes a call with a credential, and returns the HTTP answer: all that a client without a key can do.
func knock(t *testing.T, url, authorization string) *testkit.Answer {
	t.Helper()
	client := testkit.NewClient(t, url, testkit.Modern)
	if authorization != "" {
		client.Header = http.Header{"Authorization": {authorization}}
	}
	a, err := client.Call(t.Context(), "deere_get_organization", `{"orgId":"ORG-1"}`)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// refusedWith reports whether an answer is an HTTP error with that status, and a JSON-RPC error.
func refusedWith(a *testkit.Answer, status int) bool {
	return a.Status == status && a.Message != nil && a.Message.Error != nil
}

func TestAPIKey(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/api-key")

	key := fieldmcp.APIKey("willow")
	if !regexp.MustCompile(`^field_live_[0-9a-f]{32}$`).MatchString(key) {
		t.Fatalf("got key %s", key)
	}
	url := systemtest.Serve(t, newSystem(t, fieldmcp.Options{}))
	for _, authorization := range []string{"Bearer " + key, "bearer " + key} {
		if a := knock(t, url, authorization); a.Status != 200 || a.Message.Error != nil {
			t.Errorf("%s: HTTP %d %s", authorization, a.Status, a.Body)
		}
	}
	for _, authorization := range []string{
		"", "Bearer", "Bearer ", key, "Basic " + key, "Bearer " + strings.ToUpper(key), "Bearer " + key[:len(key)-1], "Bearer " + key + "0",
		"Bearer field_live_" + strings.Repeat("0", 32), "Bearer field_test_" + strings.Repeat("0", 32), "Bearer a.b.c",
	} {
		if a := knock(t, url, authorization); !refusedWith(a, 401) || a.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%q: HTTP %d %s", authorization, a.Status, a.Body)
		}
	}
	if a := knock(t, url, "Bearer "+fieldmcp.APIKey("suspended")); !refusedWith(a, 403) {
		t.Errorf("suspended: HTTP %d %s", a.Status, a.Body)
	}
}

// After too many failed authentications from an address, it is refused for a while, even with valid credentials.
func TestLockout(t *testing.T) {
	t.Parallel()
	now := newClock()
	url := systemtest.Serve(t, newSystem(t, fieldmcp.Options{Now: now.Now}))
	for range 25 {
		if a := knock(t, url, "Bearer wrong"); a.Status != 401 {
			t.Fatalf("HTTP %d", a.Status)
		}
	}
	if a := knock(t, url, "Bearer "+fieldmcp.APIKey("willow")); a.Status != 429 || a.Header.Get("Retry-After") != "900" {
		t.Errorf("HTTP %d, Retry-After %s", a.Status, a.Header.Get("Retry-After"))
	}
	now.pass(900 * time.Second)
	if a := knock(t, url, "Bearer "+fieldmcp.APIKey("willow")); a.Status != 200 {
		t.Errorf("later: HTTP %d", a.Status)
	}
}

// An issuer signs tokens, and serves its keys.
type issuer struct {
	key      *ecdsa.PrivateKey
	identity fieldmcp.Identity
	fetched  atomic.Int32
	down     atomic.Bool
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{key: newKey(t)}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		i.fetched.Add(1)
		if i.down.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		point, err := i.key.PublicKey.Bytes()
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/jwk-set+json")
		_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"RSA","kid":"other","n":"AQAB","e":"AQAB"},{"kty":"EC","crv":"P-256","use":"sig","alg":"ES256","kid":"k1","x":%q,"y":%q}]}`,
			base64.RawURLEncoding.EncodeToString(point[1:33]), base64.RawURLEncoding.EncodeToString(point[33:]))
	}))
	t.Cleanup(srv.Close)
	i.identity = fieldmcp.Identity{JWKSURL: srv.URL + "/jwks.json", Issuer: "https://id.example.com", Audience: "fieldmcp"}
	return i
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign returns a token with this header and these claims.
func sign(t *testing.T, key *ecdsa.PrivateKey, header, claims map[string]any) string {
	t.Helper()
	text := encode(t, header) + "." + encode(t, claims)
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func encode(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// with returns m with some members set; those that are nil are removed.
func with(m, members map[string]any) map[string]any {
	m = maps.Clone(m)
	for name, value := range members {
		if value == nil {
			delete(m, name)
			continue
		}
		m[name] = value
	}
	return m
}

func TestToken(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/jwt")

	type members = map[string]any
	now := newClock()
	is := newIssuer(t)
	url := systemtest.Serve(t, newSystem(t, fieldmcp.Options{Identity: &is.identity, Now: now.Now}))
	after := func(d time.Duration) int64 { return now.Now().Add(d).Unix() }
	header := members{"alg": "ES256", "typ": "JWT", "kid": "k1"}
	claims := members{"iss": "https://id.example.com", "aud": "fieldmcp", "exp": after(time.Hour), "org": "willow"}

	for name, token := range map[string]string{
		"plain":              sign(t, is.key, header, claims),
		"several audiences":  sign(t, is.key, header, with(claims, members{"aud": []string{"other", "fieldmcp"}})),
		"valid for a while":  sign(t, is.key, header, with(claims, members{"nbf": after(-time.Hour), "iat": after(-time.Hour)})),
		"a clock 20 s ahead": sign(t, is.key, header, with(claims, members{"nbf": after(20 * time.Second)})),
		"expired 20 s ago":   sign(t, is.key, header, with(claims, members{"exp": after(-20 * time.Second)})),
	} {
		if a := knock(t, url, "Bearer "+token); a.Status != 200 || a.Message.Error != nil {
			t.Errorf("%s: HTTP %d %s", name, a.Status, a.Body)
		}
	}
	if fetched := is.fetched.Load(); fetched != 1 {
		t.Errorf("the key set was fetched %d times", fetched)
	}

	good := sign(t, is.key, header, claims)
	unsigned := good[:strings.LastIndex(good, ".")]
	hmacText := encode(t, with(header, members{"alg": "HS256"})) + "." + encode(t, claims)
	point, err := is.key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, point)
	_, _ = io.WriteString(mac, hmacText)
	bad := map[string]string{
		"another key":               sign(t, newKey(t), header, claims),
		"an unlisted key":           sign(t, is.key, with(header, members{"kid": "k2"}), claims),
		"no key":                    sign(t, is.key, with(header, members{"kid": nil}), claims),
		"a key of another type":     sign(t, is.key, with(header, members{"kid": "other"}), claims),
		"another algorithm":         sign(t, is.key, with(header, members{"alg": "ES384"}), claims),
		"no algorithm":              encode(t, with(header, members{"alg": "none"})) + "." + encode(t, claims) + ".",
		"the public key as secret":  hmacText + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)),
		"critical extensions":       sign(t, is.key, with(header, members{"crit": []string{"b64"}, "b64": false}), claims),
		"another issuer":            sign(t, is.key, header, with(claims, members{"iss": "https://evil.example.com"})),
		"no issuer":                 sign(t, is.key, header, with(claims, members{"iss": nil})),
		"another audience":          sign(t, is.key, header, with(claims, members{"aud": "other"})),
		"no audience":               sign(t, is.key, header, with(claims, members{"aud": nil})),
		"expired":                   sign(t, is.key, header, with(claims, members{"exp": after(-31 * time.Second)})),
		"never expires":             sign(t, is.key, header, with(claims, members{"exp": nil})),
		"not yet valid":             sign(t, is.key, header, with(claims, members{"nbf": after(31 * time.Second)})),
		"issued in the future":      sign(t, is.key, header, with(claims, members{"iat": after(time.Hour)})),
		"an unknown organisation":   sign(t, is.key, header, with(claims, members{"org": "somebody"})),
		"no signature":              unsigned + ".",
		"two parts":                 unsigned,
		"changed claims":            encode(t, header) + "." + encode(t, with(claims, members{"org": "narrow"})) + good[strings.LastIndex(good, "."):],
		"a signature in ASN.1 size": good + "AAAA",
		"too long":                  good + strings.Repeat("A", 10<<10),
	}
	for name, token := range bad {
		// A new system for each token: an address with too many failures is locked out.
		url := systemtest.Serve(t, newSystem(t, fieldmcp.Options{Identity: &is.identity, Now: now.Now}))
		if a := knock(t, url, "Bearer "+token); !refusedWith(a, 401) {
			t.Errorf("%s: HTTP %d %s", name, a.Status, a.Body)
		}
	}
	if a := knock(t, url, "Bearer "+sign(t, is.key, header, with(claims, members{"org": "suspended"}))); !refusedWith(a, 403) {
		t.Errorf("suspended: HTTP %d %s", a.Status, a.Body)
	}
}

// The key set is fetched again when it is old, and for an unknown key, but not for every token with one; if it cannot
// be fetched, no caller is blamed.
func TestKeySet(t *testing.T) {
	t.Parallel()
	now := newClock()
	is := newIssuer(t)
	url := systemtest.Serve(t, newSystem(t, fieldmcp.Options{Identity: &is.identity, Now: now.Now}))
	token := func(kid string) string {
		return "Bearer " + sign(t, is.key, map[string]any{"alg": "ES256", "kid": kid},
			map[string]any{"iss": is.identity.Issuer, "aud": "fieldmcp", "exp": now.Now().Add(time.Hour).Unix(), "org": "willow"})
	}
	steps := []struct {
		name    string
		pass    time.Duration
		kid     string
		down    bool
		status  int
		fetched int32
	}{
		{"the first key", 0, "k1", false, 200, 1},
		{"the same key", time.Second, "k1", false, 200, 1},
		{"an invented key at once", time.Second, "k9", false, 401, 1},
		{"an invented key after a minute", time.Minute, "k9", false, 401, 2},
		{"another one", time.Second, "k8", false, 401, 2},
		{"the set is old, and the issuer fails", 10 * time.Minute, "k1", true, 500, 3},
		{"the issuer answers again", 0, "k1", false, 200, 4},
	}
	for _, step := range steps {
		now.pass(step.pass)
		is.down.Store(step.down)
		a := knock(t, url, token(step.kid))
		if a.Status != step.status || is.fetched.Load() != step.fetched {
			t.Errorf("%s: HTTP %d, fetched %d times: %s", step.name, a.Status, is.fetched.Load(), a.Body)
		}
	}
}

// Each state of an organisation's connection to the provider has its code.
func TestConnections(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/provider-scopes")

	for _, test := range []struct {
		organisation string
		tool         string
		arguments    string
		code         string
		scopes       []string
	}{
		{"willow", "deere_get_field", `{"fieldId":"FLD-101"}`, "", nil},
		{"willow", "deere_get_operation", `{"operationId":"OP-1"}`, "", nil},
		{"willow", "deere_get_equipment", `{"equipmentId":"EQ-1"}`, "", nil},
		{"narrow", "deere_get_field", `{"fieldId":"FLD-101"}`, "", nil},
		{"narrow", "deere_get_operation", `{"operationId":"OP-1"}`, "MISSING_SCOPE", []string{"ag2"}},
		{"narrow", "deere_get_equipment", `{"equipmentId":"EQ-1"}`, "MISSING_SCOPE", []string{"ag3"}},
		{"lapsed", "deere_get_field", `{"fieldId":"FLD-101"}`, "TOKEN_EXPIRED", nil},
		{"revoked", "deere_get_field", `{"fieldId":"FLD-101"}`, "TOKEN_REVOKED", nil},
		{"new", "deere_get_field", `{"fieldId":"FLD-101"}`, "PROVIDER_NOT_CONNECTED", nil},
	} {
		t.Run(test.organisation+" "+test.tool, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, fieldmcp.Options{Organisation: test.organisation})
			client := systemtest.Stdio(t, s.MCPServer())
			if test.code == "" {
				succeed(t, client, test.tool, test.arguments)
				return
			}
			f := fail(t, client, test.tool, test.arguments)
			if diff := cmp.Diff(test.scopes, f.MissingScopes); diff != "" || f.Code != test.code || f.Provider != "John Deere" || f.Retryable {
				t.Errorf("%+v, scopes (-want +got):\n%s", f, diff)
			}
		})
	}
}

// Calls follow when a connection changes, by what the farmer does in the dashboard or in the account at the provider.
func TestConnectionsChange(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/code-token-expired", "fieldmcp/code-token-revoked", "fieldmcp/code-missing-scope", "fieldmcp/code-provider-not-connected",
		"fieldmcp/hint-token-expired", "fieldmcp/hint-token-revoked", "fieldmcp/hint-missing-scope", "fieldmcp/hint-provider-not-connected",
		"fieldmcp/field-missing-scopes", "fieldmcp/provider-scopes", "fieldmcp/upstream-401", "fieldmcp/upstream-invalid-grant",
		"fieldmcp/upstream-insufficient-scope", "fieldmcp/field-provider", "fieldmcp/decision-auth")

	s := newSystem(t, fieldmcp.Options{Quotas: plenty})
	url := systemtest.Serve(t, s)
	client := systemtest.Connect(t, url, testkit.Modern, s.Entrance().Header)
	change := func(action string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.TrimSuffix(url, "/mcp")+"/dashboard/"+action, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = s.Entrance().Header.Clone()
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: HTTP %d %s", action, resp.StatusCode, body)
		}
	}
	for _, step := range []struct {
		action string
		code   string
		hint   string
		scopes []string
	}{
		{"narrow?scopes=ag1", "MISSING_SCOPE", "The farmer needs to re-authorize with the required scopes, see missingScopes.", []string{"ag2"}},
		{"connect", "", "", nil},
		{"lapse", "TOKEN_EXPIRED", "This is the provider's token, not yours. The farmer needs to re-authorize John Deere in the dashboard.", nil},
		{"connect", "", "", nil},
		{"revoke", "TOKEN_REVOKED", "The farmer needs to re-connect John Deere in the dashboard.", nil},
		{"connect?scopes=ag1,ag3", "MISSING_SCOPE", "The farmer needs to re-authorize with the required scopes, see missingScopes.", []string{"ag2"}},
		{"disconnect", "PROVIDER_NOT_CONNECTED", "The farmer needs to connect John Deere in the dashboard first.", nil},
		{"connect", "", "", nil},
	} {
		change(step.action)
		if step.code == "" {
			succeed(t, client, "deere_get_operation", `{"operationId":"OP-1"}`)
			continue
		}
		f := fail(t, client, "deere_get_operation", `{"operationId":"OP-1"}`)
		if diff := cmp.Diff(step.scopes, f.MissingScopes); diff != "" || f.Code != step.code || f.SuggestedAction != step.hint || f.Retryable || f.Provider != "John Deere" {
			t.Errorf("%s: %+v, scopes (-want +got):\n%s", step.action, f, diff)
		}
	}
	for _, action := range []string{"elsewhere", "narrow?scopes=ag9"} {
		resp, err := http.Post(strings.TrimSuffix(url, "/mcp")+"/dashboard/"+action, "", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a key: HTTP %d", action, resp.StatusCode)
		}
	}
	if err := s.Revoke("nobody"); err == nil {
		t.Error("access that was never granted was revoked")
	}
}

// Access lasts while it is used, since each refresh token is used once and replaced; after 90 days without use it ends.
func TestAccessLasts(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/token-90-days", "fieldmcp/refresh-rotation")

	now := newClock()
	client := systemtest.HTTP(t, newSystem(t, fieldmcp.Options{Now: now.Now, Quotas: plenty}), testkit.Legacy)
	const day = 24 * time.Hour
	for _, pass := range []time.Duration{0, 89 * day, 89 * day, 90*day - time.Second} {
		now.pass(pass)
		succeed(t, client, "deere_get_organization", `{"orgId":"ORG-1"}`)
	}
	now.pass(90 * day)
	if f := fail(t, client, "deere_get_organization", `{"orgId":"ORG-1"}`); f.Code != "TOKEN_EXPIRED" {
		t.Errorf("%+v", f)
	}
}

// The organisation is determined by the credentials, whatever a client says.
func TestOrganisationOfCredentials(t *testing.T) {
	t.Parallel()
	client := testkit.NewClient(t, systemtest.Serve(t, newSystem(t, fieldmcp.Options{})), testkit.Modern)
	client.Header = http.Header{"Authorization": {"Bearer " + fieldmcp.APIKey("new")}, "Fieldmcp-Organisation": {"willow"}}
	a, err := client.Call(t.Context(), "deere_get_organization", `{"orgId":"ORG-1"}`)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(a.Body), "PROVIDER_NOT_CONNECTED") {
		t.Errorf("%s", a.Body)
	}
}

// An access token is valid for 30 minutes, and refreshed when less than 5 remain.
func TestTokenRefresh(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/provider-token-refresh")

	now := newClock()
	s := newSystem(t, fieldmcp.Options{Now: now.Now})
	client := systemtest.HTTP(t, s, testkit.Legacy)
	for _, step := range []struct {
		name      string
		pass      time.Duration
		refreshed int
	}{
		{"the first call", 0, 1},
		{"a call a minute later", time.Minute, 1},
		{"5 minutes before the end", 24 * time.Minute, 1},
		{"a second later", time.Second, 2},
		{"5 minutes before the next end", 25 * time.Minute, 2},
		{"long after it", time.Hour, 3},
	} {
		now.pass(step.pass)
		succeed(t, client, "deere_get_organization", `{"orgId":"ORG-1"}`)
		if got := s.Asked("/oauth/token"); got != step.refreshed {
			t.Errorf("%s: refreshed %d times, want %d", step.name, got, step.refreshed)
		}
	}
}

// Any token is either parsed or refused.
func FuzzToken(f *testing.F) {
	for _, seed := range []string{
		"", "a.b.c", "eyJhbGciOiJFUzI1NiJ9.e30." + strings.Repeat("A", 86), "eyJhbGciOiJub25lIn0.e30.", "eyJhbGciOiJFUzI1NiJ9.eyJhdWQiOlsxXX0.AA",
		"eyJhbGciOiJFUzI1NiJ9.eyJleHAiOjFlMzA4fQ." + strings.Repeat("A", 86),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		err := fieldmcp.CheckToken(token, time.Unix(1_800_000_000, 0))
		if err == nil {
			t.Errorf("%q is accepted without an issuer", token)
		}
	})
}
