package access_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
)

// The challenge leads clients to the metadata, and the metadata to the issuer where they can sign in.
func TestResourceMetadata(t *testing.T) {
	t.Parallel()
	issuer := testkit.NewIssuer(t)
	srv := testkit.NewServer(t, testkit.InMemory())
	for name, test := range map[string]struct {
		top, more string
		paths     map[string]string // path to the resource in its metadata; "": not found
		challenge string
	}{
		"one endpoint": {
			"", "",
			map[string]string{
				"/farm/mcp": "BASE/farm/mcp", "": "BASE/farm/mcp", "/": "BASE/farm/mcp", "/open/mcp": "", "/x": "", "-x": "",
			},
			`Bearer scope="farm:read", resource_metadata="BASE/.well-known/oauth-protected-resource/farm/mcp"`,
		},
		"behind a proxy": {
			"public_url: https://mcp.example.com/gw", "",
			map[string]string{"/farm/mcp": "https://mcp.example.com/gw/farm/mcp"},
			`Bearer scope="farm:read", resource_metadata="https://mcp.example.com/gw/.well-known/oauth-protected-resource/farm/mcp"`,
		},
		"two endpoints": {
			"", "\n  shop: {url: '" + srv.URL() + "', access: [staff], path: '/users/{user}/mcp'}",
			map[string]string{
				"/farm/mcp": "BASE/farm/mcp", "/users/ann/mcp": "BASE/users/ann/mcp", "": "",
			},
			`Bearer scope="farm:read", resource_metadata="BASE/.well-known/oauth-protected-resource/farm/mcp"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, _ := gatewaytest.New(t, test.top+"\n"+staff(issuer, "scopes: ['farm:read']")+"\nservers:\n  farm: {url: '"+srv.URL()+
				"', title: The farm, access: [staff], grants: [{scopes: ['farm:write'], tools: ['*']}]}\n  open: {url: '"+srv.URL()+"'}"+test.more+"\n")
			base := gatewaytest.Open(t, g, true)
			c := testkit.NewClient(t, base+"/farm/mcp", testkit.Modern)
			if got := echoed(t, c).Header.Get("WWW-Authenticate"); got != strings.ReplaceAll(test.challenge, "BASE", base) {
				t.Errorf("got challenge %s", got)
			}
			for path, resource := range test.paths {
				c.URL = base + "/.well-known/oauth-protected-resource" + path
				a, err := c.Send(t.Context(), http.MethodGet, nil, http.Header{"Origin": {"https://inspector.example"}})
				if err != nil {
					t.Fatal(err)
				}
				if resource == "" {
					if a.Status != http.StatusNotFound {
						t.Errorf("%s: got HTTP %d %s", path, a.Status, a.Body)
					}
					continue
				}
				var got map[string]any
				if err := json.Unmarshal(a.Body, &got); err != nil || a.Status != http.StatusOK {
					t.Fatalf("%s: got HTTP %d %s", path, a.Status, a.Body)
				}
				scopes, title := []any{"farm:read", "farm:write"}, "The farm"
				if strings.HasPrefix(path, "/users") {
					scopes, title = []any{"farm:read"}, "shop"
				}
				want := map[string]any{
					"resource": strings.ReplaceAll(resource, "BASE", base), "authorization_servers": []any{issuer.URL}, "scopes_supported": scopes,
					"bearer_methods_supported": []any{"header"}, "resource_name": title,
				}
				if diff := cmp.Diff(want, got); diff != "" || a.Header.Get("Access-Control-Allow-Origin") != "*" {
					t.Errorf("%s (-want +got):\n%s", path, diff)
				}
				if a, err = c.Send(t.Context(), http.MethodPost, strings.NewReader("{}"), nil); err != nil || a.Status != http.StatusMethodNotAllowed {
					t.Errorf("POST: got %+v, %v", a, err)
				}
				preflight := http.Header{"Origin": {"https://inspector.example"}, "Access-Control-Request-Method": {"GET"}}
				if a, err = c.Send(t.Context(), http.MethodOptions, nil, preflight); err != nil || a.Status != http.StatusNoContent {
					t.Errorf("preflight: got %+v, %v", a, err)
				}
			}
		})
	}
}

// The answer to a token that lacks a scope is 403, with the scope to ask for.
func TestMissingScope(t *testing.T) {
	t.Parallel()
	issuer := testkit.NewIssuer(t)
	d := openDoor(t, staff(issuer, "scopes: [farm]"), "access: [staff]",
		"grants: [{tools: ['get_*']}, {scopes: [farm, write], tools: ['order_*']}, {scopes: [root, write, farm], tools: ['*']}]")
	for _, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			a := echoed(t, d.As(t, era, "Authorization", "Bearer "+issuer.Token(t, nil)))
			e := gatewaytest.Record(t, a)
			challenge := a.Header.Get("WWW-Authenticate")
			if a.Status != http.StatusForbidden || e.Kind != recourse.KindMissingScope || cmp.Diff([]string{"farm"}, e.MissingScopes) != "" ||
				!strings.Contains(challenge, `error="insufficient_scope"`) || !strings.Contains(challenge, `scope="farm"`) {
				t.Errorf("got HTTP %d %s: %s", a.Status, challenge, a.Body)
			}
			c := d.As(t, era, "Authorization", "Bearer "+issuer.Token(t, map[string]any{"scope": "openid farm"}))
			if era == testkit.Legacy {
				c.MustInitialize(t)
			}
			a, err := c.Call(t.Context(), testkit.OrderCreate, `{"reference":"A","amount":1}`)
			if err != nil {
				t.Fatal(err)
			}
			e, challenge = gatewaytest.Record(t, a), a.Header.Get("WWW-Authenticate")
			if a.Status != http.StatusForbidden || e.Kind != recourse.KindMissingScope || cmp.Diff([]string{"write"}, e.MissingScopes) != "" ||
				e.Message != "The token lacks the scope write." || e.Effect != recourse.EffectNone ||
				!strings.Contains(challenge, `error="insufficient_scope"`) || !strings.Contains(challenge, `scope="openid farm write"`) {
				t.Errorf("got HTTP %d %s: %s", a.Status, challenge, a.Body)
			}
			for name, scopes := range map[string]any{"scope": "farm write", "scp": []string{"farm", "write"}} {
				c.Header.Set("Authorization", "Bearer "+issuer.Token(t, map[string]any{name: scopes}))
				if a, err = c.Call(t.Context(), testkit.OrderCreate, `{"reference":"A","amount":1}`); err != nil || !wasCalled(a) {
					t.Errorf("%s: %v HTTP %d %s", name, err, a.Status, a.Body)
				}
			}
		})
	}
}

// Metadata lead clients to where they sign in: they are given out under the gateway's own names only.
func TestMetadataUnderAForeignName(t *testing.T) {
	t.Parallel()
	issuer := testkit.NewIssuer(t)
	srv := testkit.NewServer(t, testkit.InMemory())
	g, _ := gatewaytest.New(t, staff(issuer)+"\nservers:\n  farm: {url: '"+srv.URL()+"', access: [staff]}\n")
	base := gatewaytest.Open(t, g, true)
	for _, path := range []string{"/.well-known/oauth-protected-resource/farm/mcp", "/.well-known/oauth-protected-resource", "/farm/mcp"} {
		for _, host := range []string{"evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.", "localhost:80:evil.example", "localhost:x"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			transport := &http.Transport{DialContext: testkit.Dial, DisableKeepAlives: true}
			resp, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusForbidden || strings.Contains(string(text)+resp.Header.Get("WWW-Authenticate"), host) {
				t.Errorf("%s of %s: got HTTP %d %s", path, host, resp.StatusCode, text)
			}
		}
	}
}
