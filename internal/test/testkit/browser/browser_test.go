package browser_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/browser"
)

func TestMain(m *testing.M) { testkit.Goroutines(m) }

// page serves a page with that body under a policy that allows nothing.
func page(t *testing.T, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; img-src 'self'")
		_, _ = io.WriteString(w, `<!doctype html><html lang="en"><title>A page</title><main>`+body+`</main>`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A good page has no faults, and can be checked although its policy allows no scripts.
func TestGoodPage(t *testing.T) {
	t.Parallel()
	tab := browser.Open(t)
	tab.Go(page(t, `<h1>Hello</h1><button>Go</button>`))
	tab.Await(`document.querySelector("h1").innerText === "Hello"`)
	if found := tab.Inaccessible(); len(found) > 0 {
		t.Errorf("axe found %q", found)
	}
	if faults := tab.Faults(); len(faults) > 0 {
		t.Errorf("got faults %q", faults)
	}
}

// The faults of a bad page are found.
func TestBadPage(t *testing.T) {
	t.Parallel()
	tab := browser.Open(t)
	tab.Go(page(t, `<h1>Hello</h1><img src=x onerror="1"><button></button><script>1</script>`))
	if faults := strings.Join(tab.Faults(), "\n"); strings.Count(faults, "Content Security Policy") < 2 {
		t.Errorf("got faults %q", faults)
	}
	found := strings.Join(tab.Inaccessible(), "\n") // without axe, the test ends here
	if !strings.Contains(found, "button-name: ") || !strings.Contains(found, "image-alt: ") {
		t.Errorf("axe found %q", found)
	}
}

// Tabs share no cookies.
func TestTabsAreApart(t *testing.T) {
	t.Parallel()
	url := page(t, "")
	first, second := browser.Open(t), browser.Open(t)
	first.Go(url)
	_ = browser.Value[string](first, `document.cookie = "a=b"`)
	second.Go(url)
	if got := browser.Value[string](second, `document.cookie`); got != "" {
		t.Errorf("the second tab got %q", got)
	}
}
