package fieldmcp_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/retry"
	"github.com/recoursehq/recourse/systems/fieldmcp"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

// follow makes a call like a client that only knows the page, with random in the place of jitter. It returns the final
// code ("" for a success), the number of calls, and the waits.
func follow(t *testing.T, client systemtest.Client, random float64, tool, arguments string) (code string, calls int, waits []time.Duration) {
	t.Helper()
	last, waits := systemtest.Follow(t, rules(t), retry.Reads, random, func() systemtest.Reply {
		calls++
		return client.Call(t, tool, arguments)
	})
	if e := last.Read(t, rules(t)); e != nil {
		code = e.Code
	}
	return code, calls, waits
}

// The page's decision tree: what is retryable is repeated after its wait, at most three times; anything else is not,
// whatever its category.
func TestClientDecides(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/decision-retryable", "fieldmcp/decision-not-retryable", "fieldmcp/decision-three-retries", "fieldmcp/retry-attempts",
		"fieldmcp/decision-validation", "fieldmcp/decision-resource", "fieldmcp/decision-data-quality", "fieldmcp/decision-partial",
		"fieldmcp/decision-internal")

	client := systemtest.HTTP(t, newSystem(t, fieldmcp.Options{Timeout: 2 * time.Second, Quotas: plenty}), testkit.Legacy)
	for _, test := range []struct {
		name            string
		tool, arguments string
		code            string
		calls           int
	}{
		{"a success", "deere_get_field", `{"fieldId":"FLD-101"}`, "", 1},
		{"an outage that ends", "deere_get_field", `{"fieldId":"fault-outage"}`, "", 2},
		{"an outage", "deere_get_field", `{"fieldId":"fault-502"}`, "PROVIDER_UNAVAILABLE", 4},
		{"no answer in time", "deere_get_field", `{"fieldId":"fault-504"}`, "PROVIDER_TIMEOUT", 4},
		{"a 500", "deere_get_field", `{"fieldId":"fault-500"}`, "PROVIDER_ERROR", 4},
		{"the provider's limit", "deere_get_field", `{"fieldId":"fault-429"}`, "RATE_LIMIT_PROVIDER", 4},
		{"a 400", "deere_get_field", `{"fieldId":"fault-400"}`, "PROVIDER_ERROR", 1},
		{"validation", "deere_get_field", `{}`, "MISSING_REQUIRED_PARAM", 1},
		{"resource", "deere_get_field", `{"fieldId":"FLD-999"}`, "FIELD_NOT_FOUND", 1},
		{"data quality", "deere_analyze_yield", `{"fieldId":"FLD-104","season":2025}`, "INSUFFICIENT_DATA", 1},
		{"partial", "deere_get_fields", `{"fieldIds":["FLD-101","fault-502"]}`, "PARTIAL_SUCCESS", 1},
		{"internal", "deere_get_field", `{"fieldId":"fault-units"}`, "INTERNAL_ERROR", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, calls, waits := follow(t, client, 0, test.tool, test.arguments)
			if code != test.code || calls != test.calls || len(waits) != calls-1 {
				t.Errorf("%q after %d calls, with waits of %v", code, calls, waits)
			}
		})
	}
	t.Run("auth", func(t *testing.T) {
		t.Parallel()
		lapsed := systemtest.Stdio(t, newSystem(t, fieldmcp.Options{Organisation: "lapsed"}).MCPServer())
		if code, calls, _ := follow(t, lapsed, 0, "deere_get_field", `{"fieldId":"FLD-101"}`); code != "TOKEN_EXPIRED" || calls != 1 {
			t.Errorf("%q after %d calls", code, calls)
		}
	})
}

// The page's waits: the stated one, or two seconds without one; then twice and four times that, plus up to a second of
// jitter from the second on.
func TestClientWaits(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/retry-waits", "fieldmcp/retry-jitter", "fieldmcp/retry-start", "fieldmcp/retry-after-respected")

	client := systemtest.HTTP(t, newSystem(t, fieldmcp.Options{Timeout: 2 * time.Second}), testkit.Modern)
	for _, test := range []struct {
		name    string
		fieldID string
		random  float64
		waits   []time.Duration
	}{
		{"a stated wait", "fault-429", 0, []time.Duration{12 * time.Second, 24 * time.Second, 48 * time.Second}},
		{"a stated wait, with jitter", "fault-429", 0.5, []time.Duration{12 * time.Second, 24500 * time.Millisecond, 48500 * time.Millisecond}},
		{"the most jitter", "fault-429", 0.999, []time.Duration{12 * time.Second, 24999 * time.Millisecond, 48999 * time.Millisecond}},
		{"a short stated wait", "fault-limited", 0, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		{"the wait of an outage", "fault-502", 0, []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute}},
		{"no stated wait", "fault-504", 0, []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}},
		{"no stated wait, with jitter", "fault-500", 0.5, []time.Duration{2 * time.Second, 4500 * time.Millisecond, 8500 * time.Millisecond}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, _, waits := follow(t, client, test.random, "deere_get_field", `{"fieldId":"`+test.fieldID+`"}`)
			if diff := cmp.Diff(test.waits, waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
		})
	}
}

// naps records the server's waits between requests to the provider.
type naps struct {
	mu   sync.Mutex
	list []time.Duration
}

func (n *naps) sleep(_ context.Context, d time.Duration) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, d)
	return nil
}

// The server retries before it reports a failure, and keeps the provider's wait; if that is too long, it reports
// immediately.
func TestServerRepeats(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/rate-limit-provider-after-retries", "fieldmcp/provider-unavailable-after-retries")

	for _, test := range []struct {
		fieldID  string
		code     string
		requests int
		wait     time.Duration // the minimum between two of them
	}{
		{"fault-limited", "RATE_LIMIT_PROVIDER", 3, time.Second},
		{"fault-brief", "", 2, 200 * time.Millisecond},
		{"fault-502", "PROVIDER_UNAVAILABLE", 3, 200 * time.Millisecond},
		{"fault-429", "RATE_LIMIT_PROVIDER", 2, 12 * time.Second}, // 24 s would be too long
		{"fault-503", "PROVIDER_UNAVAILABLE", 2, 12 * time.Second},
		{"fault-busy", "RATE_LIMIT_PROVIDER", 3, time.Second},
		{"fault-408", "PROVIDER_TIMEOUT", 3, 200 * time.Millisecond},
		{"fault-400", "PROVIDER_ERROR", 1, 0},
	} {
		t.Run(test.fieldID, func(t *testing.T) {
			t.Parallel()
			var waits naps
			s, err := fieldmcp.New(fieldmcp.WithSleep(fieldmcp.Options{Logger: systemtest.Quiet()}, waits.sleep))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			e := systemtest.Stdio(t, s.MCPServer()).Call(t, "deere_get_field", `{"fieldId":"`+test.fieldID+`"}`).Read(t, rules(t))
			code := ""
			if e != nil {
				code = e.Code
			}
			if requests := s.Asked("/fields/" + test.fieldID); code != test.code || requests != test.requests || len(waits.list) != requests-1 {
				t.Errorf("%q after %d requests, with waits of %v", code, requests, waits.list)
			}
			least := test.wait
			for _, wait := range waits.list {
				// Each wait is twice as long as the previous one, unless the provider states it, and up to a fifth
				// longer at random.
				if wait < least || wait > least+least/5 {
					t.Errorf("got wait %s, want %s to %s", wait, least, least+least/5)
				}
				if test.wait < time.Second || test.fieldID == "fault-busy" {
					least *= 2
				}
			}
		})
	}
}
