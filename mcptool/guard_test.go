package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/authn"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/mcptool"
)

// keys maps the values of a header to callers.
type keys struct {
	header  string
	callers map[string]string
}

func (k keys) Authenticate(r *http.Request) (who authn.Identity, err error) {
	switch key := r.Header.Get(k.header); key {
	case "Bearer broken":
		return who, errors.New("dial tcp 10.0.0.9:443: refused")
	case "Bearer barred":
		return who, recourse.PermissionDenied()
	default:
		if caller, ok := k.callers[key]; ok {
			return authn.Identity{Name: caller}, nil
		}
		return who, recourse.Unauthenticated()
	}
}

// owners maps callers to their users.
type owners map[string]string

func (o owners) Check(_ context.Context, caller, user string) error {
	switch {
	case user == "broken":
		return errors.New("pq: deadlock")
	case o[user] != caller:
		return recourse.NotFound("user", user)
	default:
		return nil
	}
}

// A clock shows the time that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

var quiet = mcptool.WithLogger(slog.New(slog.DiscardHandler))

// An answer is the part of an HTTP answer that tests compare.
type answer struct {
	Status int
	Type   string
	Body   string
}

func post(t *testing.T, endpoint, body string, header ...string) (answer, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header.Get("Content-Type"), string(text)}, resp.Header
}

const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

// The gateway's rule for valid users holds, with and without an additional check.
func TestGuardValidUsers(t *testing.T) {
	t.Parallel()
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	srv := httptest.NewServer(mcptool.Guard(next, builtin(t, "terra"), quiet))
	t.Cleanup(srv.Close)
	for user, want := range map[string]int{"u-1": 200, "ann@example.com": 200, "auth0%7C1": 200, "a,b": 404, "a%20b": 404, "%2E%2E": 404} {
		got, _ := post(t, srv.URL+"/api/v2/mcp/"+user, ping, "dev-id", "d", "x-api-key", "k")
		if got.Status != want {
			t.Errorf("%s: %+v, want status %d", user, got, want)
		}
	}
}

