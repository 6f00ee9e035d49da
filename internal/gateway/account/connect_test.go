package account_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/privacy/seal"
	"github.com/recoursehq/recourse/internal/store"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// connectionKey encrypts credentials.
const connectionKey = "the first secret, of forty-two characters."

// An accountFront is a gateway with a server that needs the caller's account at a provider.
type accountFront struct {
	url      string
	gateway  *gateway.Gateway
	store    *store.Store
	manager  *connection.Manager
	provider *connection.Provider
	refused  atomic.Bool  // the provider refuses to renew
	issued   atomic.Int64 // how many tokens the provider has issued
	codes    atomic.Int64 // how many codes it has given
	log      *gatewaytest.Log
}

// startWithAccounts starts an accountFront in front of srv. more has top-level keys of the configuration, entry keys of
// the server's entry.
func startWithAccounts(t *testing.T, srv *testkit.Server, flow, more string, entry ...string) *accountFront {
	t.Helper()
	return startBefore(t, "url: '"+srv.URL()+"'", flow, more, entry...)
}

// startBefore is startWithAccounts for a server that is reached as the keys in server say. The gateway is in memory if the
// server is.
func startBefore(t *testing.T, server, flow, more string, entry ...string) *accountFront {
	t.Helper()
	f, serve := &accountFront{}, testkit.Serve
	if _, at, _ := strings.Cut(server, "url: "); testkit.IsInMemory(strings.Trim(at, "'")) {
		serve = testkit.ServeInMemory
	}
	tokens := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/device" {
			f.codes.Add(1)
			_, _ = io.WriteString(w, `{"device_code":"device-secret","user_code":"WDJB-MJHT-Q7Z9","verification_uri":"https://provider.test/activate","expires_in":600,"interval":1}`)
			return
		}
		if f.refused.Load() {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"invalid_grant"}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"access_token":"fresh-%d","refresh_token":"next-%d","token_type":"Bearer","expires_in":3600}`, f.issued.Add(1), f.issued.Load())
	}))
	s := gatewaytest.OpenStore(t, "sqlite:"+filepath.Join(t.TempDir(), "recourse.db"))
	f.store = s
	client := &http.Client{Transport: &http.Transport{DialContext: testkit.Dial, DisableKeepAlives: true}}
	f.manager = connection.NewManager(s.Connections(), seal.New(connectionKey), client, slog.New(slog.DiscardHandler))
	t.Cleanup(f.manager.Close)
	f.provider = &connection.Provider{Name: "deere", Title: "John Deere", TokenURL: tokens, ClientID: "recourse", ClientSecret: "hunter2"}
	g, log := gatewaytest.NewReaching(t, gateway.Reach{Dial: testkit.Dial, Connections: f.manager}, fmt.Sprintf(`
store: sqlite:the-test-has-its-own.db
connection_keys: [%[1]q]
providers:
  deere: {title: John Deere, flow: %[2]s, authorize_url: 'https://provider.test/authorize', device_url: '%[3]s/device', token_url: '%[3]s', client_id: recourse, client_secret: hunter2}
servers:
  farm: {%[4]s, connection: deere, %[5]s}
