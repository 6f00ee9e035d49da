package account_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/gateway"
	"github.com/recoursehq/recourse/internal/policy/auth"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// An exchangeFront is a gateway, without a store, that exchanges the tokens of its callers for those with which it calls a server: at an
// endpoint of its own, and at one with several servers.
type exchangeFront struct {
	url    string
	srv    *testkit.Server
	issuer *testkit.Issuer
	refuse atomic.Pointer[string] // with what the provider answers; nil: it exchanges
	count  atomic.Int64           // exchanges
	log    *gatewaytest.Log
}

func startExchanging(t *testing.T) *exchangeFront {
	t.Helper()
	f := &exchangeFront{srv: testkit.NewServer(t), issuer: testkit.NewIssuer(t)}
	tokens := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if text := f.refuse.Load(); text != nil {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"error":%q,"error_description":%q}`, *text, "about "+r.PostFormValue("subject_token"))
			return
		}
		_, _ = fmt.Fprintf(w, `{"access_token":"exchanged-%d","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer","expires_in":600}`, f.count.Add(1))
	}))
	manager := connection.NewManager(nil, nil, nil, slog.New(slog.DiscardHandler))
	t.Cleanup(manager.Close)
	g, log := gatewaytest.NewReaching(t, gateway.Reach{Dial: testkit.Dial, Connections: manager}, fmt.Sprintf(`
access:
  staff: {jwt: {issuer: %[1]q, audience: [farm]}}
  agents: {keys: [{name: robot, hash: %[2]q}]}
providers:
  login: {title: Login, flow: token_exchange, token_url: %[3]q, client_id: recourse, client_secret: hunter2}
servers:
  farm: {url: %[4]q, connection: login, access: [staff, agents], status_tool: true}
endpoints:
  all: {servers: [farm], access: [staff, agents]}
`, f.issuer.URL, auth.HashOf("rc_robot").String(), tokens, f.srv.URL()))
	f.url, f.log = testkit.Serve(t, g), log
	return f
}

// call calls a tool, and checks that the caller's token is nowhere but where it was sent.
func (f *exchangeFront) call(t *testing.T, path, credential, tool, args string) *testkit.Answer {
	t.Helper()
	client := testkit.NewClient(t, f.url+path, testkit.Modern)
	client.Header = http.Header{"Authorization": {"Bearer " + credential}}
	a, err := client.Call(t.Context(), tool, args)
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprint(string(a.Body), f.log.String(), f.srv.Calls(tool))
	if strings.Contains(said, credential) || strings.Contains(said, "hunter2") {
		t.Errorf("a credential is shown: %s", said)
	}
	return a
}

// A server is called with the token that the caller's is exchanged for, also at an endpoint with several servers. If the server refuses it,
// it is exchanged once more, and a write takes effect once.
func TestExchangedToken(t *testing.T) {
	t.Parallel()
	f := startExchanging(t)
	token := f.issuer.Token(t, nil)
	for _, path := range []string{"/farm/mcp", "/all/mcp"} {
		if a := f.call(t, path, token, testkit.Echo, `{"message":"m"}`); !a.Succeeded() {
			t.Errorf("%s: got %s", path, a.Body)
		}
	}
	f.srv.Next(testkit.OrderCreate, faults.Unauthorized())
	a := f.call(t, "/farm/mcp", token, testkit.OrderCreate, `{"reference":"A-17","amount":1}`)
	calls := f.srv.Calls(testkit.OrderCreate)
	if !a.Succeeded() || f.srv.Orders("A-17") != 1 || len(calls) != 2 || f.count.Load() != 2 {
		t.Errorf("got %s, %d calls, %d exchanges", a.Body, len(calls), f.count.Load())
	}
	for _, call := range append(f.srv.Calls(testkit.Echo), calls[0]) {
		if got := call.Header.Get("Authorization"); got != "Bearer exchanged-1" {
			t.Errorf("the server got %q", got)
		}
	}
	if got := calls[1].Header.Get("Authorization"); got != "Bearer exchanged-2" {
		t.Errorf("the server got %q", got)
	}
	if a := f.call(t, "/farm/mcp", token, "recourse_status", `{}`); !strings.Contains(a.Result(t).Text(), "The account at Login is connected.") {
		t.Errorf("got %s", a.Body)
	}
}

// A caller whose token the provider does not accept is asked for another one, as by any protected resource; one that came without a token is told
// so; and what only the operator can set right is said to be that. The server is not called.
func TestNoExchangedToken(t *testing.T) {
	t.Parallel()
	f := startExchanging(t)
	invalid, scope := "invalid_grant", "invalid_scope"
	f.refuse.Store(&invalid)
	token := f.issuer.Token(t, nil)
	a := f.call(t, "/farm/mcp", token, testkit.Echo, `{"message":"m"}`)
	if challenge := a.Header.Get("WWW-Authenticate"); a.Status != http.StatusUnauthorized || !strings.Contains(challenge, `error="invalid_token"`) ||
		!strings.Contains(challenge, "Login no longer accepts the token") {
		t.Errorf("got HTTP %d, %s", a.Status, challenge)
	}
	for _, tt := range []struct {
		name, path, credential, refuse string
		kind                           recourse.Kind
		retry                          recourse.Retry
	}{
		{"a key", "/farm/mcp", "rc_robot", invalid, recourse.KindUnauthenticated, recourse.RetryAfterAuth},
		{"among several servers", "/all/mcp", token, invalid, recourse.KindUnauthenticated, recourse.RetryAfterAuth},
		{"a wrong scope", "/farm/mcp", token, scope, recourse.KindPermissionDenied, recourse.RetryAfterSetup},
		{"a wrong scope, a moment ago", "/farm/mcp", token, scope, recourse.KindPermissionDenied, recourse.RetryAfterSetup},
	} {
		f.refuse.Store(&tt.refuse)
		a := f.call(t, tt.path, tt.credential, testkit.Echo, `{"message":"m"}`)
		e := gatewaytest.Record(t, a)
		if e.Kind != tt.kind || e.RetryAdvice() != tt.retry || e.Effect != recourse.EffectNone || e.RetryAfter != 0 || a.Status != http.StatusOK {
			t.Errorf("%s: got HTTP %d, %+v", tt.name, a.Status, e)
		}
	}
	if f.srv.Attempts(testkit.Echo) != 0 {
		t.Error("the server was called")
	}
}
