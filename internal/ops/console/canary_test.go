package console_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/config"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/ops/journal"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// Secrets that must not be on any page.
const (
	callerCanary   = "rk_caller_canary-4pmtgudoksrjkgsl63lfo3g6" // a caller's API key
	wrongCanary    = "rk_wrong_canary-tpmtgudoksrjkgsl63lfo3g7"  // an invalid key
	upstreamCanary = "upstream-canary-k2esgjtp4pmtgudok"         // the gateway's credentials for the server
	argumentCanary = "argument-canary-9fJx2mQ7vLr"               // an argument
)

// failCalls makes calls with secrets through a real gateway that writes into the world's journal, and returns their
// request ids.
func (w *world) failCalls(t *testing.T) (ids []string) {
	t.Helper()
	server := testkit.NewServer(t, testkit.InMemory())
	set, quiet := contract.Builtin(), slog.New(slog.DiscardHandler)
	cfg, err := config.Parse("recourse.yaml", fmt.Appendf(nil, `servers: {farm: {url: %s, access: [team], headers: {X-Api-Key: %s}}}
access: {team: {keys: [{name: ada, hash: "%s"}]}}
`, server.URL(), upstreamCanary, auth.HashOf(callerCanary)), config.Options{KnownContracts: set.Names()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.NewReaching(gateway.Reach{Dial: testkit.Dial, Pause: time.Millisecond}, cfg, set, quiet)
	if err != nil {
		t.Fatal(err)
	}
	kept := journal.New(w.store.Journal(), &config.Journal{
		Failures: true, Keep: time.Hour, MaxSize: 1 << 30, Arguments: config.ArgumentsMasked,
	}, quiet)
	g.Observe(kept)
	g.Observe(w.tally)
	w.sources.Gateway = g
	gatewayURL := testkit.ServeInMemory(t, g)
	t.Cleanup(g.Close)
	for _, key := range []string{callerCanary, wrongCanary} {
		client := testkit.NewClient(t, gatewayURL+"/farm/mcp", testkit.Modern)
		client.Header = http.Header{"Authorization": {"Bearer " + key}}
		for _, fault := range []testkit.Fault{
			faults.ToolError("", "HTTP 401 for the request with X-Api-Key: "+upstreamCanary),
			faults.ToolError("", "refused: Authorization: Bearer "+key+" and password="+argumentCanary),
			faults.ToolError("", "there is no field F-1"),
		} {
			server.Next(testkit.GetField, fault)
			a, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"F-1","password":"`+argumentCanary+`","headers":{"Authorization":"Bearer `+key+`"}}`)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, a.Header.Get("X-Request-Id"))
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	kept.Close(ctx) // writes the remaining calls
	return ids
}

// No secret of a caller, server or operator is on any page, in its headers, or in its live updates.
func TestCanaries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := w.failCalls(t)
	at := w.guarded(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	safe := func(path string, resp *http.Response, page string) {
		t.Helper()
		all := fmt.Sprint(resp.Header) + page
		for _, canary := range []string{callerCanary, wrongCanary, upstreamCanary, argumentCanary, operatorKey} {
			if i := strings.Index(all, canary); i >= 0 {
				t.Errorf("%s shows %s: ...%s", path, canary, all[max(0, i-100):i])
			}
		}
	}
	resp, page := enter(t, browser, at+"/login", url.Values{"key": {operatorKey}})
	if resp.Request.URL.Path != "/failures" {
		t.Fatalf("the login redirects to %s", resp.Request.URL)
	}
	safe("/failures", resp, page)
	paths := []string{"/failures?text=X-Api-Key", "/failures?since=1h&caller=ada", "/servers", "/servers/farm", "/contracts", "/contracts/recourse", "/connections", "/actions"}
	for _, id := range ids {
		paths = append(paths, "/calls/"+id, "/search?q=answer+"+id)
	}
	for _, path := range paths {
		resp, page := visit(t, browser, at+path)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: HTTP %d", path, resp.StatusCode)
		}
		safe(path, resp, page)
	}
	if _, page := visit(t, browser, at+"/calls/"+ids[0]); !strings.Contains(page, "F-1") || !strings.Contains(page, "password") {
		t.Errorf("the page of a call does not show its arguments:\n%s", page)
	}
	resp, err = browser.Get(at + "/failures/live?seen=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, told := next(t, scan(resp.Body))
	if !strings.Contains(told, ids[0]) {
		t.Errorf("live updates:\n%s", told)
	}
	safe("/failures/live", resp, told)
}
