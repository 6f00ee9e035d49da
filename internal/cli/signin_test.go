package cli_test

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/browser"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// Callers with tokens connect an account in a real browser, at two gateways that share one PostgreSQL and answer in
// turns: they sign in at the issuer of their tokens, then at the provider. Signing in as someone else is refused. The
// secrets exchanged with issuer and provider do not appear anywhere.
func TestSignInInABrowser(t *testing.T) {
	t.Parallel()
	store := service.Postgres(t)
	a := startAccountsOf(t, "jwt: {issuer: 'ISSUER', audience: [farm], login: {client_id: recourse, client_secret: hunter2}}", time.Hour, store)
	token := a.authority.token(t, "id1")
	c := &canaries{t: t, of: a}
	agent := func(replica int) *testkit.Client {
		client := a.client(0, replica)
		client.Header = http.Header{"Authorization": {"Bearer " + token}}
		return client
	}
	tab := browser.Open(t)
	signIn := func(user string) {
		t.Helper()
		tab.Await(`location.origin === "` + a.authority.url + `" && document.querySelector("#username") !== null`)
		tab.Type("#username", user)
		tab.Type("#password", "verysecure\r")
		tab.Await(`location.origin !== "` + a.authority.url + `"`)
	}
	look := func(text string) {
		t.Helper()
		tab.Await(`document.body.innerText.includes("` + text + `")`)
		c.clean("the page that says "+text, browser.Value[string](tab, `document.documentElement.outerHTML + document.cookie`))
		at, err := url.Parse(browser.Value[string](tab, `location.href`))
		if err != nil || at.Path == "/connect/login" && at.Query().Get("error") == "" {
			t.Errorf("the browser is still at %s (%v)", at, err)
		}
		c.clean("the URL of the page that says "+text, at.String())
	}
	const owner = "test-user@127.0.0.1"

	said := a.must(agent(0), "deere_get_organization", anOrganization, "PROVIDER_NOT_CONNECTED")
	tab.Go(said.link)
	look("First sign in at")
	tab.Click("button")
	signIn("test-user2")
	look("You are id2 here")
	a.must(agent(1), "deere_get_organization", anOrganization, "PROVIDER_NOT_CONNECTED")
	tab.Click("button") // sign in as someone else
	signIn(owner)
	look("Your agent, id1, gets access to John Deere")
	tab.Click("button")
	signIn(owner)
	look("John Deere is connected")
	tab.Go(said.link)
	look("used already")
	for replica := range a.replicas {
		a.must(agent(replica), "deere_get_organization", anOrganization, "")
	}
	a.authority.revokeAll()
	said = a.must(agent(1), "deere_get_organization", anOrganization, "TOKEN_REVOKED")
	tab.Go(said.link)
	look("Your agent, id1, gets access to John Deere") // no sign-in: the last one is less than an hour ago
	tab.Go(strings.Replace(said.link, "/connect/", "/connect/login?state=forged&code=", 1))
	tab.Await(`document.body.innerText.includes("used already")`)
	c.everywhere(store, "Bearer "+token)
	if got := a.authority.tally(); got.signIns != 1 || got.replayed != 0 {
		t.Errorf("%+v", got)
	}
}

// Canaries are secrets that must not appear anywhere: all that were exchanged between the gateways and the authority.
type canaries struct {
	t  *testing.T
	of *accounts
}

// clean checks that no secret is in text.
func (c *canaries) clean(where, text string) {
	c.t.Helper()
	c.of.authority.mu.Lock()
	defer c.of.authority.mu.Unlock()
	for secret, what := range c.of.authority.secrets {
		if len(secret) > 8 && (strings.Contains(text, secret) || strings.Contains(text, url.QueryEscape(secret))) {
			c.t.Errorf("%s has the %s: %.3000s", where, what, text)
		}
	}
	if strings.Contains(text, "hunter2") {
		c.t.Errorf("%s has the client's secret: %.3000s", where, text)
	}
}

// everywhere checks the gateways' log, store, metrics and pages.
func (c *canaries) everywhere(store string, more ...string) {
	c.t.Helper()
	c.of.authority.mu.Lock()
	kinds := map[string]int{}
	for _, what := range c.of.authority.secrets {
		kinds[what]++
	}
	for _, secret := range more {
		c.of.authority.secrets[secret] = "token of the caller"
	}
	c.of.authority.mu.Unlock()
	for _, what := range []string{"code", "code_verifier", "state", "nonce", "access_token", "refresh_token", "id_token"} {
		if kinds[what] == 0 {
			c.t.Errorf("no %s among %v", what, kinds)
		}
	}
	stored := dump(c.t, store)
	if !strings.Contains(stored, "PROVIDER_NOT_CONNECTED") || !strings.Contains(stored, "deere") {
		c.t.Errorf("the store has %.3000s", stored)
	}
	c.clean("the store", stored)
	for _, r := range c.of.replicas {
		c.clean("the log", r.out.String())
		ids := map[string]bool{}
		for _, path := range []string{"/metrics", "/readyz", "/failures", "/failures?text=connect", "/servers", "/servers/farm", "/contracts/fieldmcp", "/connections"} {
			page := c.fetch("http://" + r.admin + path)
			c.clean(path, page)
			for _, part := range strings.Split(page, `href="/calls/`)[1:] {
				id, _, _ := strings.Cut(part, `"`)
				ids[id] = true
			}
		}
		if len(ids) < 2 { // the last call may not be written yet
			c.t.Errorf("the console shows %d calls", len(ids))
		}
		for id := range ids {
			c.clean("the page of a call", c.fetch("http://"+r.admin+"/calls/"+id))
		}
		var out output
		for _, args := range [][]string{{"connections", "ls"}, {"connections", "show", "deere", "caller team id1"}, {"failures", "--json"}} {
			code := cli.Run(c.t.Context(), cli.Environment{
				Args: append(args, "-c", r.config), Stdout: &out, Stderr: &out, LookupEnv: os.LookupEnv,
			})
			if code != cli.ExitOK {
				c.t.Errorf("%v: exit code %d\n%s", args, code, &out)
			}
		}
		c.clean("what the commands print", out.String())
	}
}

func (c *canaries) fetch(at string) string {
	c.t.Helper()
	resp, err := http.Get(at)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		c.t.Errorf("%s: HTTP %d %s %v", at, resp.StatusCode, text, err)
	}
	return fmt.Sprint(resp.Header) + string(text)
}

// dump returns the content of a PostgreSQL database as text.
func dump(t *testing.T, address string) string {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	list := func(query string) (all []string) {
		t.Helper()
		rows, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			all = append(all, text)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return all
	}
	var all []string
	for _, table := range list("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'") {
		all = slices.Concat(all, list(`SELECT row_to_json(r)::text FROM "`+table+`" r`))
	}
	return strings.Join(all, "\n")
}
