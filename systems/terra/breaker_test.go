package terra_test

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/terra"
)

// While the gateway holds calls to a region back, the answer is the same for every message and the region gets no
// requests; when it answers again, calls go through.
func TestOpenBreaker(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "terra/http-upstream-breaker", "terra/http-upstream-down", "terra/empty-body")
	s := newSystem(t, terra.Options{})
	var calls atomic.Int64
	var down atomic.Bool
	region := strings.TrimSuffix(systemtest.Serve(t, s), s.Entrance().Path)
	target, err := url.Parse(region)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	before := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	root := systemtest.Gateway(t, "contract: terra", "path: /api/v2/mcp/{user_id}", "forward: [dev-id, x-api-key]",
		"url: "+before+s.Entrance().Path, "breaker: {min_calls: 3, open_for: 200ms, max_open: 200ms}")
	good := s.Entrance().Header
	down.Store(true)
	held := false
	for range 20 {
		sent := calls.Load()
		a := knock(t, root+"/api/v2/mcp/u-1", good)
		if a.Status != http.StatusBadGateway || len(a.Body) > 0 || a.Header.Get("Content-Type") != "" {
			t.Fatalf("HTTP %d %q %s", a.Status, a.Header.Get("Content-Type"), a.Body)
		}
		held = held || calls.Load() == sent
	}
	client := testkit.NewClient(t, root+"/api/v2/mcp/u-1", testkit.Modern)
	client.Header = good
	if a, err := client.ListTools(t.Context()); err != nil || a.Status != http.StatusBadGateway || len(a.Body) > 0 {
		t.Errorf("tools/list: %v, HTTP %d %s", err, a.Status, a.Body)
	}
	if !held {
		t.Errorf("no call was held back: the region got %d", calls.Load())
	}
	down.Store(false)
	testkit.Eventually(t, "the region is called again", func() bool {
		return knock(t, root+"/api/v2/mcp/u-1", good).Status == http.StatusOK
	})
}
