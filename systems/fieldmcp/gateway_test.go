package fieldmcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/systems/fieldmcp"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
)

// Over HTTP an organisation's limit is HTTP 429, even if the system behind the gateway speaks stdio and has no limit.
// On stdio it is a tool error.
func TestQuotaThroughGateway(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/http-429", "fieldmcp/rate-limit-is-http", "fieldmcp/rate-limit-org-not-over-http", "fieldmcp/retry-after-header",
		"fieldmcp/rate-limit-remaining-header", "fieldmcp/http-429-prose")

	for _, era := range []testkit.Era{testkit.Legacy, testkit.Modern} {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			client := through(t, era, nil, append(program(t), "contract: fieldmcp")...)
			for range 100 {
				succeed(t, client, "deere_get_organization", anything)
			}
			r := client.Call(t, "deere_get_organization", anything)
			wait := r.Header.Get("Retry-After")
			seconds, err := strconv.Atoi(wait)
			if r.Status != http.StatusTooManyRequests || err != nil || seconds < 1 || seconds > 60 || r.Header.Get("X-RateLimit-Remaining") != "0" {
				t.Fatalf("HTTP %d %v %s", r.Status, r.Header, r.Body)
			}
			var body struct {
				Error      string `json:"error"`
				ErrorCode  int    `json:"errorCode"`
				RateLimits struct {
					MinuteRemaining  *int `json:"minuteRemaining"`
					MonthlyRemaining int  `json:"monthlyRemaining"`
				} `json:"rateLimits"`
			}
			if err := json.Unmarshal(r.Body, &body); err != nil {
				t.Fatal(err)
			}
			said := body.ErrorCode == 429 && strings.HasPrefix(body.Error, "Rate limit exceeded. Try again in ")
			if limits := body.RateLimits; !said || limits.MinuteRemaining == nil || *limits.MinuteRemaining != 0 || limits.MonthlyRemaining != 16_900 {
				t.Errorf("%s", r.Body)
			}
		})
	}
}

// Behind a gateway that passes on the client's address, one bad client does not lock out the others; it does if the
// address is missing or not trusted.
func TestLockoutBehindGateway(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/authentication-block")

	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for _, test := range []struct {
		name    string
		trusted []netip.Prefix
		forward string
		locked  bool // for another client
	}{
		{"told", loopback, "forward: [authorization, x-forwarded-for]", false},
		{"no address", loopback, "forward: [authorization]", true},
		{"an untrusted address", nil, "forward: [authorization, x-forwarded-for]", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, fieldmcp.Options{Proxies: test.trusted})
			url := systemtest.Front(t, systemtest.Serve(t, s), "contract: fieldmcp", test.forward)
			isLocked := func(address, key string) bool {
				client := testkit.NewClient(t, url, testkit.Modern)
				client.Header = http.Header{"Authorization": {"Bearer " + key}, "X-Forwarded-For": {"192.0.2.9, " + address}}
				a, err := client.Call(t.Context(), "deere_get_organization", anything)
				if err != nil {
					t.Fatal(err)
				}
				return strings.Contains(string(a.Body), "Too many authentications from this address have failed.")
			}
			for range 25 {
				isLocked("203.0.113.1", "another")
			}
			if !isLocked("203.0.113.1", fieldmcp.APIKey("willow")) {
				t.Error("the bad client is not locked out")
			}
			if got := isLocked("203.0.113.2", fieldmcp.APIKey("willow")); got != test.locked {
				t.Errorf("another client is locked out: %t", got)
			}
		})
	}
}

// A wrong key of the gateway is the operator's problem, and the farmer is not bothered with it.
func TestGatewaysOwnKey(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "fieldmcp/gateways-own-key")

	s := newSystem(t, fieldmcp.Options{})
	client := through(t, testkit.Modern, nil, "contract: fieldmcp", "url: "+systemtest.Serve(t, s), `headers: {Authorization: "Bearer old"}`)
	f := fail(t, client, "deere_get_organization", anything)
	if f.Code != "PROVIDER_ERROR" || f.Retryable || strings.Contains(f.SuggestedAction, "farmer") {
		t.Errorf("%+v", f)
	}
}

// A limit in the server's own result becomes the HTTP 429, too, with what the server says of it; older pages call it RATE_LIMIT_USER.
func TestLimitInResult(t *testing.T) {
	t.Parallel()
	promises.Reads(t, "fieldmcp/reads-rate-limit-user", "fieldmcp/rate-limit-org-not-over-http")

	for _, code := range []string{"RATE_LIMIT_ORG", "RATE_LIMIT_USER"} {
		for _, form := range []testkit.AnswerForm{testkit.JSON, testkit.SSE} {
			srv := testkit.NewServer(t, testkit.WithForm(form))
			srv.Always(testkit.GetField, faults.ToolError("", `{"error":true,"code":"`+code+`","message":"Hill Farm is over its plan.","plan":{"calls":5},"retryable":true,"retryAfter":7}`))
			client := through(t, testkit.Modern, nil, "contract: fieldmcp", "url: "+srv.URL())
			r := client.Call(t, testkit.GetField, `{"field_id":"F-1"}`)
			const want = `{"error":"Rate limit exceeded. Try again in 7 seconds.","errorCode":429,"message":"Hill Farm is over its plan.","plan":{"calls":5}}`
			if r.Status != http.StatusTooManyRequests || string(r.Body) != want || r.Header.Get("Retry-After") != "7" {
				t.Errorf("%s as %s: HTTP %d %s", code, form, r.Status, r.Body)
			}
		}
	}
}

// through returns a client of a gateway that is in front of one server.
func through(t *testing.T, era testkit.Era, header http.Header, entry ...string) systemtest.Client {
	t.Helper()
	return systemtest.Connect(t, systemtest.Gateway(t, entry...)+"/system/mcp", era, header)
}

// program is the entry in a gateway's configuration for the test binary as a program.
func program(t *testing.T) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{fmt.Sprintf("command: [%q]", self), "env: {" + systemtest.AsProgram + `: "1"}`}
}
