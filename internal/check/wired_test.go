//go:build unix

package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse/internal/check"
	"github.com/recoursehq/recourse/internal/check/provider"
	"github.com/recoursehq/recourse/internal/check/server"
)

// wiredServer is a server in memory whose calls ask the provider in this way, and which tells what came of it in these words.
type wiredServer struct {
	wildServer

	of     *fixture // for all else
	client bool     // it takes the method
	proxy  *provider.Proxy
	call   func(post func(url, body string) string, key string) (words string, failed bool)
}

func (s wiredServer) Open(context.Context) (server.Conn, error) { return s, nil }

func (s wiredServer) Send(ctx context.Context, m server.Message) server.Reply {
	var said message
	_ = json.Unmarshal(m.Text, &said)
	if said.Method == "tools/call" && !strings.HasPrefix(said.Params.Name, "order_") { // what comes after the calls is not looked at
		return server.Reply{Status: http.StatusTooManyRequests}
	}
	if said.Method != "tools/call" || string(said.Params.Arguments["amount"]) != "5" {
		answers := s.of.answer(string(m.Text))
		if s.client && len(answers) > 0 {
			answers[0] = strings.ReplaceAll(answers[0], `"amount":{"type":"number"}`, `"amount":{"type":"number"},"method":{"type":"string","enum":["GET","POST"]}`)
		}
		if m.ID == "" || len(answers) == 0 {
			return server.Reply{}
		}
		return server.Reply{Text: []byte(answers[0]), Status: 200}
	}
	words, failed := s.call(s.post, string(said.Params.Arguments["idempotency_key"]))
	if ctx.Err() != nil {
		return server.Reply{Err: server.ErrSilent}
	}
	return server.Reply{Text: []byte(rpcResult(m.ID, fmt.Sprintf(`{"isError":%t,"content":[{"type":"text","text":%q}]}`, failed, words))), Status: 200}
}

// post asks the provider, as a library does that gives up after 25 s, and returns its status and what it answers.
func (s wiredServer) post(url, body string) (answer string) {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	defer func() {
		if recover() != nil { // as a server does whose handler breaks off
			answer = "no answer"
		}
	}()
	w := httptest.NewRecorder()
	s.proxy.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, url, io.NopCloser(strings.NewReader(body))))
	return fmt.Sprintf("%d %s", w.Code, w.Body)
}

// What a server does on its own beside its write, what it is asked to show, and how patient it is, are no findings.
func TestWired(t *testing.T) {
	t.Parallel()
	const api, counter = "http://api.test/orders", "http://counter.test/"
	for name, test := range map[string]struct {
		want []string
		call func(post func(url, body string) string, key string) (string, bool)
	}{
		"a library that waits 25 s": {nil, func(post func(string, string) string, _ string) (string, bool) {
			return "It did not work: " + post(api, "{}") + ", wait 37 s.", true
		}},
		"it counts its calls elsewhere": {nil, func(post func(string, string) string, _ string) (string, bool) {
			post(counter, "{}")
			return "It did not work: " + post(api, "{}") + ", wait 37 s.", true
		}},
		"two different writes at one address": {nil, func(post func(string, string) string, key string) (string, bool) {
			post(api, `{"begin":`+key+`}`)
			return "It did not work: " + post(api, `{"end":`+key+`}`) + ", wait 37 s.", true
		}},
		"the same write twice": {[]string{"provider-once"}, func(post func(string, string) string, key string) (string, bool) {
			post(api, key)
			return "It did not work: " + post(api, key) + ", wait 37 s.", true
		}},
		"words that only differ in the argument": {[]string{"provider-apart"}, func(post func(string, string) string, key string) (string, bool) {
			post(api, "{}")
			return "The order " + key + " was not made. Wait 37 s.", true
		}},
		"it shows pages": {nil, func(post func(string, string) string, _ string) (string, bool) {
			said := post(api, "{}")
			return said + ", wait 37 s.", !strings.HasPrefix(said, "200 <html>")
		}},
		"it is an HTTP client": {nil, func(post func(string, string) string, key string) (string, bool) {
			said := post(api, key)
			return said + ", wait 37 s.", said == "no answer"
		}},
		"a status that nobody looked at": {[]string{"provider-told"}, func(post func(string, string) string, _ string) (string, bool) {
			said := post(api, "{}")
			return said + ", wait 37 s.", said == "no answer"
		}},
		"a page is an empty result": {[]string{"provider-told"}, func(post func(string, string) string, _ string) (string, bool) {
			said := post(api, "{}")
			if strings.HasPrefix(said, "200 <html>") {
				return "[]", false
			}
			return said + ", wait 37 s.", true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				proxy := &provider.Proxy{}
				report := check.Check(t.Context(), wiredServer{of: &fixture{}, client: name == "it is an HTTP client", proxy: proxy, call: test.call},
					check.Options{Mode: check.Wired, Writes: fixtureWrites(t), Provider: proxy})
				got := slices.DeleteFunc(brokenIn(report), func(rule string) bool { return !strings.HasPrefix(rule, "provider-") })
				if !slices.Equal(got, test.want) {
					t.Errorf("broken: %v, want %v: %+v", got, test.want, sentences(report, strings.Join(got, "")))
				}
				if n := slices.IndexFunc(report.NotObserved, func(n check.NotObserved) bool { return n.Rule == "provider-once" }); n >= 0 {
					t.Errorf("not observed: %v, stopped: %s", report.NotObserved[n], report.Stopped)
				}
			})
		})
	}
}
