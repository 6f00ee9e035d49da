package fieldmcp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/recoursehq/recourse/systems/fieldmcp"
)

// An app is an OAuth client that asks a farmer for access.
type app struct {
	oauth2.Config

	t   *testing.T
	url string // of the provider
	now *clock
}

func newApp(t *testing.T) *app {
	t.Helper()
	a := &app{t: t, now: newClock(), Config: oauth2.Config{
		ClientID: "recourse", ClientSecret: "hunter2", RedirectURL: "http://127.0.0.1:1/back", Scopes: []string{"ag1", "ag3"},
	}}
	p, err := fieldmcp.NewStandIn(fieldmcp.StandInOptions{Now: a.now.Now, Client: &fieldmcp.Application{
		ID: a.ClientID, Secret: a.ClientSecret, Title: "Recourse", RedirectURI: a.RedirectURL,
	}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	a.url = srv.URL
	a.Endpoint = oauth2.Endpoint{AuthURL: srv.URL + "/oauth/authorize", TokenURL: srv.URL + "/oauth/token", AuthStyle: oauth2.AuthStyleInHeader}
	return a
}

// page returns what a browser shows, and the location that it is redirected to.
func (a *app) page(r *http.Request) (status int, text, location string) {
	a.t.Helper()
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r.WithContext(a.t.Context()))
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return resp.StatusCode, string(body), resp.Header.Get("Location")
}

func (a *app) open(at string) (status int, text string) {
	a.t.Helper()
	r, err := http.NewRequest(http.MethodGet, at, http.NoBody)
	if err != nil {
		a.t.Fatal(err)
	}
	status, text, _ = a.page(r)
	return status, text
}

func (a *app) submit(path string, form url.Values, header ...string) (status int, location string) {
	a.t.Helper()
	r, err := http.NewRequest(http.MethodPost, a.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	status, _, location = a.page(r)
	return status, location
}

// agree lets the farmer agree to some scopes, and returns the code.
func (a *app) agree(verifier string, scopes ...string) string {
	a.t.Helper()
	asked, err := url.Parse(a.AuthCodeURL("s1", oauth2.S256ChallengeOption(verifier)))
	if err != nil {
		a.t.Fatal(err)
	}
	form := asked.Query()
	form["agreed"], form["answer"] = scopes, []string{"allow"}
	status, location := a.submit("/oauth/authorize", form)
	back, err := url.Parse(location)
	if err != nil || status != http.StatusSeeOther || !strings.HasPrefix(location, a.RedirectURL+"?") || back.Query().Get("state") != "s1" {
		a.t.Fatalf("HTTP %d, %s, %v", status, location, err)
	}
	return back.Query().Get("code")
}

// get sends a request to the API, and returns the status.
func (a *app) get(path, token string) int {
	a.t.Helper()
	r, err := http.NewRequest(http.MethodGet, a.url+path, http.NoBody)
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	status, _, _ := a.page(r)
	return status
}

// A farmer agrees to some of the requested scopes, and the application gets a token for those. A code can be used once,
// and only with its verifier.
func TestConsent(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	verifier := oauth2.GenerateVerifier()
	status, text := a.open(a.AuthCodeURL("s1", oauth2.S256ChallengeOption(verifier)))
	if status != http.StatusOK || !strings.Contains(text, "<code>ag1</code>") || strings.Contains(text, "<code>ag2</code>") {
		t.Errorf("HTTP %d %s", status, text)
	}
	if _, text := a.open(a.url); !strings.Contains(text, "No application has access.") {
		t.Error(text)
	}
	code := a.agree(verifier, "ag1", "ag2")
	token, err := a.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	if err != nil || token.Extra("scope") != "ag1" {
		t.Fatalf("%+v, %v", token, err)
	}
	if a.get("/fields/FLD-101", token.AccessToken) != http.StatusOK || a.get("/equipment/EQ-1", token.AccessToken) != http.StatusForbidden {
		t.Error("the token has other scopes")
	}
	if _, err := a.Exchange(t.Context(), code, oauth2.VerifierOption(verifier)); err == nil {
		t.Error("a code was accepted twice")
	}
	if _, err := a.Exchange(t.Context(), a.agree(verifier, "ag1"), oauth2.VerifierOption("another")); err == nil {
		t.Error("another verifier was accepted")
	}
	late := a.agree(verifier, "ag1")
	a.now.pass(2 * time.Minute)
	if _, err := a.Exchange(t.Context(), late, oauth2.VerifierOption(verifier)); err == nil {
		t.Error("a code was accepted after two minutes")
	}
	a.ClientSecret = "wrong"
	if _, err := a.Exchange(t.Context(), a.agree(verifier, "ag1"), oauth2.VerifierOption(verifier)); err == nil {
		t.Error("another secret was accepted")
	}
}

// Requests that the application did not make redirect nowhere else, and forms from other sites change nothing.
func TestConsentRefused(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	good, err := url.Parse(a.AuthCodeURL("s1", oauth2.S256ChallengeOption(oauth2.GenerateVerifier())))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"client_id": "other", "redirect_uri": "https://evil.example/", "response_type": "token", "code_challenge_method": "plain", "code_challenge": "",
		"scope": "everything",
	} {
		form := good.Query()
		form.Set(name, value)
		form.Set("answer", "allow")
		if status, location := a.submit("/oauth/authorize", form); status != http.StatusBadRequest || location != "" {
			t.Errorf("%s=%s: HTTP %d, %s", name, value, status, location)
		}
	}
	form := good.Query()
	if status, location := a.submit("/oauth/authorize", form); status != http.StatusSeeOther || !strings.Contains(location, "error=access_denied") {
		t.Errorf("denied: HTTP %d, %s", status, location)
	}
	form.Set("state", `"><script>alert(1)</script>`)
	if _, text := a.open(a.url + "/oauth/authorize?" + form.Encode()); strings.Contains(text, "<script>") {
		t.Error(text)
	}
	for _, path := range []string{"/oauth/authorize", "/"} {
		if status, _ := a.submit(path, form, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden {
			t.Errorf("%s from another site: HTTP %d", path, status)
		}
	}
}

// Access ends when the farmer revokes it, and when a refresh token is used twice.
func TestAccessEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(a *app, token *oauth2.Token){
		"revoked": func(a *app, _ *oauth2.Token) { a.submit("/", url.Values{"change": {"revoke"}}) },
		"lapsed":  func(a *app, _ *oauth2.Token) { a.submit("/", url.Values{"change": {"lapse"}}) },
		"replayed": func(a *app, token *oauth2.Token) {
			for range 2 {
				a.refresh(token.RefreshToken)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newApp(t)
			verifier := oauth2.GenerateVerifier()
			token, err := a.Exchange(t.Context(), a.agree(verifier, "ag1"), oauth2.VerifierOption(verifier))
			if err != nil {
				t.Fatal(err)
			}
			if said, refreshed := a.refresh(token.RefreshToken); said != "" {
				t.Fatal(said)
			} else {
				token.AccessToken, token.RefreshToken = refreshed.AccessToken, refreshed.RefreshToken
			}
			end(a, token)
			want := map[string]string{"revoked": "invalid_grant", "replayed": "invalid_grant", "lapsed": "invalid_token"}[name]
			if said, _ := a.refresh(token.RefreshToken); said != want || a.get("/fields/FLD-101", token.AccessToken) != http.StatusUnauthorized {
				t.Errorf("the token was refreshed: %q", said)
			}
			page := map[string]string{"revoked": "You have revoked", "replayed": "You have revoked", "lapsed": "has lapsed"}[name]
			if _, text := a.open(a.url); !strings.Contains(text, page) {
				t.Error(text)
			}
		})
	}
}

type granted struct {
	Error        string `json:"error"`
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
}

// refresh redeems a refresh token; if it is refused, refresh returns the error.
func (a *app) refresh(token string) (string, granted) {
	a.t.Helper()
	resp, err := http.PostForm(a.Endpoint.TokenURL, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	var said granted
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
		a.t.Fatal(err)
	}
	return said.Error, said
}