// The seven answers of terra, byte for byte, in the order of the checks.
func TestGuardTerra(t *testing.T) {
	t.Parallel()

	var user http.Header
	down, err := url.Parse("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(down) },
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			mcptool.Fail(w, r, contract.AtUpstream, err)
		},
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
	}
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user = r.Header.Clone()
		switch r.URL.Query().Get("do") {
		case "panic":
			panic("no context")
		case "misconfigured":
			mcptool.Fail(w, r, contract.AtUpstreamMisconfigured, errors.New("no upstream"))
		case "down":
			proxy.ServeHTTP(w, r)
		}
	})
	srv := httptest.NewServer(mcptool.Guard(next, builtin(t, "terra"), quiet,
		mcptool.WithAuthenticator(keys{"X-Api-Key", map[string]string{"k": "dev"}}), mcptool.WithUsers(owners{"u-1": "dev"}),
		mcptool.WithPublicURL("https://api.example.com/"), mcptool.WithChallenge("")))
	t.Cleanup(srv.Close)

	problem := func(status int, title, path, detail string) answer {
		return answer{status, "application/problem+json", `{"type":"about:blank","title":"` + title +
			`","instance":"https://api.example.com/api/v2/mcp` + path + `","detail":"` + detail + `"}`}
	}
	good := []string{"dev-id", "dev", "x-api-key", "k"}
	const unauthorized, notFound = "unauthorized", "not found"
	tests := []struct {
		name, path string
		header     []string
		want       answer
	}{
		{"no credentials", "/u-1", nil, problem(401, unauthorized, "/u-1", "dev-id or x-api-key headers are missing")},
		{"half of the credentials", "", []string{"x-api-key", "k"}, problem(401, unauthorized, "", "dev-id or x-api-key headers are missing")},
		{"bad credentials", "/nobody", []string{"dev-id", "dev", "x-api-key", "x"}, problem(401, unauthorized, "/nobody", "unauthorized")},
		{"no user", "", good, problem(404, notFound, "", "missing user_id parameter")},
		{"no user, slash", "/", good, problem(404, notFound, "/", "missing user_id parameter")},
		{"unknown user", "/u-2", good, problem(404, notFound, "/u-2", "invalid user id")},
		{"a slash after the user", "/u-1/", good, problem(404, notFound, "/u-1/", "invalid user id")},
		{"more after the user", "/u-1/tools", good, problem(404, notFound, "/u-1/tools", "invalid user id")},
		{"an encoded slash in the user", "/u-1%2Ftools", good, problem(404, notFound, "/u-1%2Ftools", "invalid user id")},
		{"more after the user, no credentials", "/u-1/tools", nil, problem(401, unauthorized, "/u-1/tools", "dev-id or x-api-key headers are missing")},
		{"malformed user", "/u%0A1", good, problem(404, notFound, "/u%0A1", "invalid user id")},
		{"check of the user failed", "/broken", good, problem(500, "internal server error", "/broken", "something went wrong")},
		{"panic", "/u-1?do=panic", good, problem(500, "internal server error", "/u-1?do=panic", "something went wrong")},
		{"misconfigured", "/u-1?do=misconfigured", good, answer{500, "", ""}},
		{"down", "/u-1?do=down", good, answer{502, "", ""}},
		{"good", "/u-1", good, answer{200, "", ""}},
	}
	for _, test := range tests {
		got, header := post(t, srv.URL+"/api/v2/mcp"+test.path, ping, append(test.header, "Provider-User-Id", "u-9", "X-Request-Id", "abc")...)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if header.Get("X-Request-Id") != "abc" {
			t.Errorf("%s: request id %q", test.name, header.Get("X-Request-Id"))
		}
		if test.want.Body == "" && test.want.Status >= 500 && header.Get("Content-Length") != "0" {
			t.Errorf("%s: %v", test.name, header)
		}
	}
	if diff := cmp.Diff([]string{"u-1"}, user.Values("Provider-User-Id")); diff != "" {
		t.Errorf("the server gets (-want +got):\n%s", diff)
	}
	elsewhere := `{"type":"about:blank","title":"%s","instance":"https://api.example.com/elsewhere","detail":"%s"}`
	for _, test := range []struct {
		header []string
		want   answer
	}{
		{nil, answer{401, "application/problem+json", fmt.Sprintf(elsewhere, unauthorized, "dev-id or x-api-key headers are missing")}},
		{good, answer{404, "application/problem+json", fmt.Sprintf(elsewhere, notFound, "missing user_id parameter")}},
	} {
		got, _ := post(t, srv.URL+"/elsewhere", ping, test.header...)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("another path (-want +got):\n%s", diff)
		}
	}
}

