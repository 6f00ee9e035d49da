package console_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/recoursehq/recourse/internal/ops/console"
)

const operatorKey = "rk_operator_secret-canary"

// keys are operators' keys, which can be revoked.
type keys struct {
	mu      sync.Mutex
	revoked bool
	lost    bool
}

func (k *keys) verify(_ context.Context, key string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.lost:
		return "", errors.New("the store is away")
	case key != operatorKey || k.revoked:
		return "", console.ErrNotOperator
	default:
		return "ada", nil
	}
}

// guarded returns the URL of a console with a login, and a browser.
func guarded(t *testing.T, k *keys) (string, *http.Client) {
	t.Helper()
	s := openStore(t)
	write(t, s, failed("req-1", timeout()))
	c := console.New(console.Sources{Journal: s.Journal()}, slog.New(slog.DiscardHandler))
	c.RequireLogin(k.verify)
	server := httptest.NewServer(c.Handler())
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return server.URL, &http.Client{Jar: jar}
}

// enter submits a form.
func enter(t *testing.T, browser *http.Client, to string, form url.Values) (*http.Response, string) {
	t.Helper()
	resp, err := browser.PostForm(to, form)
	if err != nil {
		t.Fatal(err)
	}
	return resp, readAll(t, resp)
}

func visit(t *testing.T, browser *http.Client, to string) (*http.Response, string) {
	t.Helper()
	resp, err := browser.Get(to)
	if err != nil {
		t.Fatal(err)
	}
	return resp, readAll(t, resp)
}

func TestLogin(t *testing.T) {
	t.Parallel()

	at, browser := guarded(t, new(keys))
	resp, page := visit(t, browser, at+"/failures?kind=timeout")
	if resp.Request.URL.Path != "/login" || strings.Contains(page, "req-1") || strings.Contains(page, "<nav") {
		t.Fatalf("without a login: got %s:\n%s", resp.Request.URL, page)
	}
	to := resp.Request.URL.Query().Get("to")
	if resp, page := enter(t, browser, at+"/login", url.Values{"key": {"wrong"}, "to": {to}}); resp.StatusCode != http.StatusForbidden ||
		!strings.Contains(page, "not the key of an operator") || len(resp.Cookies()) > 0 {
		t.Errorf("a wrong key: HTTP %d\n%s", resp.StatusCode, page)
	}
	resp, page = enter(t, browser, at+"/login", url.Values{"key": {" " + operatorKey + "\n"}, "to": {to}})
	if resp.Request.URL.RequestURI() != "/failures?kind=timeout" || !strings.Contains(page, "req-1") || !strings.Contains(page, "Sign out") {
		t.Errorf("after the login: got %s:\n%s", resp.Request.URL, page)
	}
	if strings.Contains(page, operatorKey) {
		t.Error("a page contains the key")
	}
	if resp, _ := enter(t, browser, at+"/logout", nil); resp.Request.URL.Path != "/login" {
		t.Errorf("after the logout: got %s", resp.Request.URL)
	}
	if resp, _ := visit(t, browser, at+"/failures"); resp.Request.URL.Path != "/login" {
		t.Errorf("the session still opens %s", resp.Request.URL)
	}
}

