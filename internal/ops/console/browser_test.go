package console_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/ops/console"
	"github.com/recoursehq/recourse/internal/test/testkit/browser"
)

// visited returns the URLs of all pages.
func (w *world) visited(t *testing.T) []string {
	t.Helper()
	answer := `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"It failed.","data":{"requestId":"` + w.last + `"}}}`
	urls := []string{w.remote(t) + "/login?to=/servers"}
	for _, path := range []string{
		"/failures?since=1h", "/failures?group=equal", "/failures?since=2h&server=shop", "/failures?server=none", "/calls/" + w.last, "/calls/" + w.doubted, "/calls/none", "/servers", "/servers/farm",
		"/servers/notes?since=1h", "/contracts", "/contracts/recourse", "/contracts/fieldmcp/codes/RATE_LIMIT_ORG", "/contracts/none", "/connections", "/actions",
		"/connections/disconnect?provider=deere&owner=bob", "/search", "/search?q=" + url.QueryEscape(answer), "/search?q=%7B%22jsonrpc",
	} {
		urls = append(urls, w.url+path)
	}
	return urls
}

// remote returns the URL of a console with a login, as a browser on another machine uses it.
func (w *world) remote(t *testing.T) string {
	t.Helper()
	at, err := url.Parse(w.guarded(t))
	if err != nil {
		t.Fatal(err)
	}
	there := httputil.NewSingleHostReverseProxy(at)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Host = "tools.example.com"
		there.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A checker of accessibility finds nothing serious on any page, in light and dark mode, which only differ in their
// colours.
func TestAccessible(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tab := browser.Open(t)
	tab.Size(1200, 800)
	for _, page := range w.visited(t) {
		tab.Go(page)
		tab.Dark(false)
		for _, found := range tab.Inaccessible() {
			t.Errorf("%s: %s", page, found)
		}
		tab.Dark(true)
		for _, found := range tab.Inaccessible("color-contrast", "link-in-text-block") {
			t.Errorf("%s, dark: %s", page, found)
		}
	}
}

// On a phone no page is wider than the screen, whatever its texts.
func TestPhones(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := failed("req-long", timeout().WithMessage("%s", strings.Repeat("W", 5000)))
	long.Tool, long.Caller = strings.Repeat("tool", 100), strings.Repeat("x", 128)
	write(t, w.store, long)
	tab := browser.Open(t)
	tab.Size(360, 740)
	for _, page := range append(w.visited(t), w.url+"/calls/req-long", w.url+"/search?q="+strings.Repeat("W", 600)) {
		tab.Go(page)
		if wide := browser.Value[int](tab, `document.documentElement.scrollWidth`); wide > 360 {
			t.Errorf("%s is %d pixels wide: %s", page, wide, browser.Value[string](tab, `[...document.querySelectorAll("main *, header *")]
				.filter(e => e.getBoundingClientRect().right > 361 && !e.closest("pre, svg")).map(e => e.tagName + "." + e.className).slice(0, 5).join(" ")`))
		}
	}
}

// The tab key reaches every control, and the focus is visible.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tab := browser.Open(t)
	tab.Size(1200, 800)
	for _, path := range []string{"/failures?kind=unreachable&limit=5", "/calls/" + w.doubted, "/servers", "/servers/farm", "/connections", "/actions"} {
		tab.Go(w.url + path)
		all := browser.Value[int](tab, `[...document.querySelectorAll("a[href], button, summary, input:not([type=hidden]), textarea, [tabindex='0']")]
			.filter(e => e.checkVisibility({visibilityProperty: true})).length`)
		reached := 0
		for ; reached < 400; reached++ {
			tab.Press("\t")
			// The skip link is hidden without the focus, and a row shows its link's focus.
			switch on := browser.Value[string](tab, focus); on {
			case "seen":
				continue
			case "":
			default:
				t.Errorf("%s: the focus is invisible on this: %s", path, on)
				continue
			}
			break
		}
		if reached < all {
			t.Errorf("%s: the tab key reaches %d of %d elements", path, reached, all)
		}
	}
}

// focus returns "seen" if an element has the focus and shows it, and "" if no element of the page has it.
const focus = `(() => {
	const e = document.activeElement;
	if (!e || e === document.body) return "";
	const box = e.getBoundingClientRect();
	const outlined = at => at && getComputedStyle(at).outlineStyle !== "none" && parseFloat(getComputedStyle(at).outlineWidth) > 0;
	return box.width > 0 && (outlined(e) || outlined(e.closest("tr"))) ? "seen" : e.outerHTML.slice(0, 120);
})()`