// A call that may have run is a failed call, not a failure of the session.
func TestFailAtUpstream(t *testing.T) {
	t.Parallel()

	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_sleep_data"}}`
	tests := []struct {
		contract, body string
		err            error
		status         int
		want           string // in the answer
	}{
		{"terra", call, context.DeadlineExceeded, 200, `"isError":true`},
		{"terra", call, recourse.Unreachable("The server").WithEffect(recourse.EffectNone), 502, ""},
		{"recourse", call, recourse.Unreachable("The server").WithEffect(recourse.EffectNone), 200, `[unreachable] The server could not be reached.`},
		{"recourse", call, context.DeadlineExceeded, 200, `It is not known whether the call took effect`},
		{"recourse", ping, context.DeadlineExceeded, 200, `"error":{"code":-32603,"message":"The server did not answer in time. `},
		{"fieldmcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, context.DeadlineExceeded, 504, `"kind":"timeout"`},
		{"fieldmcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, recourse.Unreachable("The server"), 502, `"kind":"unreachable"`},
	}
	for _, test := range tests {
		next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { mcptool.Fail(w, r, contract.AtUpstream, test.err) })
		srv := httptest.NewServer(mcptool.Guard(next, builtin(t, test.contract), quiet))
		t.Cleanup(srv.Close)
		got, _ := post(t, srv.URL+"/api/v2/mcp/u-1", test.body)
		if got.Status != test.status || !strings.Contains(got.Body, test.want) {
			t.Errorf("%s, %v: %+v, want HTTP %d, %s", test.contract, test.err, got, test.status, test.want)
		}
	}
	bare := httptest.NewRecorder()
	mcptool.Fail(bare, httptest.NewRequest(http.MethodPost, "/", http.NoBody), contract.AtUpstream, errors.New("secret"))
	if bare.Code != http.StatusInternalServerError || strings.Contains(bare.Body.String(), "secret") {
		t.Errorf("without a guard: HTTP %d, %s", bare.Code, bare.Body)
	}
}

// A failure before the call begins is a JSON-RPC error with the request's id, and nothing more.
func TestGuardAnswers(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/unauthenticated-401", "fieldmcp/forbidden-403")

	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("X-Caller")) })
	for _, name := range []string{"recourse", "fieldmcp"} {
		srv := httptest.NewServer(mcptool.Guard(next, builtin(t, name), quiet, mcptool.WithMaxRequest(1000),
			mcptool.WithCallerHeader("X-Caller"),
			mcptool.WithAuthenticator(keys{"Authorization", map[string]string{"Bearer good": "org-1"}})))
		t.Cleanup(srv.Close)
		tests := []struct {
			name, body, key string
			status, code    int
			id              string
		}{
			{"none", ping, "", 401, -32603, "7"},
			{"invalid", ping, "Bearer bad", 401, -32603, "7"},
			{"barred", ping, "Bearer barred", 403, -32603, "7"},
			{"check failed", ping, "Bearer broken", 500, -32603, "7"},
			{"an array", `[1]`, "Bearer good", 400, -32600, ""},
			{"half a message", `{"id":`, "Bearer good", 400, -32700, ""},
			{"too large", `{"jsonrpc":"2.0","id":"a","method":"x","params":{"y":"` + strings.Repeat("z", 1000) + `"}}`, "Bearer good", 413, -32600, `"a"`},
		}
		for _, test := range tests {
			header := []string{"X-Caller", "forged"}
			if test.key != "" {
				header = append(header, "Authorization", test.key)
			}
			got, h := post(t, srv.URL, test.body, header...)
			var message map[string]json.RawMessage
			var failure struct {
				Code int              `json:"code"`
				Data *json.RawMessage `json:"data"`
			}
			if err := errors.Join(json.Unmarshal([]byte(got.Body), &message), json.Unmarshal(message["error"], &failure)); err != nil {
				t.Fatalf("%s, %s: %v: %+v", name, test.name, err, got)
			}
			if strings.Contains(got.Body, "TOKEN_EXPIRED") || strings.Contains(got.Body, "provider") { // the credentials are the client's own
				t.Errorf("%s, %s mentions the provider: %+v", name, test.name, got)
			}
			if got.Status != test.status || failure.Code != test.code || string(message["id"]) != test.id || got.Type != "application/json" || failure.Data == nil {
				t.Errorf("%s, %s: %+v", name, test.name, got)
			}
			if (h.Get("WWW-Authenticate") == "Bearer") != (test.status == 401) {
				t.Errorf("%s, %s: WWW-Authenticate %q", name, test.name, h.Get("WWW-Authenticate"))
			}
			if strings.Contains(got.Body, "10.0.0.9") {
				t.Errorf("%s, %s leaks: %+v", name, test.name, got)
			}
		}
		if got, _ := post(t, srv.URL, ping, "Authorization", "Bearer good", "X-Caller", "forged"); got.Status != 200 || got.Body != "org-1" {
			t.Errorf("%s, success: %+v", name, got)
		}
	}
}

func TestGuardLockout(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/authentication-block")

	c := &clock{now: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)}
	srv := httptest.NewServer(mcptool.Guard(http.NotFoundHandler(), builtin(t, "fieldmcp"), quiet, mcptool.WithClock(c.Now),
		mcptool.WithAuthenticator(keys{"Authorization", map[string]string{"Bearer good": "org-1"}}),
		mcptool.WithLockout(25, 900*time.Second)))
	t.Cleanup(srv.Close)
	try := func(header ...string) (answer, string) {
		got, h := post(t, srv.URL, ping, header...)
		if remaining := h.Get("X-RateLimit-Remaining"); remaining != "" {
			t.Errorf("HTTP %d has X-RateLimit-Remaining %s", got.Status, remaining)
		}
		return got, h.Get("Retry-After")
	}
	for range 100 {
		if got, _ := try(); got.Status != 401 {
			t.Fatalf("without credentials: HTTP %d", got.Status)
		}
	}
	for i := range 25 {
		if got, _ := try("Authorization", "Bearer bad"); got.Status != 401 {
			t.Fatalf("attempt %d: HTTP %d", i+1, got.Status)
		}
		c.pass(time.Second)
	}
	got, after := try("Authorization", "Bearer good")
	said := strings.Contains(got.Body, `"message":"Too many authentications from this address have failed. Try again in 14 min 35 s."`)
	if got.Status != 429 || after != "875" || !said || strings.Contains(got.Body, "rateLimits") || strings.Contains(got.Body, "quotas") {
		t.Errorf("after 25 failures: HTTP %d, Retry-After %s, %s", got.Status, after, got.Body)
	}
	c.pass(874500 * time.Millisecond)
	if got, after := try("Authorization", "Bearer good"); got.Status != 429 || after != "1" {
		t.Errorf("half a second before the end: HTTP %d, Retry-After %s", got.Status, after)
	}
	c.pass(500 * time.Millisecond)
	if got, _ := try("Authorization", "Bearer good"); got.Status != 404 {
		t.Errorf("900 s after the first failure: HTTP %d", got.Status)
	}
}

