package account_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// If a tool's result says that the provider refuses the account, the gateway renews the credential, and repeats the call if that is
// safe. If the provider refuses to renew it, the failure has the link to connect the account again.
func TestToolRefusesTheAccount(t *testing.T) {
	t.Parallel()
	fieldError := func(code, members string) testkit.Fault {
		return faults.ToolError("", fmt.Sprintf(`{"error":true,"code":%q,"message":"It failed.","retryable":false%s}`, code, members))
	}
	expired := fieldError("TOKEN_EXPIRED", `,"provider":"John Deere"`)
	tests := []struct {
		name    string
		faults  []testkit.Fault
		refused bool // the provider does not renew the token
		tool    string
		entry   string
		want    string   // code; "": the call succeeds
		seen    []string // credentials that the server got
	}{
		{"renewed", []testkit.Fault{expired}, false, testkit.Echo, readOnlyEcho, "", []string{"old", "fresh-1"}},
		{"refused", []testkit.Fault{expired}, true, testkit.Echo, readOnlyEcho, "TOKEN_REVOKED", []string{"old"}},
		{"refused again", []testkit.Fault{expired, expired}, false, testkit.Echo, readOnlyEcho, "TOKEN_EXPIRED", []string{"old", "fresh-1"}},
		{"a write is not repeated", []testkit.Fault{expired}, false, testkit.OrderCreate, writes, "PROVIDER_UNAVAILABLE", []string{"old"}},
		{"a write at a trusted server is repeated", []testkit.Fault{expired}, false, testkit.OrderCreate, writes + ", trusted: true", "", []string{"old", "fresh-1"}},
		{
			"a scope is missing",
			[]testkit.Fault{fieldError("MISSING_SCOPE", `,"missingScopes":["ag2"]`)},
			false, testkit.Echo, readOnlyEcho,
			"MISSING_SCOPE",
			[]string{"old"},
		},
		{
			"another provider",
			[]testkit.Fault{fieldError("TOKEN_EXPIRED", `,"provider":"Leaf"`)},
			false, testkit.Echo, readOnlyEcho,
			"TOKEN_EXPIRED",
			[]string{"old"},
		},
	}
	for _, tt := range tests {
		for _, era := range testkit.Eras {
			t.Run(tt.name+", "+era.String(), func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t, testkit.WithEra(era))
				f := startWithAccounts(t, srv, "authorization_code", "", "contract: fieldmcp", tt.entry)
				f.connect(t)
				f.refused.Store(tt.refused)
				srv.Next(tt.tool, tt.faults...)
				arguments := map[string]string{testkit.Echo: `{"message":"m"}`, testkit.OrderCreate: `{"reference":"A-17","amount":1}`}[tt.tool]
				client := f.client(t, era)
				a, err := client.Call(t.Context(), tt.tool, arguments)
				if err != nil {
					t.Fatal(err)
				}
				seen := []string{}
				for _, call := range srv.Calls(tt.tool) {
					seen = append(seen, strings.TrimPrefix(call.Header.Get("Authorization"), "Bearer "))
				}
				if !slices.Equal(seen, tt.seen) {
					t.Errorf("the server got %q, want %q", seen, tt.seen)
				}
				if tt.want == "" {
					if !a.Succeeded() {
						t.Errorf("got %s", a.Body)
					}
					return
				}
				text, record := a.Result(t).Text(), gatewaytest.Record(t, a)
				if record.Code != tt.want || record.KnownEffect() != effects[tt.entry] {
					t.Errorf("got %s, effect %s: %s", record.Code, record.Effect, text)
				}
				linked := strings.HasPrefix(tt.name, "refused") || tt.want == "MISSING_SCOPE"
				if strings.Contains(text, "/connect/") != linked {
					t.Errorf("got a link: %t: %s", !linked, text)
				}
				if tt.want == "MISSING_SCOPE" {
					wantPage(t, record, "ag2")
				}
			})
		}
	}
}

const (
	readOnlyEcho = "tools: {echo: {read_only: true}}"
	writes       = "tools: {order_create: {read_only: false}}"
)

// effects are the effects of failures: the tool may have written before its provider refused the account.
var effects = map[string]recourse.Effect{readOnlyEcho: recourse.EffectNone, writes: recourse.EffectUnknown}

// wantPage checks that the page behind a failure's link shows a text.
func wantPage(t *testing.T, e *recourse.Error, text string) {
	t.Helper()
	var link string
	if err := json.Unmarshal(e.Details["connectUrl"], &link); err != nil {
		t.Fatalf("%v: %+v", err, e)
	}
	resp, err := http.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if shown, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(shown), text) {
		t.Errorf("no %q on the page: %s", text, shown)
	}
}
