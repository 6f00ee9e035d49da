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
	"pgregory.net/rapid"

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
		if charge != nil || e.Kind != kind || e.RetryAfter != wait || e.Quotas[0].Policy != binding || e.Origin != recourse.OriginGateway {
			t.Errorf("%v after %v, binding %+v; want %s after %v, %s", e, e.RetryAfter, e.Quotas, kind, wait, binding)
		}
	}
	first, _ := take("a")
	second, _ := take("a")
	refused("a", recourse.KindRateLimited, time.Minute, "minute")
	if charge, _ := take("b"); charge == nil {
		t.Error("another partition was refused")
	}
	second.Refund()
	second.Refund() // the first call still counts
	if got := first.Quotas(); got[0].Remaining != 1 || got[1].Remaining != 2 || got[0].Window != time.Minute || got[1].Window != 31*24*time.Hour {
		t.Errorf("after a refund: %+v", got)
	}
	c.pass(20 * time.Second)
	third, _ := take("a")
	refused("a", recourse.KindRateLimited, 40*time.Second, "minute") // until the first call is a minute old
	c.pass(40 * time.Second)                                         // in the next minute, a part of the third call still counts
	if got := first.Quotas(); got[0].Remaining != 1 || got[1].Remaining != 1 {
		t.Errorf("a minute after the first call: %+v", got)
	}
	c.pass(20 * time.Second)
	third.Refund() // only affects the month
	if got := first.Quotas(); got[0].Remaining != 2 || got[1].Remaining != 2 {
		t.Errorf("after a late refund: %+v", got)
	}
	for range 2 {
		if charge, e := take("a"); charge == nil {
			t.Errorf("in a new minute: %v", e)
		}
	}
	refused("a", recourse.KindRateLimited, time.Minute, "minute") // the month is used up, too, and ends earlier
	c.pass(time.Minute)
	for range 3 {
		if charge, e := take("a"); charge == nil {
			t.Errorf("in the new year: %v", e)
		}
		c.pass(time.Minute)
	}
	refused("a", recourse.KindQuotaExhausted, 31*24*time.Hour-3*time.Minute-50*time.Second, "month")
}

// No minute has more calls than allowed, wherever the clock's own minutes begin. No call is refused much longer than
// necessary, and one that waits as long as the refusal says is accepted.
func TestWindowsSlide(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 20).Draw(t, "limit")
		c := &clock{now: time.Date(2026, 7, 28, 12, 0, 57, 0, time.UTC)}
		l := mcptool.NewWindows(c.Now, mcptool.Policy{Name: "minute", Limit: limit, Window: time.Minute})
		var calls []time.Time
		within := func(d time.Duration) (n int64) {
			for _, at := range calls {
				if c.Now().Sub(at) < d {
					n++
				}
			}
			return n
		}
		for range rapid.IntRange(1, 100).Draw(t, "calls") {
			c.pass(time.Duration(rapid.Int64Range(0, 8_000).Draw(t, "ms")) * time.Millisecond)
			_, err := l.Take(t.Context(), "a")
			if err == nil {
				if calls = append(calls, c.Now()); within(time.Minute) > limit {
					t.Fatalf("%d calls in a minute, want at most %d", within(time.Minute), limit)
				}
				continue
			}
			e := recourse.From(err)
			if within(time.Minute+time.Second) < limit {
				t.Fatalf("refused after %d calls, want %d", within(time.Minute), limit)
			}
			if before := e.Quotas[0].ResetAt; !before.Equal(c.Now().Add(e.RetryAfter)) {
				t.Fatalf("a wait of %v until %v", e.RetryAfter, before)
			}
			c.pass(e.RetryAfter)
			if _, err := l.Take(t.Context(), "a"); err != nil {
				t.Fatalf("refused after a wait of %v: %v", e.RetryAfter, err)
			}
			calls = append(calls, c.Now())
		}
	})
}

// The time of a reset does not change during the wait.
func TestWindowsReset(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)}
	l := mcptool.NewWindows(c.Now, mcptool.Policy{Name: "minute", Limit: 1, Window: time.Minute})
	if _, err := l.Take(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	want := c.Now().Add(time.Minute)
	for range 50 {
		c.pass(730 * time.Millisecond)
		_, err := l.Take(t.Context(), "")
		if e := recourse.From(err); !e.Quotas[0].ResetAt.Equal(want) {
			t.Errorf("reset at %v, want %v", e.Quotas[0].ResetAt, want)
		}
	}
}

// Calls are made while tools are added and removed.
func TestConcurrently(t *testing.T) {
	t.Parallel()

	server := farm()
	limiter := mcptool.NewWindows(nil, mcptool.Policy{Name: "month", Limit: 1000})
	mcptool.Use(server, contract.MustBuiltin(contract.Default), quiet, mcptool.WithLimiter(limiter), mcptool.WithTimeout(time.Minute))
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

// The contract's path says where the user is.
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
		"/mcp/a%2Fb/rpc":  {404, ""},
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
