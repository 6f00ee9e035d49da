package gateway_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// refusals are a server's answers to credentials, with their challenges.
var refusals = []struct {
	fault     testkit.Fault
	status    int
	challenge string
	kind      recourse.Kind
}{
	{faults.Unauthorized(), http.StatusUnauthorized, faults.Challenge, recourse.KindUnauthenticated},
	{faults.InsufficientScope(), http.StatusForbidden, faults.ScopeChallenge, recourse.KindMissingScope},
	{faults.Status(http.StatusForbidden, faults.RPC), http.StatusForbidden, "", recourse.KindPermissionDenied},
}

// If the server refuses the client's own credentials, the client gets the server's refusal unchanged.
func TestRefusalOfTheClientsCredentials(t *testing.T) {
	t.Parallel()
	for _, c := range refusals {
		for _, era := range testkit.Eras {
			t.Run(c.fault.Name+"/"+era.String(), func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t)
				direct, through := both(t, srv, era, "forward: [authorization]", "tools: {get_field: {read_only: true}}")
				through.Header = http.Header{"Authorization": {"Bearer client-token"}}
				if era == testkit.Legacy {
					through.MustInitialize(t)
				}
				srv.Always(testkit.EveryMessage, c.fault)
				check := func(method, params string) {
					t.Helper()
					want, got := direct.MustRequest(t, "1", method, params), through.MustRequest(t, "1", method, params)
					if got.Status != c.status || got.Header.Get("WWW-Authenticate") != c.challenge {
						t.Errorf("%s: got HTTP %d %q %s", method, got.Status, got.Header.Get("WWW-Authenticate"), got.Body)
					}
					if !bytes.Equal(got.Body, want.Body) || got.Header.Get("Content-Type") != want.Header.Get("Content-Type") {
						t.Errorf("%s: got %s, want the server's answer", method, got.Body)
					}
				}
				check("tools/call", `{"name":"get_field","arguments":{"field_id":"F-1"}}`)
				check("tools/call", `{"name":"order_create","arguments":{"reference":"A","amount":1}}`)
				check("tools/list", `{}`)
				check("x/invented", `{}`)
				for _, request := range srv.Calls(testkit.GetField)[1:] {
					if got := request.Header.Get("Authorization"); got != "Bearer client-token" {
						t.Errorf("the server got the credentials %q", got)
					}
				}
				if got := srv.Attempts(testkit.GetField); got != 2 { // directly, and through the gateway
					t.Errorf("got %d attempts", got)
				}
				a, err := through.Notify(t.Context(), "notifications/x", "")
				if err != nil || a.Status != c.status || a.Header.Get("WWW-Authenticate") != c.challenge {
					t.Errorf("notification: got %+v, %v", a, err)
				}
			})
		}
	}
}

// If the server refuses the gateway's own credentials, no client is asked to sign in.
func TestRefusalOfTheGatewaysCredentials(t *testing.T) {
	t.Parallel()
	for _, c := range refusals {
		for _, era := range testkit.Eras {
			t.Run(c.fault.Name+"/"+era.String(), func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t)
				f := gatewaytest.Start(t, srv.URL(), "title: The farm", `headers: {Authorization: "Bearer gateway-t0ken"}`)
				client := f.Client(t, era)
				client.Header = http.Header{"Authorization": {"Bearer client-token"}}
				srv.Always(testkit.EveryMessage, c.fault)
				a, err := client.Call(t.Context(), testkit.OrderCreate, `{"reference":"A","amount":1}`)
				if err != nil {
					t.Fatal(err)
				}
				e := gatewaytest.Record(t, a)
				if a.Status != http.StatusOK || a.Header.Get("WWW-Authenticate") != "" || e.Effect != recourse.EffectNone {
					t.Errorf("got HTTP %d, effect %s: %s", a.Status, e.Effect, a.Body)
				}
				const own = "The farm refused the gateway's own credentials. The operator of the gateway has to renew them."
				isOwn := e.Kind == recourse.KindPermissionDenied && e.Retry == recourse.RetryAfterSetup && e.Origin == recourse.OriginGateway && e.Message == own
				if isOwn != (c.challenge != "") || !isOwn && e.Kind != c.kind {
					t.Errorf("got %s of %s with %s", e.Kind, e.Origin, e.Message)
				}
				if got := srv.Calls(testkit.OrderCreate)[0].Header["Authorization"]; len(got) != 1 || got[0] != "Bearer gateway-t0ken" {
					t.Errorf("the server got the credentials %q", got)
				}
				if strings.Contains(f.Log.String(), "t0ken") || strings.Contains(f.Log.String(), "client-token") {
					t.Errorf("credentials are in the log: %s", f.Log)
				}
				if a, err = client.Notify(t.Context(), "notifications/x", ""); err != nil || a.Status != http.StatusBadGateway {
					t.Errorf("notification: got %+v, %v", a, err)
				}
			})
		}
	}
}

