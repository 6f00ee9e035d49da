package account_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
)

// A caller with tokens gets a link only if a login is configured: then the page leads to the issuer of the tokens.
func TestLinkOfACallerWithTokens(t *testing.T) {
	t.Parallel()
	for _, login := range []string{"", "login: {client_id: recourse}"} {
		issuer, srv := testkit.NewIssuer(t), testkit.NewServer(t)
		f := startWithAccounts(t, srv, "api_key", "access: {staff: {jwt: {issuer: '"+issuer.URL+"', audience: [farm], "+login+"}}}", "access: [staff]")
		client := testkit.NewClient(t, f.url+"/farm/mcp", testkit.Modern)
		client.Header = http.Header{"Authorization": {"Bearer " + issuer.Token(t, nil)}}
		a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
		if err != nil {
			t.Fatal(err)
		}
		text := a.Result(t).Text()
		if !strings.HasPrefix(text, "[not_connected] ") {
			t.Errorf("got %s", text)
		}
		if login == "" {
			if strings.Contains(text, "/connect/") {
				t.Errorf("got an unusable link: %s", text)
			}
			continue
		}
		resp, err := http.Get(f.linkIn(t, text))
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if host := strings.TrimPrefix(issuer.URL, "http://"); err != nil || !strings.Contains(string(page), "sign in at <strong>"+host) {
			t.Errorf("no link to %s on the page: got %s, %v", host, page, err)
		}
	}
}
