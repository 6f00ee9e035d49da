package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/openid"
)

// A client built with the Go SDK only knows the endpoint's URL. It finds the issuer by the gateway's challenge and
// metadata, lets a person sign in, and calls. For a tool that needs another scope, it signs in again.
func TestClientSignsInWhereTheGatewaySays(t *testing.T) {
	t.Parallel()
	for _, era := range []testkit.Era{testkit.Legacy, testkit.Modern} {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			issuer := newIssuer(t)
			server := testkit.NewServer(t)
			f := start(t, server.URL(), "access: [staff]",
				"grants: [{tools: [get_field], scopes: ['fields:read']}, {tools: [order_create], scopes: ['orders:write']}]",
				"/access: {staff: {jwt: {issuer: '"+issuer.url+"', audience: [desk], scopes: ['fields:read']}}}")
			handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
				PreregisteredClient:      &oauthex.ClientCredentials{ClientID: "desk"},
				RedirectURL:              callback,
				AuthorizationCodeFetcher: issuer.signIn,
			})
			if err != nil {
				t.Fatal(err)
			}
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: f.url, OAuthHandler: handler},
				&mcp.ClientSessionOptions{ProtocolVersion: era.Version()})
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range []mcp.CallToolParams{
				{Name: testkit.GetField, Arguments: map[string]any{"field_id": "F-1"}},
				{Name: testkit.OrderCreate, Arguments: map[string]any{"reference": "A-17", "amount": 1}},
			} {
				result, err := session.CallTool(t.Context(), &call)
				if err != nil || result.IsError {
					t.Fatalf("%s: %v %+v", call.Name, err, result)
				}
			}
			if got := server.Executions(testkit.OrderCreate); got != 1 {
				t.Errorf("the order was created %d times", got)
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			asked := issuer.asked()
			for i, scopes := range asked { // the SDK's order is random
				fields := strings.Fields(scopes)
				slices.Sort(fields)
				asked[i] = strings.Join(fields, " ")
			}
			if want := []string{"fields:read", "fields:read orders:write"}; !slices.Equal(asked, want) {
				t.Errorf("the client asked for %q, want %q", asked, want)
			}
		})
	}
}

// callback is where the issuer redirects the browser. Nobody listens there: the test reads the code from the URL.
const callback = "http://127.0.0.1:1/callback"

// An openIssuer is zitadel's OpenID provider, whose access tokens are JWTs.
type openIssuer struct {
	*storage.Storage

	url string

	mu     sync.Mutex
	scopes []string // requested by each sign-in
}

func newIssuer(t *testing.T) *openIssuer {
	t.Helper()
	issuer := &openIssuer{}
	var handler http.Handler
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(srv.Close)
	issuer.url = srv.URL
	clients := map[string]*storage.Client{"desk": storage.NativeClient("desk", callback)}
	issuer.Storage = storage.NewStorageWithClients(storage.NewUserStore(issuer.url), clients)
	handler = openid.Provider(issuer.url, issuer)
	return issuer
}

// A desk is the client as an OAuth client.
type desk struct{ op.Client }

// AccessTokenType implements [op.Client].
func (desk) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }

// IsScopeAllowed implements [op.Client].
func (desk) IsScopeAllowed(scope string) bool { return strings.Contains(scope, ":") }

// GetClientByClientID implements [op.Storage].
func (i *openIssuer) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := i.Storage.GetClientByClientID(ctx, id)
	return desk{c}, err
}

// GetPrivateClaimsFromScopes implements [op.Storage].
func (*openIssuer) GetPrivateClaimsFromScopes(_ context.Context, _, _ string, scopes []string) (map[string]any, error) {
	return map[string]any{"scope": strings.Join(scopes, " ")}, nil
}

func (i *openIssuer) asked() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.scopes)
}

var signInForm = regexp.MustCompile(`name="id" value="([^"]+)"`)

// signIn acts as the person at the browser.
func (i *openIssuer) signIn(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	at, err := url.Parse(args.URL)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	i.scopes = append(i.scopes, at.Query().Get("scope"))
	i.mu.Unlock()
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	var back *url.URL
	browser := &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if strings.HasPrefix(r.URL.String(), callback) {
			back = r.URL
			return http.ErrUseLastResponse
		}
		return nil
	}}
	defer browser.CloseIdleConnections()
	visit := func(method, address string, form url.Values) (string, error) {
		r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form.Encode()))
		if err != nil {
			return "", err
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := browser.Do(r)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		return string(text), err
	}
	page, err := visit(http.MethodGet, args.URL, nil)
	if err != nil {
		return nil, err
	}
	id := signInForm.FindStringSubmatch(page)
	if id == nil {
		return nil, fmt.Errorf("no sign-in: %s", page)
	}
	user := url.Values{"id": {id[1]}, "username": {"test-user@127.0.0.1"}, "password": {"verysecure"}}
	if page, err = visit(http.MethodPost, i.url+"/login/username", user); err != nil {
		return nil, err
	}
	if back == nil {
		return nil, errors.New("the issuer does not come back: " + page)
	}
	q := back.Query()
	return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
}