// If the gateway's own key is wrong, no contract blames the caller: the failure does not mention signing in, tokens or
// parameters, and does not advise to call again.
func TestOwnCredentialsInEveryContract(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"recourse": "[permission_denied] The farm refused", "fieldmcp": `"code":"PROVIDER_ERROR"`, "commerce": `"code":4001`,
		"studies": "[auth_failed] The farm refused", "patterns": "Authentication required: The farm refused", "terra": "",
	}
	for _, name := range contract.Builtin().Names() {
		for _, era := range testkit.Eras {
			for _, serverEra := range testkit.Eras {
				t.Run(name+"/"+era.String()+" to "+serverEra.String(), func(t *testing.T) {
					t.Parallel()
					srv := testkit.NewServer(t, testkit.WithEra(serverEra))
					f := gatewaytest.Start(t, srv.URL(), "title: The farm", "contract: "+name, "path: /farm/mcp", `headers: {Authorization: "Bearer old"}`)
					client := testkit.NewClient(t, f.URL, era)
					client.Header = http.Header{"Dev-Id": {"d"}, "X-Api-Key": {"k"}}
					if era == testkit.Legacy {
						client.MustInitialize(t)
					}
					srv.Always(testkit.EveryMessage, faults.Unauthorized())
					a, err := client.Call(t.Context(), testkit.OrderCreate, `{"reference":"A","amount":1}`)
					if err != nil {
						t.Fatal(err)
					}
					if name == "terra" { // terra promises this form
						if a.Status != http.StatusInternalServerError || len(a.Body) > 0 {
							t.Errorf("got HTTP %d %s", a.Status, a.Body)
						}
						return
					}
					text := strings.ReplaceAll(string(a.Body), `\"`, `"`)
					if !strings.Contains(text, want[name]) || want[name] == "" {
						t.Errorf("got HTTP %d %s, want %q in it", a.Status, text, want[name])
					}
					text = strings.ReplaceAll(text, "Authentication required: ", "") // how the contract begins each sentence for its status
					for _, wrong := range []string{"uthenticat", "uthoriz", "oken", "arameter", "farmer", "signed in", `"retryable":true`} {
						if strings.Contains(text, wrong) {
							t.Errorf("%q in %s", wrong, text)
						}
					}
					if e := gatewaytest.Record(t, a); e.RetryAdvice() != recourse.RetryAfterSetup || e.Effect != recourse.EffectNone {
						t.Errorf("got retry %s, effect %s", e.RetryAdvice(), e.Effect)
					}
				})
			}
		}
	}
}

// Only the headers in the entry's forward reach the server.
func TestForwardedHeaders(t *testing.T) {
	t.Parallel()
	srv := testkit.NewServer(t)
	f := gatewaytest.Start(t, srv.URL(), "forward: [authorization]", `headers: {X-Static: "1"}`)
	client := testkit.NewClient(t, f.URL, testkit.Modern)
	client.Header = http.Header{"Authorization": {"Bearer client"}, "X-Static": {"2"}, "X-Unlisted": {"3"}}
	if a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`); err != nil || !a.Succeeded() {
		t.Fatalf("got %+v, %v", a, err)
	}
	for _, request := range srv.Requests() {
		for name, want := range map[string]string{"Authorization": "Bearer client", "X-Static": "1", "X-Unlisted": ""} {
			if got := request.Header.Get(name); got != want {
				t.Errorf("%s: got %s: %q, want %q", request.RPC, name, got, want)
			}
		}
	}
}
