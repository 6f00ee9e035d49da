package mcptool_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/mcptool"
)

func TestWindows(t *testing.T) {
	t.Parallel()

	c := &clock{now: time.Date(2026, 12, 31, 23, 58, 30, 0, time.UTC)}
	l := mcptool.NewWindows(c.Now, mcptool.Policy{Name: "minute", Limit: 2, Window: time.Minute}, mcptool.Policy{Name: "month", Limit: 3})
	take := func(partition string) (mcptool.Charge, *recourse.Error) {
		t.Helper()
		charge, err := l.Take(t.Context(), partition)
		e := new(recourse.Error)
		if err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		return charge, e
	}
	refused := func(partition string, kind recourse.Kind, wait time.Duration, binding string) {
		t.Helper()
		charge, e := take(partition)
		if charge != nil || e.Kind != kind || e.After != wait || e.Quotas[0].Policy != binding || e.Origin != recourse.OriginGateway {
			t.Errorf("%v after %v, binding %+v; want %s after %v, %s", e, e.After, e.Quotas, kind, wait, binding)
		}
	}
	first, _ := take("a")
	second, _ := take("a")
	refused("a", recourse.KindRateLimited, 30*time.Second, "minute")
	if charge, _ := take("b"); charge == nil {
		t.Error("another partition was refused")
	}
	second.Refund()
	second.Refund() // the first counts
	if got := first.Quotas(); got[0].Remaining != 1 || got[1].Remaining != 2 || got[0].Window != time.Minute || got[1].Window != 31*24*time.Hour {
		t.Errorf("after a refund: %+v", got)
	}
	third, _ := take("a")
	c.pass(30 * time.Second) // the next minute
	third.Refund()           // of the month alone
	if got := first.Quotas(); got[0].Remaining != 2 || got[1].Remaining != 2 {
		t.Errorf("after a late refund: %+v", got)
	}
	for range 2 {
		if charge, e := take("a"); charge == nil {
			t.Errorf("in a new minute: %v", e)
		}
	}
	refused("a", recourse.KindRateLimited, time.Minute, "minute") // both are used up, and end together
	c.pass(time.Minute)
	for range 3 {
		if charge, e := take("a"); charge == nil {
			t.Errorf("in the new year: %v", e)
		}
		c.pass(time.Minute)
	}
	refused("a", recourse.KindQuotaExhausted, 31*24*time.Hour-3*time.Minute, "month")
}

// Callers come while tools come and go.
func TestConcurrently(t *testing.T) {
	t.Parallel()

	server := farm()
	limiter := mcptool.NewWindows(nil, mcptool.Policy{Name: "month", Limit: 1000})
	mcptool.Use(server, nil, quiet, mcptool.WithLimiter(limiter), mcptool.WithDeadline(time.Minute))
	session := connect(t, server)
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for n := range 10 {
				name := "tool-" + strconv.Itoa(n%3)
				switch i {
				case 0:
					mcp.AddTool(server, &mcp.Tool{Name: name}, fails(nil))
				case 1:
					server.RemoveTools(name)
				default:
					arguments := map[string]any{"field_id": "F-1", "years": n}
					if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments}); errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "get_field", Arguments: arguments})
					if err != nil || result.IsError {
						t.Errorf("%v %+v", err, result)
					}
				}
			}
		})
	}
	callers.Wait()
}

// The user stands where the contract's path has a place for it.
func TestGuardPaths(t *testing.T) {
	t.Parallel()

	const text = "form: 1\nname: shop\nextends: recourse\nsession: {path: \"/mcp/{user_id}/rpc\", credentials: [X-Key], user: X-User}\n" +
		"codes: [{code: sold_out, kind: conflict, for: [{kind: conflict, upstream_code: SOLD_OUT}], when: It is gone., retryable: false, hint: Look for another.}]\n"
	shop, err := contract.Builtin().Load("shop.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		status int
		user   string
	}
	for path, want := range map[string]outcome{
		"/mcp/u-1/rpc":    {200, "u-1"},
		"/mcp/a%2Fb/rpc":  {200, "a/b"},
		"/mcp/%C3%A4/rpc": {404, ""},
		"/mcp/%20/rpc":    {404, ""},
		"/mcp//rpc":       {404, ""},
		"/mcp/rpc":        {404, ""},
		"/mcp/a/b/rpc":    {404, ""},
		"/mcp/u-1":        {404, ""},
		"/mcp/u-1/rpc/":   {404, ""},
		"/":               {404, ""},
	} {
		var got outcome
		guard := mcptool.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got.user = r.Header.Get("X-User") }), shop, quiet)
		answer := httptest.NewRecorder()
		guard.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		got.status = answer.Code
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s%s", path, diff, answer.Body)
		}
	}
}