// An open page shows a new failure without a reload.
func TestLiveRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tab := browser.Open(t)
	tab.Go(w.url + "/failures")
	tab.Await(`document.querySelector(".live.on") !== null`)
	call := failed("req-new", recourse.Timeout("Shop", 0).WithOrigin(recourse.OriginServer))
	call.Began = call.Began.Add(2 * 60 * 1e9)
	write(t, w.store, call)
	tab.Await(`document.querySelector('tbody tr a[href="/calls/req-new"]') !== null`)
}

// A page is updated live even if its last script comes late and its first request for news fails.
func TestLiveAfterABadStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pages := console.New(w.sources, slog.New(slog.DiscardHandler)).Handler()
	var asked atomic.Int32
	started, looked := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/started":
			close(started)
			return
		case strings.HasSuffix(path, "/htmx.js"):
			rw.Header().Set("Content-Type", "text/javascript")
			_, _ = io.WriteString(rw, hurry)
			pages.ServeHTTP(rw, r)
			_, _ = io.WriteString(rw, `;setTimeout(() => fetch("/started"));`) // after htmx's own timers
			return
		case strings.HasSuffix(path, ".js"):
			wait(r, started)
		case path == "/failures/live" && asked.Add(1) == 1:
			http.Error(rw, "Too many pages are open.", http.StatusServiceUnavailable)
			return
		case path == "/failures/live":
			wait(r, looked)
		}
		pages.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	tab := browser.Open(t)
	tab.Go(server.URL + "/failures")
	tab.Await(`document.querySelector("#live").innerText === "Not live"`)
	close(looked)
	tab.Await(`document.querySelector(".live.on") !== null`)
}

// hurry makes a page's timers a hundred times faster.
const hurry = `{ const wait = setTimeout; window.setTimeout = (f, ms = 0, ...rest) => wait(f, ms / 100, ...rest) };`

// wait waits for an event, unless the browser gives up the request.
func wait(r *http.Request, event <-chan struct{}) {
	select {
	case <-event:
	case <-r.Context().Done():
	}
}

// Texts of servers and clients have no effect in a browser, and the policy has nothing to refuse.
func TestHostileTextsInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []string
	for i, text := range hostile {
		call := hostileCall(fmt.Sprintf("req-hostile-%d", i), strings.ReplaceAll(text, "alert(1)", "window.canary=1"))
		ids = append(ids, call.RequestID)
		write(t, w.store, call)
	}
	tab := browser.Open(t)
	paths := []string{"/failures", "/servers/farm", "/failures?server=%3Cscript%3Ewindow.canary=1%3C/script%3E&q=%22%3E%3Cimg%20src=x%20onerror=window.canary=1%3E"}
	for _, id := range ids {
		paths = append(paths, "/calls/"+id)
	}
	for _, path := range paths {
		tab.Go(w.url + path)
		if browser.Value[bool](tab, `"canary" in window || document.querySelector("main img, main script, main iframe") !== null`) {
			t.Errorf("%s: a text was run or rendered as HTML", path)
		}
	}
}

// Disconnecting an account takes two clicks, and another site cannot do it.
func TestDisconnectInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tab := browser.Open(t)
	other := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(rw, `<form method="post" action="`+w.url+`/connections/disconnect"><input name="provider" value="deere">
			<input name="owner" value="bob"><button>Win a prize</button></form>`)
	}))
	t.Cleanup(other.Close)
	tab.Go(strings.Replace(other.URL, "127.0.0.1", "localhost", 1))
	tab.Click("button")
	tab.Await(`document.body.innerText.includes("another site")`)
	if _, ok, err := w.accounts.Get(t.Context(), "deere", "bob"); !ok || err != nil {
		t.Fatalf("another site disconnected the account (%v)", err)
	}

	tab.Go(w.url + "/connections")
	tab.Click(`a[href*="owner=bob"]`)
	tab.Await(`document.querySelector("h1").innerText === "Disconnect bob from deere?"`)
	tab.Click("button.first")
	tab.Await(`location.pathname === "/connections" && !document.querySelector("main").innerText.includes("bob")`)
	tab.Click(`form[action="/connections/link"] button`)
	tab.Await(`document.querySelector("#link").innerText.startsWith("https://tools.example.com/connect/")`)
}
