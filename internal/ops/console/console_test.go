package console_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/ops/console"
)

// serve returns the URL of a console.
func serve(t *testing.T, from console.Sources) string {
	t.Helper()
	server := httptest.NewServer(console.New(from, slog.New(slog.DiscardHandler)).Handler())
	t.Cleanup(server.Close)
	return server.URL
}

// get returns the answer of a page.
func get(t *testing.T, url string) (resp *http.Response, body string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	return resp, readAll(t, resp)
}

func readAll(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The policy in every answer lets browsers use only the console's own scripts and styles, and no page has inline ones.
func TestPolicy(t *testing.T) {
	t.Parallel()

	url := serve(t, console.Sources{})
	for _, path := range []string{"/", "/failures", "/nowhere", "/static/console.css", "/static/none"} {
		resp, body := get(t, url+path)
		policy := resp.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s has the policy %q", path, policy)
		}
		for _, inline := range []string{"<style", " style=", "<script>", " onclick=", "hx-on"} {
			if strings.Contains(body, inline) && !strings.HasPrefix(path, "/static/") {
				t.Errorf("%s contains %q", path, inline)
			}
		}
	}
}

func TestWithoutStore(t *testing.T) {
	t.Parallel()

	resp, body := get(t, serve(t, console.Sources{})+"/")
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, "store: sqlite:recourse.db") {
		t.Errorf("HTTP %d:\n%s", resp.StatusCode, body)
	}
	if resp.Request.URL.Path != "/failures" {
		t.Errorf("the first page is %s", resp.Request.URL.Path)
	}
}

// A page of another site cannot make a browser change anything here.
func TestOtherSites(t *testing.T) {
	t.Parallel()

	url := serve(t, console.Sources{})
	for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example.com"} {
		req, err := http.NewRequest(http.MethodPost, url+"/search", strings.NewReader("q=x"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(header, value)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("with %s: %s, HTTP %d", header, value, resp.StatusCode)
		}
	}
}

func TestStaticFiles(t *testing.T) {
	t.Parallel()

	url := serve(t, console.Sources{})
	_, page := get(t, url)
	for _, name := range []string{"console.css", "htmx.js", "htmx-sse.js", "console.js", "icon.svg"} {
		_, rest, found := strings.Cut(page, `"/static/`+name)
		query, _, _ := strings.Cut(rest, `"`)
		resp, body := get(t, url+"/static/"+name+query)
		if !found || resp.StatusCode != http.StatusOK || body == "" || !strings.Contains(resp.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s%s: HTTP %d, %v", name, query, resp.StatusCode, resp.Header)
		}
	}
	if resp, _ := get(t, url+"/static/console.css?v=old"); resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("an old version may be cached: %v", resp.Header)
	}
}
