package connection_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/connection"
)

// A provider that reads documents of clients needs no registration: the gateway serves its own to anybody, and connects accounts
// with its URL as client id and without a secret.
func TestClientDocument(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	at := gatewayURL + connection.ClientPath("deere")
	b := s.browser()
	b.open(at).wants(t, http.StatusGone, "This link has expired")

	s.provider.ClientID, s.provider.ClientSecret = at, ""
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		r, err := http.NewRequestWithContext(t.Context(), method, at, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.hosts.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Cache-Control") != "max-age=3600" {
			t.Errorf("%s: got %d %v", method, resp.StatusCode, resp.Header)
		}
		const want = `{"client_id":"http://127.0.0.1:1/connect/client/deere.json","client_name":"Recourse at 127.0.0.1",` +
			`"client_uri":"http://127.0.0.1:1","redirect_uris":["http://127.0.0.1:1/connect/callback"],` +
			`"grant_types":["authorization_code","refresh_token"],` +
			`"response_types":["code"],"token_endpoint_auth_method":"none","scope":"openid offline_access"}`
		if diff := cmp.Diff(want, string(text)); diff != "" {
			t.Errorf("%s: -want +got\n%s", method, diff)
		}
	}
	link := s.invite(s.provider, ada)
	b.submit(link, "step", "enter", "key", "ada's key")
	b.signIn(b.submit(link)).wants(t, http.StatusOK, "John Deere is connected")
}
