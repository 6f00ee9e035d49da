package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
	"github.com/recoursehq/recourse/systems/fieldmcp"
)

// Accounts are two gateways that share a store, in front of a fieldmcp server that uses the callers' accounts at its
// provider.
type accounts struct {
	t         *testing.T
	authority *authority
	replicas  []*replica
}

// startAccounts starts them for that many callers with API keys. Access tokens of the provider are valid for life.
func startAccounts(t *testing.T, callers int, life time.Duration, store string) *accounts {
	t.Helper()
	keys := make([]string, callers)
	for i := range keys {
		keys[i] = fmt.Sprintf("{name: caller-%d, hash: '%s'}", i, auth.HashOf(keyOf(i)))
	}
	return startAccountsOf(t, "keys: ["+strings.Join(keys, ", ")+"]", life, store)
}

// startAccountsOf starts them with an access control entry, in which ISSUER is replaced by the authority's URL. The
// pages that people open are served by the two gateways in turns.
func startAccountsOf(t *testing.T, access string, life time.Duration, store string) *accounts {
	t.Helper()
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "recourse") // TestMain runs the command of this name
	if os.Symlink(exe, program) != nil {
		program += ".exe"
		if err := os.Link(exe, program); err != nil {
			t.Fatal(err)
		}
	}
	a := &accounts{t: t}
	for i := range 2 {
		a.replicas = append(a.replicas, &replica{
			t: t, program: program, config: filepath.Join(dir, fmt.Sprintf("replica-%d.yaml", i)), address: freeAddress(t), admin: freeAddress(t),
		})
	}
	var next atomic.Int64
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: a.replicas[next.Add(1)%2].address})
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(front.Close)
	public := front.URL
	a.authority = newAuthority(t, public, life)
	system, err := fieldmcp.New(fieldmcp.Options{Provider: a.authority.url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = system.Close() })
	srv := httptest.NewServer(system.Handler())
	t.Cleanup(srv.Close)
	for _, r := range a.replicas {
		text := fmt.Sprintf(`
listen: %s
admin: %s
console: true
public_url: %s
store: '%s'
connection_keys: [a secret that both of the replicas know]
access: {team: {%s}}
providers:
  deere:
    {title: John Deere, authorize_url: '%[6]s/auth', token_url: '%[6]s/oauth/token', client_id: recourse, client_secret: hunter2, scopes: [ag1, offline_access]}
servers:
  farm: {url: '%[7]s/mcp', contract: fieldmcp, access: [team], connection: deere, timeout: 30s}
`, r.address, r.admin, public, store, strings.ReplaceAll(access, "ISSUER", a.authority.url), a.authority.url, srv.URL)
		if err := os.WriteFile(r.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r.start()
		t.Cleanup(func() {
			_ = r.process.Process.Kill()
			_ = r.process.Wait()
		})
	}
	return a
}

func keyOf(caller int) string { return fmt.Sprintf("the key of caller %d", caller) }

// client returns a caller's client at a replica.
func (a *accounts) client(caller, replica int) *testkit.Client {
	a.t.Helper()
	c := testkit.NewClient(a.t, "http://"+a.replicas[replica].address+"/farm/mcp", testkit.Modern)
	c.Header = http.Header{"Authorization": {"Bearer " + keyOf(caller)}}
	return c
}

// An instruction is what a failure of fieldmcp tells an agent to do. The zero value means that there was no failure.
type instruction struct {
	Code            string   `json:"code"`
	Message         string   `json:"message"`
	SuggestedAction string   `json:"suggestedAction"`
	Provider        string   `json:"provider"`
	MissingScopes   []string `json:"missingScopes"`

	link string // from the message
}

// ask makes a call, and returns the instruction in its failure.
func ask(ctx context.Context, c *testkit.Client, tool, arguments string) (said instruction, err error) {
	a, err := c.Call(ctx, tool, arguments)
	if err != nil {
		return said, err
	}
	result, err := a.ToolResult()
	switch {
	case err != nil:
		return said, fmt.Errorf("HTTP %d %s: %w", a.Status, a.Body, err)
	case !result.IsError:
		return said, nil
	}
	err = json.Unmarshal([]byte(result.Text()), &said)
	_, said.link, _ = strings.Cut(said.Message, "Connect it at ")
	return said, err
}

// must makes a call and fails the test unless it ends with code; "" means success.
func (a *accounts) must(c *testkit.Client, tool, arguments, code string) instruction {
	a.t.Helper()
	said, err := ask(a.t.Context(), c, tool, arguments)
	if err != nil || said.Code != code {
		a.t.Fatalf("%s: code %q, want %q: %+v, %v", tool, said.Code, code, said, err)
	}
	return said
}

var requestID = regexp.MustCompile(`name="id" value="([^"]+)"`)

