package cli_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/recoursehq/recourse/internal/cli"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/service"
)

// served runs a gateway with a configuration in its own folder until the test ends, and returns the URL of its admin
// listener.
func served(t *testing.T, configuration string) (adminURL string, log *output) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "recourse.yaml")
	if !strings.Contains(configuration, "admin: ") {
		configuration = "admin: 127.0.0.1:0\n" + configuration
	}
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:0\n"+configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	log = new(output)
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		code := cli.Run(ctx, cli.Environment{Args: []string{"serve", "-c", file}, Stdout: log, Stderr: log, LookupEnv: os.LookupEnv})
		if code != 0 {
			t.Errorf("serve: exit code %d:\n%s", code, log)
		}
	})
	t.Cleanup(func() { end(); running.Wait() })
	adminURL, _ = log.await(t, 0, `"address":"`)
	adminURL, _, _ = strings.Cut(adminURL, `"`)
	adminURL = strings.Replace(adminURL, "[::]", "127.0.0.1", 1)
	log.await(t, 0, `"msg":"serving","`)
	return adminURL, log
}

// Metrics, the console and the journal's tools share the admin listener.
func TestServeToPeopleAndAgents(t *testing.T) {
	t.Parallel()
	address, log := served(t, "store: sqlite:recourse.db\nconsole: true\njournal_tools: true\nservers:\n  farm: {url: '"+testkit.NewServer(t).URL()+"'}\n")
	farm, _ := log.await(t, 0, `"url":"`)
	farm, _, _ = strings.Cut(farm, `"`)
	a, err := testkit.NewClient(t, farm, testkit.Modern).Call(t.Context(), "no_such_tool", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	id := a.Header.Get("X-Request-Id")
	agent := testkit.NewClient(t, address+"/mcp", testkit.Modern)
	testkit.Eventually(t, "the journal has the call", func() bool { // the journal writes it a moment later
		a, err := agent.Call(t.Context(), "recourse_explain", `{"request_id":"`+id+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.ToolResult()
		if err != nil {
			t.Fatal(err)
		}
		told := strings.Contains(r.Text(), "no_such_tool")
		if !told && !strings.Contains(r.Text(), "not_found") {
			t.Fatal(r.Text())
		}
		return told
	})
	for path, says := range map[string]string{"/metrics": "recourse_", "/": "<html", "/healthz": "ok"} {
		resp, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !strings.Contains(string(body), says) {
			t.Errorf("%s: %v, %.200s", path, err, body)
		}
	}
}

// /readyz reports a Redis that is down. It answers 503 only if the gateway then refuses calls.
func TestReadyWithoutRedis(t *testing.T) {
	t.Parallel()
	for closed, want := range map[string]int{"open": http.StatusOK, "closed": http.StatusServiceUnavailable} {
		t.Run(closed, func(t *testing.T) {
			t.Parallel()
			address, _ := served(t, "profiles: true\nredis: redis://127.0.0.1:1\non_redis_failure: "+closed+
				"\nservers: {farm: {url: 'http://127.0.0.1:1/mcp', limits: {minute: {calls: 9/1m}}}}\n")
			for path, want := range map[string]int{"/readyz": want, "/healthz": http.StatusOK, "/debug/pprof/heap": http.StatusOK} {
				resp, err := http.Get(address + path)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || resp.StatusCode != want || path == "/readyz" && !strings.Contains(string(body), "redis: ") {
					t.Errorf("%s: %v, HTTP %d %.300s", path, err, resp.StatusCode, body)
				}
			}
		})
	}
}

// /readyz reports a Redis that answers but cannot count, with the reason, until it can.
func TestReadyWithRedisThatCannotCount(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for name, test := range map[string]struct {
		fail, mend []any // commands
		cause      string
	}{
		"full":       {[]any{"config", "set", "maxmemory", "1"}, []any{"config", "set", "maxmemory", "0"}, "OOM"},
		"a replica":  {[]any{"replicaof", "127.0.0.1", "1"}, []any{"replicaof", "no", "one"}, "READONLY"},
		"no scripts": {[]any{"acl", "setuser", "default", "-evalsha", "-eval"}, []any{"acl", "setuser", "default", "+@all"}, "NOPERM"},
		"no keys":    {[]any{"acl", "setuser", "default", "resetkeys"}, []any{"acl", "setuser", "default", "~recourse:*"}, "NOPERM"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := service.NewRedis(t)
			o, err := redis.ParseURL(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			operator := redis.NewClient(o)
			defer operator.Close()
			address, _ := served(t, "redis: "+server.URL+"\non_redis_failure: closed\nservers: {farm: {url: 'http://127.0.0.1:1/mcp'}}\n")
			if text := readyWhen(t, address, http.StatusOK); strings.Contains(text, "redis") {
				t.Errorf("before: %s", text)
			}
			if err := operator.Do(ctx, test.fail...).Err(); err != nil {
				t.Fatal(err)
			}
			if text := readyWhen(t, address, http.StatusServiceUnavailable); !strings.Contains(text, "redis: ") || !strings.Contains(text, test.cause) {
				t.Errorf("meanwhile: %s", text)
			}
			if err := operator.Do(ctx, test.mend...).Err(); err != nil {
				t.Fatal(err)
			}
			readyWhen(t, address, http.StatusOK)
		})
	}
}

// readyWhen waits until /readyz answers with status, and returns the body: the gateway checks its parts at most once a
// second.
func readyWhen(t *testing.T, address string, status int) string {
	t.Helper()
	_, text := shownAt(t, address+"/readyz", func(got int, _ string) bool { return got == status })
	return text
}

// shownAt polls a page until ok accepts its status and text, and returns them.
func shownAt(t *testing.T, page string, ok func(status int, text string) bool) (status int, text string) {
	t.Helper()
	if !testkit.Until(func() bool {
		resp, err := http.Get(page)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		status, text = resp.StatusCode, string(body)
		return ok(status, text)
	}) {
		t.Fatalf("%s is HTTP %d %s", page, status, text)
	}
	return status, text
}

// On an address that other machines can reach, the console and the journal's tools require an API key with the operator
// role.
func TestServeToOperators(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	address, _ := served(t, "admin: 0.0.0.0:0\nadmin_remote: true\nstore: sqlite:"+filepath.Join(dir, "recourse.db")+
		"\nconsole: true\njournal_tools: true\nconsole_access: people\naccess: {people: {stored_keys: true}}\n"+
		"servers:\n  farm: {url: '"+testkit.NewServer(t).URL()+"'}\n")
	newKey := func(args ...string) string {
		var out output
		environment := cli.Environment{
			Args:   append([]string{"key", "new", "--store", "sqlite:" + filepath.Join(dir, "recourse.db")}, args...),
			Stdout: &out, Stderr: &out, LookupEnv: os.LookupEnv,
		}
		if code := cli.Run(t.Context(), environment); code != 0 {
			t.Fatalf("key new: exit code %d:\n%s", code, &out)
		}
		return out.String()
	}
	key := regexp.MustCompile(`rk_\w+`)
	for name, test := range map[string]struct {
		key  string
		path string // after redirects
		tool int    // status of a tool call
	}{
		"an operator":  {key.FindString(newKey("ada", "--role", "operator")), "/failures", http.StatusOK},
		"another role": {key.FindString(newKey("agent", "--role", "farmer")), "/login", http.StatusForbidden},
		"unknown key":  {"rk_wx73rg2y263g_k2esgjtp4pmtgudoksrjkgsl63lfo3g6etoom7iyu26x3dbieyvq", "/login", http.StatusUnauthorized},
		"no key":       {"", "/login", http.StatusUnauthorized},
	} {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Jar: jar}).PostForm(address+"/login", url.Values{"key": {test.key}})
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.Request.URL.Path != test.path {
			t.Errorf("%s: got %s, HTTP %d", name, resp.Request.URL, resp.StatusCode)
		}
		agent := testkit.NewClient(t, address+"/mcp", testkit.Modern)
		if test.key != "" {
			agent.Header = http.Header{"Authorization": {"Bearer " + test.key}}
		}
		a, err := agent.Call(t.Context(), "recourse_failures", `{}`)
		if err != nil || a.Status != test.tool || (a.Header.Get("WWW-Authenticate") != "") != (test.tool == http.StatusUnauthorized) ||
			(test.tool == http.StatusOK) != strings.Contains(string(a.Body), "structuredContent") {
			t.Errorf("%s: tool call: %v, HTTP %d %v\n%s", name, err, a.Status, a.Header, a.Body)
		}
	}
}
