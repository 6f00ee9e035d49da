package fieldmcp_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/mcptool"
	"github.com/recoursehq/recourse/systems/fieldmcp"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

// A limit is the body of the page's HTTP 429.
type limit struct {
	Error      string `json:"error"`
	ErrorCode  int    `json:"errorCode"`
	RateLimits struct {
		MinuteRemaining  int64 `json:"minuteRemaining"`
		MinuteResetAt    int64 `json:"minuteResetAt"`
		MonthlyRemaining int64 `json:"monthlyRemaining"`
		MonthlyResetAt   int64 `json:"monthlyResetAt"`
	} `json:"rateLimits"`
}

const anything = `{"orgId":"ORG-1"}`

// An organisation may make 100 calls a minute and 17,000 a month.
func TestQuotas(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/quota-minute", "fieldmcp/quota-month")

	now := newClock()
	s := newSystem(t, fieldmcp.Options{Now: now.Now})
	client := systemtest.HTTP(t, s, testkit.Modern)
	for i := range 100 {
		r := client.Call(t, "deere_get_organization", anything)
		if want := strconv.Itoa(99 - i); r.Status != 200 || r.Header.Get("X-RateLimit-Remaining") != want {
			t.Fatalf("call %d: HTTP %d, X-RateLimit-Remaining %s", i+1, r.Status, r.Header.Get("X-RateLimit-Remaining"))
		}
	}
	r := client.Call(t, "deere_get_organization", anything)
	var l limit
	if err := json.Unmarshal(r.Body, &l); err != nil {
		t.Fatalf("%v: %s", err, r.Body)
	}
	endOfMonth := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	if r.Status != 429 || r.Header.Get("Retry-After") != "60" || l.RateLimits.MinuteRemaining != 0 ||
		l.RateLimits.MonthlyRemaining != 17_000-100 || l.RateLimits.MonthlyResetAt != endOfMonth {
		t.Errorf("call 101: HTTP %d, Retry-After %s, %+v", r.Status, r.Header.Get("Retry-After"), l)
	}
	other := testkit.NewClient(t, systemtest.Serve(t, s), testkit.Modern)
	other.Header = map[string][]string{"Authorization": {"Bearer " + fieldmcp.APIKey("narrow")}}
	if a, err := other.Call(t.Context(), "deere_get_organization", anything); err != nil || a.Status != 200 {
		t.Errorf("another organisation: %v, HTTP %d", err, a.Status)
	}
	now.pass(time.Minute)
	if r := client.Call(t, "deere_get_organization", anything); r.Status != 200 || r.Header.Get("X-RateLimit-Remaining") != "99" {
		t.Errorf("a minute later: HTTP %d, X-RateLimit-Remaining %s", r.Status, r.Header.Get("X-RateLimit-Remaining"))
	}
}

// A used-up month ends with the month.
func TestMonthUsedUp(t *testing.T) {
	t.Parallel()
	now := newClock()
	client := systemtest.HTTP(t, newSystem(t, fieldmcp.Options{Now: now.Now, Quotas: []mcptool.Policy{
		{Name: "minute", Limit: 100, Window: time.Minute}, {Name: "month", Limit: 2},
	}}), testkit.Legacy)
	for range 2 {
		if r := client.Call(t, "deere_get_organization", anything); r.Status != 200 {
			t.Fatalf("HTTP %d", r.Status)
		}
	}
	endOfMonth := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	wait := strconv.Itoa(int(endOfMonth.Sub(now.Now()).Seconds()))
	r := client.Call(t, "deere_get_organization", anything)
	if r.Status != 429 || r.Header.Get("Retry-After") != wait || !strings.Contains(string(r.Body), "Try again in "+wait+" seconds.") {
		t.Errorf("HTTP %d, Retry-After %s: %s", r.Status, r.Header.Get("Retry-After"), r.Body)
	}
	now.pass(endOfMonth.Sub(now.Now()))
	if r := client.Call(t, "deere_get_organization", anything); r.Status != 200 {
		t.Errorf("in the next month: HTTP %d", r.Status)
	}
}

// On stdio, without HTTP statuses, the limit is a tool error that states the wait.
func TestQuotaOnStdio(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/hint-rate-limit-org")

	now := newClock()
	client := systemtest.Stdio(t, newSystem(t, fieldmcp.Options{Now: now.Now}).MCPServer())
	for range 100 {
		succeed(t, client, "deere_get_organization", anything)
	}
	f := fail(t, client, "deere_get_organization", anything)
	if f.Code != "RATE_LIMIT_ORG" || !f.Retryable || f.RetryAfter != 60 || f.SuggestedAction != "Wait 1 min." {
		t.Errorf("%+v", f)
	}
}

// On stdio, an organisation without access is refused in the result of every call, and its farmer is not bothered.
func TestSuspendedOnStdio(t *testing.T) {
	t.Parallel()
	client := systemtest.Stdio(t, newSystem(t, fieldmcp.Options{Organisation: "suspended"}).MCPServer())
	for tool, arguments := range map[string]string{"deere_get_organization": anything, "deere_list_resources": `{"resourceType":"fields"}`} {
		f := fail(t, client, tool, arguments)
		if f.Code != "PROVIDER_ERROR" || f.Retryable || strings.Contains(f.SuggestedAction, "farmer") || !strings.Contains(f.Message, "suspended") {
			t.Errorf("%s: %+v", tool, f)
		}
	}
}
