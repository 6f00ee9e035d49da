package studies_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/recoursehq/recourse/internal/test/promises"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/systems/internal/systemtest"
	"github.com/recoursehq/recourse/systems/studies"
)

// bringing returns a client of a hosted system with its own token.
func bringing(t *testing.T, url, token string, era testkit.Era) *testkit.Client {
	t.Helper()
	client := testkit.NewClient(t, url, era)
	if token != "" {
		client.Header = http.Header{"Authorization": {"Bearer " + token}}
	}
	return client
}

func textOf(t *testing.T, client *testkit.Client, tool, arguments string) string {
	t.Helper()
	a, err := client.Call(t.Context(), tool, arguments)
	if err != nil || a.Message == nil || a.Message.Result == nil {
		t.Fatalf("%s: %v %+v", tool, err, a)
	}
	return systemtest.Reply{Result: a.Message.Result}.Tool(t).Text()
}

// The service sees the caller of a hosted server by its token, directly and through a gateway that forwards it.
func TestHosted(t *testing.T) {
	t.Parallel()
	promises.Covers(t, "studies/code-auth-failed", "studies/signing-key-mismatch", "studies/auth-failed-advice", "studies/code-forbidden")

	s := newSystem(t, studies.Options{Hosted: true})
	direct := systemtest.Serve(t, s)
	ways := map[string]string{
		"direct": direct, "gateway": systemtest.Front(t, direct, "contract: studies", "trusted: true", "forward: [authorization]"),
	}
	tests := []struct{ token, tool, arguments, want string }{
		{studies.Token, "me_get", `{}`, `{"email":"dana@example.com"}`},
		{studies.OtherToken, "me_get", `{}`, `{"email":"rui@example.org"}`},
		{studies.Token, "study_get", `{"study_id":"s-5"}`, "[forbidden] The workspace belongs to somebody else."},
		{studies.OtherToken, "study_get", `{"study_id":"s-5"}`, `{"id":"s-5"`},
		{studies.OtherToken, "study_get", `{"study_id":"s-1"}`, "[forbidden] The workspace belongs to somebody else."},
		{studies.OtherToken, "study_create", `{"workspace_id":"w-1","title":"t"}`, "[forbidden] The workspace belongs to somebody else."},
		{"prod_old", "me_get", `{}`, "[auth_failed] Invalid or expired token. Suggestions: Re-authenticate, then retry"},
		{
			"staging_dana", "me_get", `{}`, "[auth_failed] The token was signed with the key of another environment. Suggestions: The token was signed for " +
				"another environment: use the key and the base URL of one and the same environment, then retry",
		},
		{studies.Token, "connect_start", `{"port":3000}`, "[validation_error] connect_start works on the user's own machine only"},
		{studies.Token, "connect_status", `{}`, "[validation_error] connect_status works on the user's own machine only"},
		{studies.Token, "connect_stop", `{}`, "[validation_error] connect_stop works on the user's own machine only"},
	}
	for way, url := range ways {
		for era, name := range map[testkit.Era]string{testkit.Legacy: "legacy era", testkit.Modern: "modern era"} {
			t.Run(way+", "+name, func(t *testing.T) {
				t.Parallel()
				for _, tt := range tests {
					client := bringing(t, url, tt.token, era)
					if _, err := client.Initialize(t.Context()); err != nil {
						t.Fatal(err)
					}
					if text := textOf(t, client, tt.tool, tt.arguments); !strings.HasPrefix(text, tt.want) {
						t.Errorf("%s: %s %s: %s, want %s", tt.token, tt.tool, tt.arguments, text, tt.want)
					}
				}
				for _, header := range []string{"", "Basic cHJvZDpkYW5h", "Bearer", "Bearer "} {
					client := bringing(t, url, "", testkit.Modern)
					client.Header = http.Header{"Authorization": {header}}
					a, err := client.Call(t.Context(), "me_get", `{}`)
					if err != nil || a.Status != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") == "" {
						t.Errorf("Authorization: %q: %v %+v", header, err, a)
					}
				}
			})
		}
	}
}

// Two users at the same time do not see each other's studies.
func TestHostedUsersAreApart(t *testing.T) {
	t.Parallel()
	url := systemtest.Serve(t, newSystem(t, studies.Options{Hosted: true}))
	var all sync.WaitGroup
	for token, email := range map[string]string{studies.Token: "dana@example.com", studies.OtherToken: "rui@example.org"} {
		for range 4 {
			client := bringing(t, url, token, testkit.Modern)
			all.Go(func() {
				for range 25 {
					a, err := client.Call(t.Context(), "me_get", `{}`)
					if err != nil || !strings.Contains(string(a.Body), email) {
						t.Errorf("%s: %v %s", email, err, fmt.Sprint(a))
						return
					}
				}
			})
		}
	}
	all.Wait()
}
