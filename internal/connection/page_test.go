package connection_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/test/testkit/openid"
)

// hosts are servers in memory by host, so that their time is virtual.
type hosts map[string]http.Handler

func (h hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	w, served := httptest.NewRecorder(), r.Clone(r.Context())
	served.RemoteAddr, served.RequestURI = "127.0.0.1:5", r.URL.RequestURI()
	if served.Host == "" {
		served.Host = r.URL.Host
	}
	if served.Body == nil {
		served.Body = http.NoBody
	}
	h[r.URL.Host].ServeHTTP(w, served)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

const (
	gatewayURL  = "http://127.0.0.1:1"
	providerURL = "http://127.0.0.1:2"
)

// A stage is a gateway's pages and a real provider, zitadel's. Its tokens are valid for 5 minutes, and its refresh
// tokens can be used once.
type stage struct {
	*connection.Manager

	t        *testing.T
	pages    *connection.Pages
	hosts    hosts
	dir      string // of the store
	provider *connection.Provider
	key      *connection.Provider // accounts at this provider are connected by a key
}

// realProvider returns the provider of all stages: a second one would change global state of the first.
var realProvider = sync.OnceValue(func() http.Handler {
	client := storage.WebClient("recourse", "hunter2", gatewayURL+"/connect/callback", gatewayURL+"/connect/login")
	document := storage.NativeClient(gatewayURL+"/connect/client/deere.json", gatewayURL+"/connect/callback")
	accounts := storage.NewStorageWithClients(storage.NewUserStore(providerURL), map[string]*storage.Client{
		"recourse": client, document.GetID(): document, "agent": storage.WebClient("agent", "hunter2", gatewayURL+"/connect/callback"),
	})
	return openid.Provider(providerURL, agentsGetJWTs{accounts})
})

// agentsGetJWTs is a storage whose client "agent" gets access tokens that are JWTs: the provider exchanges no others.
type agentsGetJWTs struct{ *storage.Storage }

func (s agentsGetJWTs) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	client, err := s.Storage.GetClientByClientID(ctx, id)
	if err == nil && id == "agent" {
		client = getsJWTs{client}
	}
	return client, err
}

type getsJWTs struct{ op.Client }

func (getsJWTs) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }

// newStage returns a stage on which the caller ada has the API key "ada's key".
func newStage(t *testing.T) *stage {
	t.Helper()
	pages := &connection.Pages{
		URL: func(*http.Request) string { return gatewayURL }, Log: slog.New(slog.DiscardHandler),
		Asks: func(string) connection.Asked { return connection.Asked{Key: "API key of your agent"} },
		Verify: func(_ *http.Request, access, _, key string) (connection.Person, error) {
			name, ok := strings.CutSuffix(key, "'s key")
			if !ok || access != "team" {
				return connection.Person{}, errors.New("no such key")
			}
			return connection.Person{Access: "team", Name: name}, nil
		},
	}
	s := &stage{t: t, pages: pages, dir: t.TempDir(), hosts: hosts{
		"127.0.0.1:1": pages, "127.0.0.1:2": realProvider(),
	}}
	s.provider = &connection.Provider{
		Name: "deere", Title: "John Deere", Flow: connection.AuthorizationCode, AuthorizeURL: providerURL + "/auth",
		TokenURL: providerURL + "/oauth/token", ClientID: "recourse", ClientSecret: "hunter2",
		Scopes: []string{"openid", "offline_access"}, Header: "Authorization", Prefix: "Bearer ",
	}
	s.key = &connection.Provider{Name: "leaf", Title: "Leaf", Flow: connection.APIKey, Header: "X-Api-Key"}
	s.Manager = s.process()
	pages.Manager, pages.Providers = s.Manager, map[string]*connection.Provider{"deere": s.provider, "leaf": s.key}
	return s
}

// process returns the manager of another process.
func (s *stage) process() *connection.Manager { return manager(s.t, open(s.t, s.dir), s.hosts) }

var (
	ada    = connection.Person{Access: "team", Name: "ada"}
	nobody = connection.Person{}
)

// invite returns the URL of a link.
func (s *stage) invite(p *connection.Provider, by connection.Person) string {
	s.t.Helper()
	how, err := s.Invite(s.t.Context(), connection.LinkRequest{Provider: p, Owner: "ada", By: by, Server: "farm"})
	if err != nil {
		s.t.Fatal(err)
	}
	return gatewayURL + how.Path
}

// A browser keeps cookies and follows redirects.
type browser struct {
	*http.Client

	t *testing.T
}

func (s *stage) browser() browser {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return browser{&http.Client{Jar: jar, Transport: s.hosts}, s.t}
}

// A page is what a browser shows.
type page struct {
	status int
	url    *url.URL
	header http.Header
	text   string
}

func (b browser) read(resp *http.Response, err error) page {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return page{resp.StatusCode, resp.Request.URL, resp.Header, string(text)}
}