// IPv6 addresses are counted by network: a customer can use any address in it.
func TestGuardLockoutCountsNetworks(t *testing.T) {
	t.Parallel()
	guard := mcptool.Guard(http.NotFoundHandler(), builtin(t, "fieldmcp"), quiet, mcptool.WithLockout(2, time.Hour),
		mcptool.WithAuthenticator(keys{"Authorization", map[string]string{"Bearer good": "org-1"}}))
	for _, try := range []struct {
		from, key string
		status    int
	}{
		{"[2001:db8:1:2::1]:50001", "Bearer bad", 401},
		{"[2001:db8:1:2:ffff::2]:50002", "Bearer bad", 401},
		{"[2001:db8:1:2::3]:50003", "Bearer good", 429},
		{"[2001:db8:1:3::1]:50004", "Bearer good", 404},
		{"192.0.2.1:50005", "Bearer bad", 401},
		{"[::ffff:192.0.2.1]:50006", "Bearer bad", 401},
		{"192.0.2.1:50007", "Bearer good", 429},
		{"192.0.2.2:50008", "Bearer good", 404},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(ping))
		r.RemoteAddr = try.from
		r.Header.Set("Authorization", try.key)
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r)
		if w.Code != try.status {
			t.Errorf("%s with %s: HTTP %d, want %d", try.from, try.key, w.Code, try.status)
		}
	}
}

