package connection_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
)

// A provider that does not know the gateway's redirect URI shows an error, and does not redirect back. The link remains
// valid: after the operator has registered the URI, it works.
func TestUnknownRedirectURI(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	b := s.browser()
	link := s.invite(s.provider, ada)
	b.submit(link, "step", "enter", "key", "ada's key")
	s.pages.URL = func(*http.Request) string { return "http://localhost:1" }
	at := b.submit(link)
	at.wants(t, http.StatusBadRequest, "redirect_uri")
	if at.url.Host != "127.0.0.1:2" {
		t.Errorf("got page %s", at.url)
	}
	s.pages.URL = func(*http.Request) string { return gatewayURL }
	b.open(link).wants(t, http.StatusOK, "Continue to John Deere")
	b.signIn(b.submit(link)).wants(t, http.StatusOK, "John Deere is connected")
}

// If the provider refuses the redirect URI when the code is redeemed, nothing is connected. The log has only the
// error's code, and the page nothing; a request with a code is never redirected.
func TestRefusedAtTheTokenEndpoint(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]atTokenEndpoint{
		"invalid grant": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"redirect_uri of code-1 and hunter2"}`)
		}, "John Deere did not accept the sign-in", "400 Bad Request invalid_grant"},
		"an unknown error code": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":"redirect_uri_mismatch","error_description":"code-1"}`)
		}, "does not accept this gateway", "redirect_uri_mismatch"},
		"a token with a line break":   issues("code-1\\r\\nX-Evil: hunter2"),
		"a token with a blank":        issues("code-1 hunter2"),
		"a token that is not ASCII":   issues("code-1\\u0080hunter2"),
		"a token with a control code": issues("code-1\\u0000hunter2"),
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:5/steal", http.StatusTemporaryRedirect)
		}, "does not accept this gateway", "307"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.hosts["127.0.0.1:5"] = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a code was sent elsewhere") })
			s.hosts["127.0.0.1:2"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/oauth/token" {
					test.token(w, r)
					return
				}
				http.Redirect(w, r, r.FormValue("redirect_uri")+"?code=code-1&state="+r.FormValue("state"), http.StatusFound)
			})
			var log logged
			s.pages.Log = log.logger()
			b := s.browser()
			link := s.invite(s.provider, ada)
			b.submit(link, "step", "enter", "key", "ada's key")
			at := b.submit(link)
			at.wants(t, http.StatusBadGateway, test.page)
			at.wants(t, http.StatusBadGateway, "Ask your agent for a new link") // the link was used
			if !strings.Contains(log.String(), test.cause) {
				t.Errorf("got log %s", log.String())
			}
			for _, secret := range []string{"code-1", "hunter2", "state="} {
				if strings.Contains(at.text+log.String(), secret) {
					t.Errorf("%q is in %s or %s", secret, at.text, log.String())
				}
			}
			_, err := s.Credential(t.Context(), s.provider, "ada")
			wantKind(t, err, recourse.KindNotConnected)
			b.open(link).wants(t, http.StatusGone, "used already")
		})
	}
}

// atTokenEndpoint is what a token endpoint does, and what a person and the log are told of it.
type atTokenEndpoint struct {
	token http.HandlerFunc
	page  string
	cause string
}

// issues answers with an access token, spelled in JSON, that no header can carry.
func issues(token string) atTokenEndpoint {
	return atTokenEndpoint{func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"`+token+`","token_type":"Bearer"}`)
	}, "access token that cannot be used", "cannot be sent in a header"}
}