%[6]s
`, connectionKey, flow, tokens, server, strings.Join(entry, ", "), more))
	f.log, f.gateway = log, g
	f.url = serve(t, g)
	return f
}

func (f *accountFront) client(t *testing.T, era testkit.Era) *testkit.Client {
	t.Helper()
	client := testkit.NewClient(t, f.url+"/farm/mcp", era)
	if era == testkit.Legacy {
		if _, err := client.Initialize(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return client
}

// linkIn returns the link in a failure's text.
func (f *accountFront) linkIn(t *testing.T, text string) string {
	t.Helper()
	at := strings.Index(text, f.url+"/connect/")
	if at < 0 {
		t.Fatalf("got %s, want a link in it", text)
	}
	return strings.Fields(text[at:])[0]
}

// The first call fails with a link. A person connects the account there, and the next call reaches the server with the
// credential. Lists need no account.
func TestConnectFromTheLink(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithEra(era))
			f := startWithAccounts(t, srv, "api_key", "")
			client := f.client(t, era)
			if a, err := client.ListTools(t.Context()); err != nil || !strings.Contains(string(a.Body), testkit.Echo) {
				t.Fatalf("got %+v, %v", a, err)
			}
			a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
			if err != nil {
				t.Fatal(err)
			}
			text := a.Result(t).Text()
			record := gatewaytest.Record(t, a)
			if !strings.HasPrefix(text, "[not_connected] ") || record.Kind != recourse.KindNotConnected || record.Retry != recourse.RetryAfterAuth ||
				record.Effect != recourse.EffectNone || srv.Attempts(testkit.Echo) != 0 {
				t.Errorf("got %s %+v", text, record)
			}
			resp, err := http.PostForm(f.linkIn(t, text), url.Values{"api_key": {"deere-key-1"}})
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("the page: got HTTP %d", resp.StatusCode)
			}
			client.MustEcho(t)
			if got := srv.Calls(testkit.Echo)[0].Header.Get("Authorization"); got != "Bearer deere-key-1" {
				t.Errorf("the server got %q", got)
			}
			if strings.Contains(f.log.String(), "deere-key-1") {
				t.Error("the log shows the key")
			}
		})
	}
}

// A server that gives lists only to those who have an account refuses them before it is connected: that is the caller's matter.
func TestListNeedsTheAccount(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t, testkit.WithEra(era))
			f := startWithAccounts(t, srv, "api_key", "")
			client := f.client(t, era)
			srv.Next("tools/list", faults.Unauthorized())
			a, err := client.ListTools(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if record := gatewaytest.Record(t, a); record.Kind != recourse.KindNotConnected || record.Effect != recourse.EffectNone {
				t.Errorf("got %+v", record)
			}
			f.linkIn(t, string(a.Body))
		})
	}
}

// An HTTP API gets the credential of the caller's account; if it refuses the credential, the gateway renews it.
func TestAccountAtAnAPI(t *testing.T) {
	t.Parallel()
	var seen []string
	var mu sync.Mutex
	fields := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Header.Get("Authorization"))
		if len(seen) == 1 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"F-1"}`)
	}))
	t.Cleanup(fields.Close)
	description := filepath.Join(t.TempDir(), "fields.yaml")
	text := "openapi: 3.1.0\ninfo: {title: Fields, version: '1'}\npaths: {/fields: {get: {operationId: list_fields, responses: {'200': {description: ok}}}}}\n"
	if err := os.WriteFile(description, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := startBefore(t, "openapi: '"+description+"', base_url: '"+fields.URL+"', operations: [{methods: [GET]}]", "authorization_code", "")
	f.connect(t)
	a, err := f.client(t, testkit.Modern).Call(t.Context(), "list_fields", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if text := a.Result(t).Text(); !strings.Contains(text, "F-1") || len(seen) != 2 || seen[0] != "Bearer old" || seen[1] != "Bearer fresh-1" {
		t.Errorf("got %s, and the API got %q", text, seen)
	}
}

// If the server refuses a token, the gateway renews it and repeats the call once. If the provider refuses to renew it, the
// account must be connected again.
func TestRefusedAccount(t *testing.T) {
	t.Parallel()
	for _, refused := range []bool{false, true} {
		t.Run(strconv.FormatBool(refused), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			f := startWithAccounts(t, srv, "authorization_code", "")
			f.connect(t)
			f.refused.Store(refused)
			srv.Next(testkit.OrderCreate, faults.Unauthorized())
			a, err := f.client(t, testkit.Legacy).Call(t.Context(), testkit.OrderCreate, `{"reference":"A-17","amount":1}`)
			if err != nil {
				t.Fatal(err)
			}
			if text := a.Result(t).Text(); refused {
				if !strings.HasPrefix(text, "[token_revoked] ") || srv.Orders("A-17") != 0 {
					t.Errorf("got %s and %d orders", text, srv.Orders("A-17"))
				}
				f.linkIn(t, text)
				return
			}
			calls := srv.Calls(testkit.OrderCreate)
			if !a.Succeeded() || srv.Orders("A-17") != 1 || len(calls) != 2 || calls[1].Header.Get("Authorization") != "Bearer fresh-1" {
				t.Errorf("got %s and %d calls", a.Body, len(calls))
			}
		})
	}
}