// signIn follows a link as a person would: identifies, agrees, and signs in at the provider. It returns the page that
// asks for agreement.
func (a *accounts) signIn(caller int, link string) string {
	a.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		a.t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	submit := func(at string, fields ...string) (page string, from *url.URL) {
		a.t.Helper()
		form := url.Values{}
		for i := 0; i < len(fields); i += 2 {
			form.Set(fields[i], fields[i+1])
		}
		resp, err := browser.PostForm(at, form)
		if err != nil {
			a.t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			a.t.Fatalf("%s: HTTP %d %s %v", at, resp.StatusCode, text, err)
		}
		return string(text), resp.Request.URL
	}
	consent, _ := submit(link, "step", "enter", "key", keyOf(caller))
	login, at := submit(link)
	id := requestID.FindStringSubmatch(login)
	if id == nil {
		a.t.Fatalf("no sign-in at %s: %s", at, login)
	}
	done, _ := submit(a.authority.url+"/login/username", "id", id[1], "username", "test-user@"+at.Hostname(), "password", "verysecure")
	if !strings.Contains(done, "John Deere is connected") {
		a.t.Fatalf("%s", done)
	}
	browser.CloseIdleConnections()
	return consent
}

const (
	anOrganization = `{"orgId":"ORG-1"}`
	aMachine       = `{"equipmentId":"EQ-1"}`
)

// Following the instructions of the contract works: the farmer connects the account, extends its scopes, and connects
// again after a revocation. Each time the agent's next call succeeds at either gateway.
func TestFarmerReconnects(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/code-provider-not-connected", "fieldmcp/hint-provider-not-connected", "fieldmcp/code-missing-scope",
		"fieldmcp/hint-missing-scope", "fieldmcp/field-missing-scopes", "fieldmcp/client-scopes", "fieldmcp/code-token-revoked",
		"fieldmcp/hint-token-revoked", "fieldmcp/upstream-invalid-grant", "fieldmcp/upstream-insufficient-scope", "fieldmcp/field-provider",
		"fieldmcp/decision-auth")
	a := startAccounts(t, 2, time.Hour, "sqlite:"+filepath.Join(t.TempDir(), "recourse.db"))
	first, second := a.client(0, 0), a.client(0, 1)

	said := a.must(first, "deere_get_organization", anOrganization, "PROVIDER_NOT_CONNECTED")
	if said.Provider != "John Deere" || said.SuggestedAction != "The farmer needs to connect John Deere in the dashboard first." {
		t.Errorf("%+v", said)
	}
	a.signIn(0, said.link)
	a.must(first, "deere_get_organization", anOrganization, "")

	said = a.must(second, "deere_get_equipment", aMachine, "MISSING_SCOPE")
	if fmt.Sprint(said.MissingScopes) != "[ag3]" || !strings.Contains(said.SuggestedAction, "re-authorize with the required scopes") {
		t.Errorf("%+v", said)
	}
	if page := a.signIn(0, said.link); !strings.Contains(page, "<code>ag3</code>") || !strings.Contains(page, "<code>ag1</code>") {
		t.Errorf("the page does not show the scopes: %s", page)
	}
	a.must(first, "deere_get_equipment", aMachine, "")

	a.authority.revokeAll()
	said = a.must(first, "deere_get_organization", anOrganization, "TOKEN_REVOKED")
	if said.SuggestedAction != "The farmer needs to re-connect John Deere in the dashboard." {
		t.Errorf("%+v", said)
	}
	a.signIn(0, said.link)
	a.must(first, "deere_get_equipment", aMachine, "")
	a.must(a.client(1, 1), "deere_get_organization", anOrganization, "PROVIDER_NOT_CONNECTED") // accounts belong to one caller
	if got := a.authority.tally(); got.signIns != 3 || got.replayed != 0 {
		t.Errorf("%+v", got)
	}
}

// Two gateways refresh tokens that can be used once while many callers make calls: no call fails, no sign-in is
// revoked, and nobody has to sign in again.
func TestExpiries(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/refresh-rotation")
	expire(t, 8, 16, "sqlite:"+filepath.Join(t.TempDir(), "recourse.db"))
}

// The same a thousand times, with PostgreSQL.
func TestLongExpiries(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	expire(t, 30, 1000, service.Postgres(t))
}

// expire lets the tokens of the callers expire, times in total.
func expire(t *testing.T, callers, times int, store string) {
	t.Helper()
	const life = 12 * time.Second // a token is refreshed when 10 s are left at the latest
	a := startAccounts(t, callers, life, store)
	for i := range callers {
		a.signIn(i, a.must(a.client(i, 0), "deere_get_organization", anOrganization, "PROVIDER_NOT_CONNECTED").link)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var work sync.WaitGroup
	var mu sync.Mutex
	calls := 0
	for i := range callers {
		for replica := range a.replicas {
			c := a.client(i, replica)
			work.Go(func() {
				for ctx.Err() == nil && a.authority.tally().redeemed < times {
					said, err := ask(ctx, c, "deere_get_organization", anOrganization)
					if err != nil || said.Code != "" {
						t.Errorf("caller %d at replica %d: got %+v, %v", i, replica, said, err)
						cancel()
					}
					mu.Lock()
					calls++
					mu.Unlock()
					time.Sleep(100 * time.Millisecond) // the tokens expire with time, however many calls are made
				}
			})
		}
	}
	work.Wait()
	got := a.authority.tally()
	t.Logf("%d calls, %+v", calls, got)
	if got.redeemed < times || got.replayed != 0 || got.revoked != 0 || got.signIns != callers {
		t.Errorf("%+v", got)
	}
}
