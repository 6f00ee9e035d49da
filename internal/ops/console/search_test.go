package console_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/ops/console"
)

const knownID = "req-7037070b8af55bc8183aa169"

func TestSearch(t *testing.T) {
	t.Parallel()

	at, _ := withJournal(t, failed(knownID, timeout()), failed("chosen:by.client", timeout()))
	for text, want := range map[string]string{
		knownID:                        "/calls/" + knownID,
		"  " + knownID + "\n":          "/calls/" + knownID,
		"chosen:by.client":             "/calls/chosen:by.client",
		"the farm did NOT answer":      "/failures?text=the+farm+did+NOT+answer",
		"":                             "/search Paste anything",
		"req-000000000000000000000000": "/search The journal does not have the request",
		"100% nowhere to be found":     "/search Read as an answer",
		"[timeout] The farm did not answer. Before calling again: look.":                                                     "/search 2 failures have",
		`{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[{"type":"text","text":"Error: see ` + knownID + `"}]}}`: "/search /calls/" + knownID,
		"HTTP/1.1 429 Too Many Requests\nRetry-After: 7\n\n{}":                                                               "/search rate_limited",
		`{"content":[{"type":"text","text":"fine"}]}`:                                                                        "/search a success",
		`{"jsonrpc":`: "/search not a single JSON object",
	} {
		resp, page := enter(t, http.DefaultClient, at+"/search", url.Values{"q": {text}})
		path, says, _ := strings.Cut(want, " ")
		if got := resp.Request.URL.RequestURI(); got != path || !strings.Contains(html.UnescapeString(page), says) {
			t.Errorf("%q redirects to %s, want %s:\n%s", text, got, want, page)
		}
		harmless(t, page)
	}
}

// Answers can be searched for without a journal, too.
func TestSearchWithoutStore(t *testing.T) {
	t.Parallel()

	at := serve(t, console.Sources{})
	for text, want := range map[string]string{knownID: "does not have the request", "Error: ECONNREFUSED": "unreachable"} {
		if _, page := enter(t, http.DefaultClient, at+"/search", url.Values{"q": {text}}); !strings.Contains(page, want) {
			t.Errorf("%q:\n%s", text, page)
		}
	}
}

func TestSearchForHostileTexts(t *testing.T) {
	t.Parallel()

	at, _ := withJournal(t)
	for _, text := range append(hostile, strings.Repeat("[", 1<<20), `{"a":`+strings.Repeat(`{"a":`, 1000)) {
		resp, page := enter(t, http.DefaultClient, at+"/search", url.Values{"q": {text}})
		if resp.StatusCode != http.StatusOK || len(page) > 1<<20 {
			t.Errorf("%.60q: HTTP %d with %d bytes", text, resp.StatusCode, len(page))
		}
		harmless(t, page)
	}
	resp, page := enter(t, http.DefaultClient, at+"/search", url.Values{"q": {strings.Repeat("x", 5<<20)}})
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(page, "at most 4 MiB") {
		t.Errorf("HTTP %d\n%s", resp.StatusCode, page)
	}
}