func (b browser) open(at string) page { b.t.Helper(); return b.read(b.Get(at)) }
func (b browser) submit(at string, fields ...string) page {
	b.t.Helper()
	form := make(map[string][]string)
	for i := 0; i < len(fields); i += 2 {
		form[fields[i]] = []string{fields[i+1]}
	}
	return b.read(b.PostForm(at, form))
}

var requestID = regexp.MustCompile(`name="id" value="([^"]+)"`)

// signIn signs in at the provider.
func (b browser) signIn(at page) page {
	b.t.Helper()
	id := requestID.FindStringSubmatch(at.text)
	if id == nil || at.url.Path != "/login/username" {
		b.t.Fatalf("no sign-in at %s: HTTP %d %s", at.url, at.status, at.text)
	}
	user := "test-user@" + at.url.Hostname()
	return b.submit(at.url.Scheme+"://"+at.url.Host+"/login/username", "id", id[1], "username", user, "password", "verysecure")
}

func (p page) wants(t *testing.T, status int, text string) {
	t.Helper()
	if p.status != status || !strings.Contains(p.text, text) {
		t.Errorf("%s: HTTP %d, want %d and %q:\n%s", p.url, p.status, status, text, p.text)
	}
}

// A person identifies, agrees, and signs in at the provider; the agent's next call has a credential. The link can be
// used once.
func TestConnectAnAccount(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	b := s.browser()
	_, err := s.Credential(t.Context(), s.provider, "ada")
	wantKind(t, err, recourse.KindNotConnected)
	link := s.invite(s.provider, ada)
	if again := s.invite(s.provider, ada); again != link {
		t.Error("got a new link for the second call")
	}
	b.open(link).wants(t, http.StatusOK, "API key of your agent")
	b.submit(link, "step", "enter", "key", "ada's key").wants(t, http.StatusOK, "Continue to John Deere")
	b.signIn(b.submit(link)).wants(t, http.StatusOK, "John Deere is connected")
	c, err := s.Credential(t.Context(), s.provider, "ada")
	if err != nil || len(c.Value) < 40 {
		t.Fatalf("%+v, %v", c, err)
	}
	b.open(link).wants(t, http.StatusGone, "used already")
	if s.invite(s.provider, ada) == link {
		t.Error("got the used link again")
	}
}

// Only the person who asked gets beyond the first page, and an account is connected within one browser.
func TestLinkOfSomebodyElse(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	link := s.invite(s.provider, ada)
	eve := s.browser()
	eve.submit(link, "step", "enter", "key", "eve's key").wants(t, http.StatusForbidden, "not the key of the caller")
	eve.submit(link, "step", "enter", "key", "made up").wants(t, http.StatusForbidden, "not the key of the caller")
	eve.submit(link).wants(t, http.StatusOK, "API key of your agent")
	for _, path := range []string{"", "made-up", "../etc", strings.Repeat("x", 5000), "a/b", "%00", "%3Cscript%3E"} {
		eve.open(gatewayURL+"/connect/"+path).wants(t, http.StatusGone, "expired, or was used already")
	}

	// Ada begins and is redirected to the provider; someone else returns with the code in another browser.
	b := s.browser()
	b.submit(link, "step", "enter", "key", "ada's key")
	at := b.submit(link)
	var callback string
	b.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/connect/callback" {
			callback = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}
	b.signIn(at)
	if callback == "" {
		t.Fatal("no callback")
	}
	eve.open(callback).wants(t, http.StatusForbidden, "in another browser")
	b.CheckRedirect = nil
	b.open(callback).wants(t, http.StatusGone, "used already") // a stranger has seen the code
	_, err := s.Credential(t.Context(), s.provider, "ada")
	wantKind(t, err, recourse.KindNotConnected)
}

// Forged and replayed callbacks connect nothing, and their parameters are not shown.
func TestCallback(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	b := s.browser()
	at := gatewayURL + "/connect/callback"
	for query, want := range map[string]struct {
		status int
		text   string
	}{
		"":                             {http.StatusBadGateway, "did not connect"},
		"?state=made-up&code=made-up":  {http.StatusGone, "used already"},
		"?state=&code=c":               {http.StatusBadGateway, "did not connect"},
		"?error=access_denied&state=s": {http.StatusOK, "access was denied"},
		"?error=%3Cscript%3Ealert(1)%3C/script%3E": {http.StatusBadGateway, "did not connect"},
	} {
		p := b.open(at + query)
		p.wants(t, want.status, want.text)
		if strings.Contains(p.text, "<script") || strings.Contains(p.text, "made-up") {
			t.Errorf("%s: the page shows a parameter: %s", query, p.text)
		}
	}
}

// A wrong code ends the link, and the provider's text is only logged.
func TestWrongCode(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	b := s.browser()
	link := s.invite(s.provider, ada)
	b.submit(link, "step", "enter", "key", "ada's key")
	at := b.submit(link)
	state := ""
	b.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/connect/callback" {
			state = r.URL.Query().Get("state")
			return http.ErrUseLastResponse
		}
		return nil
	}
	b.signIn(at)
	b.CheckRedirect = nil
	b.open(gatewayURL+"/connect/callback?code=wrong&state="+state).wants(t, http.StatusBadGateway, "John Deere")
	b.open(link).wants(t, http.StatusGone, "used already")
}