// Scripts and other sites cannot use the cookie, it does not contain the key, and its session ends at the server, too.
func TestCookie(t *testing.T) {
	t.Parallel()

	at, _ := guarded(t, new(keys))
	noRedirect := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, secure := range []bool{false, true} {
		req, err := http.NewRequest(http.MethodPost, at+"/login", strings.NewReader(url.Values{"key": {operatorKey}}.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if secure {
			req.Header.Set("X-Forwarded-Proto", "https")
		}
		resp, err := noRedirect.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if len(resp.Cookies()) != 1 {
			t.Fatalf("HTTP %d with the cookies %v", resp.StatusCode, resp.Cookies())
		}
		c := resp.Cookies()[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure != secure || len(c.Value) < 26 || strings.Contains(c.Value, operatorKey) {
			t.Errorf("got cookie %+v", c)
		}
		stolen, err := http.NewRequest(http.MethodGet, at+"/failures", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		stolen.AddCookie(c)
		out := stolen.Clone(t.Context())
		out.Method, out.URL.Path = http.MethodPost, "/logout"
		for _, r := range []*http.Request{out, stolen} {
			if resp, err = noRedirect.Do(r); err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		if resp.StatusCode != http.StatusSeeOther {
			t.Errorf("after the logout, its cookie gets HTTP %d", resp.StatusCode)
		}
	}
}

// A revoked key opens nothing, and a key that cannot be checked opens nothing yet.
func TestRevokedKey(t *testing.T) {
	t.Parallel()

	k := new(keys)
	at, browser := guarded(t, k)
	enter(t, browser, at+"/login", url.Values{"key": {operatorKey}})
	k.mu.Lock()
	k.lost = true
	k.mu.Unlock()
	if resp, page := visit(t, browser, at+"/failures"); resp.StatusCode != http.StatusServiceUnavailable || strings.Contains(page, "req-1") {
		t.Errorf("without the store: HTTP %d\n%s", resp.StatusCode, page)
	}
	k.mu.Lock()
	k.lost = false
	k.mu.Unlock()
	if resp, _ := visit(t, browser, at+"/failures"); resp.Request.URL.Path != "/failures" {
		t.Errorf("with the store again: %s", resp.Request.URL)
	}
	k.mu.Lock()
	k.revoked = true
	k.mu.Unlock()
	if resp, _ := visit(t, browser, at+"/failures"); resp.Request.URL.Path != "/login" {
		t.Errorf("with a revoked key: %s", resp.Request.URL)
	}
}

// Without a session only the login and the static files are served.
func TestLoginIsRequired(t *testing.T) {
	t.Parallel()

	at, _ := guarded(t, new(keys))
	for path, want := range map[string]int{
		"POST /search": http.StatusUnauthorized, "POST /logout": http.StatusUnauthorized, "POST /failures": http.StatusUnauthorized,
		"GET /failures/live": http.StatusOK, "GET /": http.StatusOK, "GET /nowhere": http.StatusOK, // the login page
		"GET /static/console.css": http.StatusOK, "GET /static/../failures": http.StatusOK,
	} {
		method, path, _ := strings.Cut(path, " ")
		req, err := http.NewRequest(method, at+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if page := readAll(t, resp); resp.StatusCode != want || strings.Contains(page, "req-1") || strings.Contains(page, "failures?") && !strings.HasSuffix(path, "css") {
			t.Errorf("%s %s: HTTP %d\n%s", method, path, resp.StatusCode, page)
		}
	}
}

// A login never redirects to another site.
func TestLoginRedirectsHere(t *testing.T) {
	t.Parallel()

	at, browser := guarded(t, new(keys))
	for _, to := range []string{"https://evil.example.com/", "//evil.example.com", `/\evil.example.com`, "javascript:alert(1)", "/login?to=/", "\t//evil"} {
		resp, _ := enter(t, browser, at+"/login", url.Values{"key": {operatorKey}, "to": {to}})
		if resp.Request.URL.Path != "/failures" || !strings.HasPrefix(at, "http://"+resp.Request.URL.Host) {
			t.Errorf("%q redirects to %s", to, resp.Request.URL)
		}
	}
}

// The number of wrong keys is limited.
func TestGuesses(t *testing.T) {
	t.Parallel()

	at, browser := guarded(t, new(keys))
	for range 25 {
		enter(t, browser, at+"/login", url.Values{"key": {"guess"}})
	}
	if _, page := enter(t, browser, at+"/login", url.Values{"key": {operatorKey}}); !strings.Contains(page, "Too many keys were wrong. Try again in 1") {
		t.Errorf("the right key after many wrong ones:\n%s", page)
	}
}

// A console without a login refuses requests from a proxy, since anyone might reach that.
func TestProxyWithoutLogin(t *testing.T) {
	t.Parallel()

	at := serve(t, console.Sources{})
	for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "Via"} {
		req, err := http.NewRequest(http.MethodGet, at+"/failures", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(name, "192.0.2.7")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if page := readAll(t, resp); resp.StatusCode != http.StatusForbidden || !strings.Contains(page, "console_access") {
			t.Errorf("with %s: HTTP %d\n%s", name, resp.StatusCode, page)
		}
	}
}

// guarded returns the URL of a console of the world with a login.
func (w *world) guarded(t *testing.T) string {
	t.Helper()
	c := console.New(w.sources, slog.New(slog.DiscardHandler))
	c.RequireLogin(new(keys).verify)
	server := httptest.NewServer(c.Handler())
	t.Cleanup(server.Close)
	return server.URL
}
