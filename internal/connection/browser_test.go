package connection_test

import (
	"flag"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/connection"
	chromium "github.com/recoursehq/recourse/internal/test/testkit/browser"
)

var screenshots = flag.Bool("screenshots", false, "take the screenshots in docs/connections anew")

// states are the pages in all their states, by name.
func states(t *testing.T) map[string]page {
	t.Helper()
	all := map[string]page{}
	add := func(name string, p page, status int, text string) {
		t.Helper()
		p.wants(t, status, text)
		all[name] = p
	}
	invite := func(s *stage, p *connection.Provider, by connection.Person) string {
		t.Helper()
		how, err := s.Invite(t.Context(), connection.LinkRequest{Provider: p, Owner: "ada", By: by, Server: "farm", Scopes: []string{"ag1", "ag3"}})
		if err != nil {
			t.Fatal(err)
		}
		return gatewayURL + how.Path
	}

	s := newStage(t)
	s.provider.Scopes = []string{"offline_access"}
	link, b := invite(s, s.provider, ada), s.browser()
	add("enter", b.open(link), http.StatusOK, "API key of your agent")
	add("wrong-key", b.submit(link, "step", "enter", "key", "made up"), http.StatusForbidden, "not the key of the caller")
	add("confirm", b.submit(link, "step", "enter", "key", "ada's key"), http.StatusOK, "Continue to John Deere")
	add("done", b.open(gatewayURL+"/connect/done/deere"), http.StatusOK, "John Deere is connected")
	add("gone", b.open(gatewayURL+"/connect/made-up"), http.StatusGone, "used already")
	add("denied", b.open(gatewayURL+"/connect/callback?error=access_denied&state=s"), http.StatusOK, "access was denied")
	add("no-code", b.open(gatewayURL+"/connect/callback?error=server_error&state=s"), http.StatusBadGateway, "did not connect")
	own := invite(s, s.key, nobody)
	add("key", b.open(own), http.StatusOK, "API key of Leaf")
	add("no-key", b.submit(own, "api_key", " "), http.StatusBadRequest, "cannot be an API key")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, own, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Forwarded-For", "203.0.113.7")
	add("elsewhere", b.read(b.Do(r)), http.StatusForbidden, "own machine only")
	s.pages.Asks = func(string) connection.Asked { return connection.Asked{ID: "X-Client-Id", Key: "X-Client-Secret"} }
	add("enter-pair", s.browser().open(link), http.StatusOK, "X-Client-Secret")

	s = newStage(t)
	o := s.withLogin()
	link, b = invite(s, s.provider, bob), s.browser()
	begin := func() page { return b.submit(link, "step", "login") }
	add("other-browser", s.browser().open(b.callback(begin)), http.StatusForbidden, "in another browser")
	o.change(func(o *openID) { o.query = url.Values{"code": nil, "error": {"access_denied"}} })
	add("cancelled", begin(), http.StatusOK, "You have not signed in")
	o.change(func(o *openID) { o.query = url.Values{"error": {"server_error"}} })
	add("failed", begin(), http.StatusBadGateway, "has failed")
	o.change(func(o *openID) { o.query, o.user = nil, "eve" })
	begin()
	s.loginAt("https://login.example.com", "openid") // as in the screenshots
	add("login-again", b.open(link), http.StatusOK, "Sign in as somebody else")
	add("login", s.browser().open(link), http.StatusOK, "First sign in at")
	return all
}

// serve serves pages to a real browser byte for byte.
func serve(t *testing.T, pages map[string]page) (at string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := pages[r.URL.Path[1:]]
		if !ok {
			http.NotFound(w, r)
			return
		}
		maps.Copy(w.Header(), p.header)
		w.WriteHeader(p.status)
		_, _ = io.WriteString(w, p.text)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// The pages are usable in all their states: in light and dark mode, on a phone, with the keyboard alone, and with a
// screen reader.
func TestStatesInABrowser(t *testing.T) {
	t.Parallel()
	pages := states(t)
	at, tab := serve(t, pages), chromium.Open(t)
	tab.Size(360, 740)
	for name := range pages {
		tab.Go(at + "/" + name)
		for _, dark := range []bool{false, true} {
			tab.Dark(dark)
			for _, found := range tab.Inaccessible() {
				t.Errorf("%s, dark %v: %s", name, dark, found)
			}
		}
		if wide := chromium.Value[int](tab, `document.documentElement.scrollWidth`); wide > 360 {
			t.Errorf("%s is %d pixels wide", name, wide)
		}
		// The first action has the focus; the tab key reaches the others, and the focus is visible.
		usable := `[...document.querySelectorAll("a[href], button, input:not([type=hidden])")]`
		all := chromium.Value[int](tab, usable+`.length`)
		asks := chromium.Value[bool](tab, `document.querySelector("form") !== null`)
		if focused := chromium.Value[int](tab, usable+`.indexOf(document.activeElement)`); asks && focused != 0 {
			t.Errorf("%s: got focus on element %d", name, focused)
		} else if !asks && all > 0 {
			tab.Press("\t")
		}
		for i := range all {
			seen := chromium.Value[int](tab, `parseFloat(getComputedStyle(document.activeElement).outlineWidth) > 0 ?
				`+usable+`.indexOf(document.activeElement) : -1`)
			if seen != i {
				t.Errorf("%s: the tab key does not reach element %d of %d, or its focus is invisible", name, i+1, all)
			}
			tab.Press("\t")
		}
	}
}

// Long names do not make a page wider than a phone's screen.
func TestLongNamesOnAPhone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.provider.Title = strings.Repeat("Wide", 50)
	s.provider.Scopes = []string{strings.Repeat("scope", 50)}
	s.pages.Asks = func(string) connection.Asked {
		return connection.Asked{ID: strings.Repeat("X-Id", 30), Key: strings.Repeat("X-Key", 30)}
	}
	link, b := s.invite(s.provider, ada), s.browser()
	at := serve(t, map[string]page{"enter": b.open(link), "confirm": b.submit(link, "step", "enter", "key", "ada's key")})
	tab := chromium.Open(t)
	tab.Size(360, 740)
	for _, name := range []string{"enter", "confirm"} {
		tab.Go(at + "/" + name)
		if wide := chromium.Value[int](tab, `document.documentElement.scrollWidth`); wide > 360 {
			t.Errorf("%s is %d pixels wide", name, wide)
		}
	}
}

// TestScreenshots takes them with -screenshots, as `make screenshots` does.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	if !*screenshots {
		t.Skip("only with -screenshots")
	}
	dir := filepath.Join("..", "..", "docs", "connections")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	at := serve(t, states(t))
	for _, name := range []string{"enter", "login", "confirm"} {
		for _, dark := range []bool{false, true} {
			tab := chromium.Open(t)
			tab.Size(560, 420)
			tab.Dark(dark)
			tab.Go(at + "/" + name)
			file := name
			if dark {
				file += "-dark"
			}
			if err := os.WriteFile(filepath.Join(dir, file+".png"), tab.Screenshot(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
