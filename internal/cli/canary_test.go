package cli_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// collected is everything sent to a collector of traces.
type collected struct{ testkit.Buffer }

func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		body = unpacked
	}
	text, _ := io.ReadAll(body) // the test would miss the text
	_, _ = fmt.Fprintf(c, "%v\n%s", r.Header, text)
}

// issued returns a valid token of eve, an expired one, and the URL of the keys that verify them.
func issued(t *testing.T) (token, expired, keys string) {
	t.Helper()
	key := testkit.NewSigningKey(t, "k1", "ES256")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"keys":[%s]}`, key.Public())
	}))
	t.Cleanup(srv.Close)
	sign := func(ends time.Time) string {
		claims, err := json.Marshal(map[string]any{"iss": "https://issuer.example", "sub": "eve", "aud": "farm", "exp": ends.Unix()})
		if err != nil {
			t.Fatal(err)
		}
		return key.Sign(t, map[string]any{"alg": "ES256", "kid": "k1"}, claims)
	}
	return sign(time.Now().Add(time.Hour)), sign(time.Now().Add(-time.Hour)), srv.URL
}

// Callers' credentials do not appear in anything that a gateway sends, writes or shows: requests to its server,
// answers, the log, the store, traces, metrics, the console.
func TestCredentialsStayInTheProgram(t *testing.T) {
	t.Parallel()
	key, _ := auth.NewKey()
	token, expired, keys := issued(t)
	dir, srv, traces := t.TempDir(), testkit.NewServer(t), new(collected)
	collector := httptest.NewServer(traces)
	t.Cleanup(collector.Close)
	var log *output
	var answers strings.Builder
	t.Cleanup(func() { // when the gateway has ended and has flushed everything
		for what, text := range map[string]string{
			"the answers": answers.String(), "the log": log.String(), "the traces": traces.String(), "the store": filesIn(t, dir),
		} {
			if !strings.Contains(text, testkit.OrderCreate) {
				t.Errorf("%s: no calls in %.1000s", what, text)
			}
			mustNotHold(t, what, text, key, token, expired)
		}
		if !strings.Contains(log.String(), `"caller":"ann"`) || !strings.Contains(log.String(), `"caller":"eve"`) {
			t.Errorf("a caller was not let in: %s", log)
		}
	})
	var address string
	address, log = served(t, fmt.Sprintf(`
store: 'sqlite:%s/recourse.db'
journal: {successes: 1}
journal_tools: true
console: true
access_log: true
log_level: debug
tracing: {endpoint: '%s'}
access:
  team: {keys: [{name: ann, hash: '%s'}]}
  devs: {headers: {id: dev-id, key: x-api-key}, keys: [{name: ann, hash: '%s'}]}
  staff: {jwt: {issuer: 'https://issuer.example', jwks: '%s', audience: [farm]}}
lockout: {failures: 1000, within: 10m}
servers:
  farm:
    url: '%s'
    access: [devs, team, staff]
    grants: [{tools: ['%s', '%s']}]
    limits: {minute: {calls: 1000/1m}}
`, dir, collector.URL, auth.HashOf(key), auth.HashOf(key), keys, srv.URL(), testkit.OrderCreate, testkit.Echo))
	farm, _ := log.await(t, 0, `"url":"`)
	farm, _, _ = strings.Cut(farm, `"`)
	for _, header := range []http.Header{
		{"Authorization": {"Bearer " + key}},
		{"Authorization": {"Bearer " + token}},
		{"Dev-Id": {"ann"}, "X-Api-Key": {key}},
		{"Authorization": {"Bearer " + key}, "X-Api-Key": {key}, "Cookie": {"token=" + token}, "Proxy-Authorization": {"Bearer " + key}},
		{"Authorization": {"Bearer " + expired}},
		{"Authorization": {"Bearer " + key + "x"}},
		{"Authorization": {"Bearer x" + token}},
		{"Authorization": {"Basic " + key}},
		{"Authorization": {key}},
		{"Authorization": {"Bearer " + key, "Bearer " + token}},
		{"Dev-Id": {key}, "X-Api-Key": {token}},
	} {
		for _, era := range []testkit.Era{testkit.Legacy, testkit.Modern} {
			callWith(t, &answers, srv, farm, era, header)
		}
	}
	for _, path := range []string{"/metrics", "/", "/failures", "/readyz", "/failures?caller=ann"} {
		resp, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v, HTTP %d", path, err, resp.StatusCode)
		}
		mustNotHold(t, path, string(body), key, token, expired)
	}
	agent := testkit.NewClient(t, address+"/mcp", testkit.Modern)
	if a, err := agent.Call(t.Context(), "recourse_failures", `{"limit":100}`); err != nil {
		t.Error(err)
	} else {
		mustNotHold(t, "the journal's tools", string(a.Body), key, token, expired)
	}
	for _, r := range srv.Requests() {
		mustNotHold(t, "a request to the server", fmt.Sprint(r.Path, r.Header, string(r.Body)), key, token, expired)
	}
}

// callWith makes calls that succeed and calls that fail, and writes all answers to answers.
func callWith(t *testing.T, answers io.Writer, srv *testkit.Server, url string, era testkit.Era, header http.Header) {
	t.Helper()
	client := testkit.NewClient(t, url, era)
	client.Header = header
	note := func(a *testkit.Answer, err error) {
		if err == nil {
			_, _ = fmt.Fprintf(answers, "%s %s\n", a.Header, a.Body)
		}
	}
	if era == testkit.Legacy {
		note(client.Initialize(t.Context()))
	}
	const order = `{"reference":"order_create","amount":1}`
	for _, fault := range []testkit.Fault{faults.LeakyToolError(), faults.ResetBeforeAnswer(), faults.Unauthorized()} {
		srv.Next(testkit.OrderCreate, fault)
		note(client.Call(t.Context(), testkit.OrderCreate, order))
		srv.Behave()
	}
	note(client.Call(t.Context(), testkit.OrderCreate, order))
	note(client.Call(t.Context(), testkit.OrderCreate, `{"reference":5}`))
	note(client.Call(t.Context(), "no_such_tool", `{}`))
	note(client.Request(t.Context(), "resources/read", `{"uri":"x:y"}`))
}

// filesIn returns the content of all files in a folder.
func filesIn(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// mustNotHold checks that no part of a secret is in text.
func mustNotHold(t *testing.T, what, text string, secrets ...string) {
	t.Helper()
	const part = 24
	for _, secret := range secrets {
		for _, at := range []int{len(secret) / 2, len(secret) - part} {
			if i := strings.Index(text, secret[at:at+part]); i >= 0 {
				t.Errorf("%s has a secret: %q", what, text[max(i-200, 0):min(i+100, len(text))])
			}
		}
	}
}
