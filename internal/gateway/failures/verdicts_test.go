package failures_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
	"github.com/recoursehq/recourse/internal/test/testkit/protocol"
)

// What the text advises is what the record says, whichever way the server said it: in the contract's form, as a JSON-RPC
// error or as an HTTP status, of tools that read and that write.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	paths := map[string]string{"terra": "/{user_id}"}
	const reads, writes, unsaid = "tools: {get_field: {read_only: true}}", "tools: {get_field: {read_only: false}}", ""
	result := func(object string) testkit.Fault {
		return faults.Result("", `{"content":[{"type":"text","text":`+protocol.Quote(object)+`}],"isError":true}`)
	}
	status := func(status int, body string) testkit.Fault {
		return faults.StatusWith("", status, "application/json", body)
	}
	for name, tt := range map[string]struct {
		contract, nature string
		fault            testkit.Fault
		retry            recourse.Retry
		code             string
		after            int64
		text, not        string
	}{
		"commerce, a timeout":              {"commerce", writes, result(`{"code":3002,"message":"m","retryable":false}`), recourse.RetryReRead, "3002", 0, "Find out before calling again", "growing"},
		"commerce, a read that timed out":  {"commerce", reads, result(`{"code":3002,"message":"m","retryable":false}`), recourse.RetrySameCall, "3002", 0, "growing waits", "before calling"},
		"commerce, an adapter":             {"commerce", writes, result(`{"code":4001,"message":"m","retryable":false}`), recourse.RetryReRead, "4001", 0, "Find out before calling again", ""},
		"commerce, a rule of business":     {"commerce", writes, result(`{"code":3777,"message":"m","retryable":true}`), recourse.RetrySameCall, "3777", 0, "Repeat the call", "Look up"},
		"commerce, and not again":          {"commerce", writes, result(`{"code":3777,"message":"m","retryable":false}`), recourse.RetryReRead, "3777", 0, "Look up the present state", "Repeat"},
		"studies, no access":               {"studies", unsaid, status(http.StatusForbidden, `{"message":"Not in your plan."}`), recourse.RetryAfterAuth, "auth_failed", 0, "Not in your plan. Suggestions: Re-authenticate, then retry", ""},
		"studies, not theirs":              {"studies", unsaid, status(http.StatusForbidden, `{"error_code":"forbidden","message":"Not yours."}`), recourse.RetryNever, "forbidden", 0, "[forbidden] Not yours. Suggestions: Do not retry", "Re-auth"},
		"studies, out of credits":          {"studies", unsaid, status(http.StatusPaymentRequired, `{"message":"5 of 70 credits are left."}`), recourse.RetryNever, "insufficient_credits", 0, "[insufficient_credits] 5 of 70 credits are left.", "retry"},
		"studies, in words":                {"studies", unsaid, faults.StatusWith("", http.StatusPaymentRequired, "text/plain", "5 of 70 credits are left."), recourse.RetryNever, "insufficient_credits", 0, "5 of 70 credits are left.", ""},
		"studies, a line in an error":      {"studies", reads, status(http.StatusBadGateway, `{"message":"[timeout] Late."}`), recourse.RetrySameCall, "timeout", 0, "[timeout] Late. Suggestions: Retry", "] ["},
		"studies, a line that was thrown":  {"studies", reads, result("Error: [rate_limited] Slow."), recourse.RetrySameCall, "rate_limited", 0, "[rate_limited] Slow. ", "Error: "},
		"recourse, a line that was thrown": {"recourse", reads, result("ToolError: [conflict] Taken."), recourse.RetryReRead, "conflict", 0, "[conflict] Taken.", "Error: "},
		"patterns, a limit":                {"patterns", reads, result(`{"kind":"toolError:v1","code":"CLIENT_ERROR","message":"Slow.","retryable":false,"details":{"statusCode":429,"retryAfter":17}}`), recourse.RetryNever, "CLIENT_ERROR", 17_000, "Slow. Try again in 17 s.", ""},
		"patterns, a write":                {"patterns", writes, result(`{"kind":"toolError:v1","code":"NETWORK_ERROR","message":"Late.","retryable":true}`), recourse.RetryReRead, "NETWORK_ERROR", 0, "Check before calling again.", ""},
		"terra, a write":                   {"terra", writes, result("Provider-User-Id header is required"), recourse.RetryReRead, "no-user-header", 0, "Provider-User-Id header is required. It is not known", ""},
		"terra, a setting":                 {"terra", unsaid, result("ENOSPC: no space left on device, write"), recourse.RetryAfterSetup, "other", 0, "A person has to change something", ""},
		"patterns, a setting":              {"patterns", unsaid, result("ENOSPC: no space left on device, write"), recourse.RetryAfterSetup, "CLIENT_ERROR", 0, "A person has to change something", ""},
		"studies, a setting":               {"studies", unsaid, result("ENOSPC: no space left on device, write"), recourse.RetryAfterSetup, "usage_limit_reached", 0, "tell whoever runs the server", "retry"},
		"fieldmcp, a setting":              {"fieldmcp", unsaid, result("ENOSPC: no space left on device, write"), recourse.RetryAfterSetup, "PROVIDER_ERROR", 0, "A person has to act", "Contact"},
		"commerce, a setting":              {"commerce", unsaid, result("ENOSPC: no space left on device, write"), recourse.RetryAfterSetup, "4001", 0, "A person has to act", "Repeat"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			srv.Always(testkit.GetField, tt.fault)
			front := gatewaytest.Start(t, srv.URL(), "contract: "+tt.contract, "path: /farm/mcp"+paths[tt.contract], tt.nature)
			client := testkit.NewClient(t, front.URL+strings.ReplaceAll(paths[tt.contract], "{user_id}", "u-1"), testkit.Legacy)
			client.Header = http.Header{"Dev-Id": {"d"}, "X-Api-Key": {"k"}}
			client.MustInitialize(t)
			got, err := client.Call(t.Context(), testkit.GetField, `{"field_id":"f-1"}`)
			if err != nil {
				t.Fatal(err)
			}
			e, text := gatewaytest.Record(t, got), withoutRecord(t, string(got.Message.Result))
			if e.RetryAdvice() != tt.retry || e.Code != tt.code || e.RetryAfter.Milliseconds() != tt.after {
				t.Errorf("%s, %s after %s, want %s, %s after %d ms: %s", e.Code, e.RetryAdvice(), e.RetryAfter, tt.code, tt.retry, tt.after, text)
			}
			if !strings.Contains(text, tt.text) || tt.not != "" && strings.Contains(text, tt.not) {
				t.Errorf("want %q, without %q, in %s", tt.text, tt.not, text)
			}
		})
	}
}