// Without access control, an account can be connected on the gateway's own machine only.
func TestLinkWithoutAccessControl(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	b := s.browser()
	link := s.invite(s.key, nobody)
	b.open(link).wants(t, http.StatusOK, "API key of Leaf")
	for _, header := range []http.Header{{"X-Forwarded-For": {"203.0.113.7"}}, {"Host": {"rebound.example.com"}}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = header
		r.Host = header.Get("Host")
		b.read(b.Do(r)).wants(t, http.StatusForbidden, "own machine only")
	}
	b.submit(link, "api_key", " ").wants(t, http.StatusBadRequest, "cannot be an API key")
	b.submit(link, "api_key", " leaf-123 ").wants(t, http.StatusOK, "Leaf is connected")
	if c, err := s.Credential(t.Context(), s.key, "ada"); err != nil || c.Header != "X-Api-Key" || c.Value != "leaf-123" {
		t.Errorf("%+v, %v", c, err)
	}
	b.submit(link, "api_key", "another").wants(t, http.StatusGone, "used already")
}

// Pages of other sites cannot submit the form, frame the page or learn its URL.
func TestPagesAreGuarded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	b := s.browser()
	link := s.invite(s.key, nobody)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, link, strings.NewReader("api_key=evil"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "https://evil.example.com")
	b.read(b.Do(r)).wants(t, http.StatusForbidden, "sent by another site")
	resp, err := b.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	_, style, _ := strings.Cut(string(text), "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	sum := sha256.Sum256([]byte(style))
	if want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(resp.Header.Get("Content-Security-Policy"), want) {
		t.Errorf("the style is not applied: %s", style)
	}
	policy := resp.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") ||
		resp.Header.Get("Referrer-Policy") != "no-referrer" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", resp.Header)
	}
	if _, err := s.Credential(t.Context(), s.key, "ada"); err == nil {
		t.Error("a form of another site connected an account")
	}
}

// Two processes with many callers refresh a real provider's tokens hundreds of times, and nobody has to sign in again.
func TestRealRefreshes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		b := s.browser()
		link := s.invite(s.provider, ada)
		b.submit(link, "step", "enter", "key", "ada's key")
		b.signIn(b.submit(link)).wants(t, http.StatusOK, "is connected")
		other := s.process()
		seen := map[string]bool{}
		var mu sync.Mutex
		for range 100 {
			time.Sleep(time.Minute)
			var callers sync.WaitGroup
			for _, m := range []*connection.Manager{s.Manager, other, s.Manager, other} {
				callers.Go(func() {
					c, err := m.Credential(t.Context(), s.provider, "ada")
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					seen[c.Value] = true
				})
			}
			callers.Wait()
		}
		if len(seen) < 90 {
			t.Errorf("%d tokens in 100 minutes", len(seen))
		}
	})
}

// Behind a proxy that adds a path prefix, browsers get working redirects and cookies.
func TestPagesBelowAPath(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.pages.URL = func(*http.Request) string { return gatewayURL + "/tools" }
	s.hosts["127.0.0.1:1"] = http.StripPrefix("/tools", s.pages)
	b := s.browser()
	link := strings.Replace(s.invite(s.key, ada), "/connect/", "/tools/connect/", 1)
	b.submit(link, "step", "enter", "key", "ada's key").wants(t, http.StatusOK, "API key of Leaf")
	at := b.submit(link, "api_key", "leaf-1")
	at.wants(t, http.StatusOK, "Leaf is connected")
	if at.url.Path != "/tools/connect/done/leaf" {
		t.Errorf("got page %s", at.url)
	}
}

// Two accounts can be connected at the same time in two tabs, and the last page can be reloaded. Its URL has no code.
func TestTwoTabs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	b := s.browser()
	links := [2]string{}
	pages := [2]page{}
	for i, server := range []string{"farm", "barn"} {
		how, err := s.Invite(t.Context(), connection.LinkRequest{Provider: s.provider, Owner: "ada", By: ada, Server: server})
		if err != nil {
			t.Fatal(err)
		}
		links[i] = gatewayURL + how.Path
		b.submit(links[i], "step", "enter", "key", "ada's key")
		pages[i] = b.submit(links[i])
	}
	for _, at := range pages {
		done := b.signIn(at)
		done.wants(t, http.StatusOK, "John Deere is connected")
		if got := done.url.String(); got != gatewayURL+"/connect/done/deere" {
			t.Errorf("got page %s", got)
		}
		b.open(done.url.String()).wants(t, http.StatusOK, "John Deere is connected")
	}
	b.open(gatewayURL+"/connect/done/nobody").wants(t, http.StatusGone, "used already")
}