// connect connects the account that all callers share.
func (f *accountFront) connect(t *testing.T) {
	t.Helper()
	token := connection.Token{Access: "old", Refresh: "r", Expires: time.Now().Add(time.Hour)}
	if err := f.manager.Connect(t.Context(), f.provider, "anybody", "test", token); err != nil {
		t.Fatal(err)
	}
}

// Each caller connects an account of its own with its own key, and the server gets the caller's own credential.
func TestAccountsOfCallers(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	f := startWithAccounts(t, srv, "api_key", "access: {team: {keys: [{name: ada, hash: '"+auth.HashOf("key of ada").String()+
		"'}, {name: eve, hash: '"+auth.HashOf("key of eve").String()+"'}]}}", "access: [team]")
	sessions := map[string]*testkit.Client{}
	for _, name := range []string{"ada", "eve"} {
		client := testkit.NewClient(t, f.url+"/farm/mcp", testkit.Legacy)
		client.Header = http.Header{"Authorization": {"Bearer key of " + name}}
		if _, err := client.Initialize(t.Context()); err != nil {
			t.Fatal(err)
		}
		sessions[name] = client
		a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
		if err != nil {
			t.Fatal(err)
		}
		link := f.linkIn(t, a.Result(t).Text())
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := &http.Client{Jar: jar}
		submit := func(fields url.Values) string {
			t.Helper()
			resp, err := browser.PostForm(link, fields)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		other := map[string]string{"ada": "eve", "eve": "ada"}[name]
		if text := submit(url.Values{"step": {"enter"}, "key": {"key of " + other}}); !strings.Contains(text, "not the key of the caller") {
			t.Errorf("%s uses the link of %s: got %s", other, name, text)
		}
		submit(url.Values{"step": {"enter"}, "key": {"key of " + name}})
		if text := submit(url.Values{"api_key": {"account-of-" + name}}); !strings.Contains(text, "John Deere is connected") {
			t.Errorf("%s: got %s", name, text)
		}
	}
	for name, client := range sessions {
		client.MustEcho(t)
		calls := srv.Calls(testkit.Echo)
		if got := calls[len(calls)-1].Header.Get("Authorization"); got != "Bearer account-of-"+name {
			t.Errorf("from %s the server got %q", name, got)
		}
	}
}

// If a server asks for more scopes, the account is connected again with those as well.
func TestNarrowScopes(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	f := startWithAccounts(t, srv, "authorization_code", "")
	f.connect(t)
	srv.Next(testkit.Echo, faults.InsufficientScope())
	a, err := f.client(t, testkit.Legacy).Call(t.Context(), testkit.Echo, `{"message":"m"}`)
	if err != nil {
		t.Fatal(err)
	}
	text, record := a.Result(t).Text(), gatewaytest.Record(t, a)
	if !strings.HasPrefix(text, "[missing_scope] ") || len(record.MissingScopes) == 0 {
		t.Errorf("got %s %+v", text, record)
	}
	page, err := http.Get(f.linkIn(t, text))
	if err != nil {
		t.Fatal(err)
	}
	defer page.Body.Close()
	shown, err := io.ReadAll(page.Body)
	if err != nil || !strings.Contains(string(shown), record.MissingScopes[0]) {
		t.Errorf("the page does not ask for %s: %s", record.MissingScopes[0], shown)
	}
}