// fieldmcp's limit: 429 with three waits that agree. Refusals and calls with wrong arguments are not charged.
func TestGuardLimit(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/http-429", "fieldmcp/http-429-body", "fieldmcp/http-429-prose", "fieldmcp/retry-after-header",
		"fieldmcp/rate-limit-remaining-header", "fieldmcp/three-waits-agree", "fieldmcp/month-used-up", "fieldmcp/refusals-not-charged",
		"fieldmcp/success-rate-limit-header", "fieldmcp/success-request-id-header", "fieldmcp/rate-limit-is-http")

	for _, era := range []testkit.Era{testkit.Legacy, testkit.Modern} {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			c := &clock{now: time.Date(2026, 7, 28, 12, 0, 48, 0, time.UTC)}
			server := farm()
			field := builtin(t, "fieldmcp")
			limiter := mcptool.NewWindows(c.Now, mcptool.Policy{Name: "minute", Limit: 3, Window: time.Minute}, mcptool.Policy{Name: "month", Limit: 5})
			mcptool.Use(server, field, quiet, mcptool.WithLimiter(limiter))
			endpoint := listen(t, server, mcptool.Guard(handler(server, era), field, quiet, mcptool.WithClock(c.Now), mcptool.WithLimiter(limiter),
				mcptool.WithAuthenticator(keys{"Authorization", map[string]string{"Bearer a": "org-a", "Bearer b": "org-b"}})))
			client := testkit.NewClient(t, endpoint, era)
			client.Header = http.Header{"Authorization": {"Bearer a"}}
			if _, err := client.Initialize(t.Context()); err != nil {
				t.Fatal(err)
			}
			call := func(tool, arguments string) *testkit.Answer {
				t.Helper()
				a, err := client.Call(t.Context(), tool, arguments)
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			remaining := func(a *testkit.Answer, want string) {
				t.Helper()
				if got := a.Header.Get("X-RateLimit-Remaining"); got != want || a.Header.Get("X-Request-Id") == "" {
					t.Errorf("X-RateLimit-Remaining %q, want %s; X-Request-Id %q: %s", got, want, a.Header.Get("X-Request-Id"), a.Body)
				}
			}
			const good = `{"field_id":"F-1"}`
			remaining(call("get_field", good), "2")
			remaining(call("get_field", `{}`), "2") // wrong arguments
			remaining(call("get_feild", good), "2") // no such tool
			remaining(call("not_found", good), "1")
			remaining(call("get_field", good), "0")
			for range 2 {
				a := call("get_field", good)
				month := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
				want := fmt.Sprintf(`{"error":"Rate limit exceeded. Try again in 60 seconds.","errorCode":429,"rateLimits":`+
					`{"minuteRemaining":0,"minuteResetAt":%d,"monthlyRemaining":2,"monthlyResetAt":%d}}`,
					c.Now().Add(time.Minute).UnixMilli(), month.UnixMilli())
				if diff := cmp.Diff(want, string(a.Body)); diff != "" || a.Status != 429 || a.Header.Get("Retry-After") != "60" {
					t.Errorf("HTTP %d, Retry-After %q (-want +got):\n%s", a.Status, a.Header.Get("Retry-After"), diff)
				}
				remaining(a, "0")
			}
			client.Header.Set("Authorization", "Bearer b")
			if era == testkit.Modern {
				remaining(call("get_field", good), "2") // another organisation
			}
			client.Header.Set("Authorization", "Bearer a")
			c.pass(time.Minute)
			remaining(call("get_field", good), "2")
			remaining(call("get_field", good), "1")
			a := call("get_field", good) // the month's quota is used up
			if a.Status != 429 || a.Header.Get("Retry-After") != "302292" || a.Header.Get("X-RateLimit-Remaining") != "0" || !strings.Contains(string(a.Body), `"minuteRemaining":1`) || !strings.Contains(string(a.Body), `"monthlyRemaining":0`) {
				t.Errorf("HTTP %d, Retry-After %q: %s", a.Status, a.Header.Get("Retry-After"), a.Body)
			}
			listed, err := client.ListTools(t.Context()) // not a call
			if err != nil || listed.Status != 200 {
				t.Errorf("tools/list: %v, HTTP %d", err, listed.Status)
			}
		})
	}
}

// On stdio there is no HTTP answer: the limit is a tool result.
func TestLimitOnStdio(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/code-rate-limit-org")

	server := farm()
	mcptool.Use(server, builtin(t, "fieldmcp"), quiet,
		mcptool.WithLimiter(mcptool.NewWindows(nil, mcptool.Policy{Name: "month", Limit: 1})))
	client := dialStdio(t, server)
	if r := client.call(t, "get_field", `{}`); r.record(t).Code != "MISSING_REQUIRED_PARAM" {
		t.Errorf("wrong arguments: %s", r.Result)
	}
	if r := client.call(t, "get_field", `{"field_id":"F-1"}`); r.result(t).IsError {
		t.Errorf("the only allowed call: %s", r.Result)
	}
	e := client.call(t, "get_field", `{"field_id":"F-1"}`).record(t)
	if e.Code != "RATE_LIMIT_ORG" || e.Origin != recourse.OriginGateway || e.RetryAfter <= 0 {
		t.Errorf("%v (%s), origin %s, after %v", e, e.Code, e.Origin, e.RetryAfter)
	}
}

// In the recourse contract a limit is a result, so that the model sees it.
func TestGuardLimitAsResult(t *testing.T) {
	t.Parallel()

	server := newServer()
	mcp.AddTool(server, &mcp.Tool{Name: "t"}, fails(nil))
	limiter := mcptool.NewWindows(nil, mcptool.Policy{Name: "month"})
	endpoint := listen(t, server, mcptool.Guard(handler(server, testkit.Modern), contract.MustBuiltin(contract.Default), mcptool.WithLogger(nil), mcptool.WithClock(nil), mcptool.WithLimiter(limiter)))
	r := dialHTTP(t, endpoint, testkit.Modern).call(t, "t", `{"field_id":"F-1"}`)
	if e := r.record(t); e.Kind != recourse.KindQuotaExhausted || r.result(t).ResultType != "complete" {
		t.Errorf("%s", r.Result)
	}
}
