package account_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/contract"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/test/gatewaytest"
	"github.com/recoursehq/recourse/internal/test/testkit"
	"github.com/recoursehq/recourse/internal/test/testkit/faults"
)

// Every contract reports failures of an account in both eras, with the missing scopes and the link that fixes it, and without
// tokens.
func TestAccountFailuresInEveryContract(t *testing.T) {
	t.Parallel()
	const access, refresh = "canary-access-token-1", "canary-refresh-token-1"
	lapsed := connection.Token{Access: access, Expires: time.Now().Add(-time.Minute)}
	good := connection.Token{Access: access, Refresh: refresh, Expires: time.Now().Add(time.Hour)}
	for _, failure := range []struct {
		kind   recourse.Kind
		origin recourse.Origin
		token  *connection.Token
		fault  *testkit.Fault
	}{
		{kind: recourse.KindNotConnected, origin: recourse.OriginCaller},
		{kind: recourse.KindTokenExpired, origin: recourse.OriginProvider, token: &lapsed},
		{kind: recourse.KindTokenRevoked, origin: recourse.OriginProvider, token: &good, fault: new(faults.Unauthorized())},
		{kind: recourse.KindMissingScope, origin: recourse.OriginProvider, token: &good, fault: new(faults.InsufficientScope())},
	} {
		for _, name := range contract.Builtin().Names() {
			t.Run(string(failure.kind)+" "+name, func(t *testing.T) {
				t.Parallel()
				srv := testkit.NewServer(t)
				f := startWithAccounts(t, srv, "authorization_code", "", "contract: "+name)
				f.refused.Store(true)
				if failure.token != nil {
					if err := f.manager.Connect(t.Context(), f.provider, "anybody", "test", *failure.token); err != nil {
						t.Fatal(err)
					}
				}
				for _, era := range testkit.Eras {
					client := testkit.NewClient(t, f.url+"/farm/mcp", era)
					client.Header = http.Header{"Dev-Id": {"d"}, "X-Api-Key": {"k"}} // terra requires them
					if era == testkit.Legacy {
						if _, err := client.Initialize(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					if failure.fault != nil && (era == testkit.Legacy || failure.kind == recourse.KindMissingScope) {
						srv.Next(testkit.Echo, *failure.fault)
					}
					a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
					if err != nil {
						t.Fatal(err)
					}
					record := gatewaytest.Record(t, a)
					if record.Kind != failure.kind || record.Origin != failure.origin || record.Effect != recourse.EffectNone || record.Retry != recourse.RetryAfterAuth {
						t.Errorf("%s: got %+v", era, record)
					}
					if failure.kind == recourse.KindMissingScope && (len(record.MissingScopes) == 0 || slices.Contains(record.MissingScopes, "")) {
						t.Errorf("%s: got scopes %q", era, record.MissingScopes)
					}
					f.linkIn(t, strings.ReplaceAll(string(a.Body), `\n`, " "))
					if said := string(a.Body) + f.log.String(); strings.Contains(said, "canary") || strings.Contains(said, "hunter2") {
						t.Errorf("%s: a secret is shown: %s", era, said)
					}
				}
			})
		}
	}
}

// While the store is down, calls fail and say so; when it is back, they succeed.
func TestAccountsWithoutTheStore(t *testing.T) {
	t.Parallel()
	for _, era := range testkit.Eras {
		t.Run(era.String(), func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			f := startWithAccounts(t, srv, "authorization_code", "")
			client := f.client(t, era)
			if err := f.store.Close(); err != nil {
				t.Fatal(err)
			}
			a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
			if err != nil {
				t.Fatal(err)
			}
			record := gatewaytest.Record(t, a)
			if record.Kind != recourse.KindUnavailable || record.Origin != recourse.OriginGateway || record.Effect != recourse.EffectNone ||
				strings.Contains(string(a.Body), "sql") || srv.Attempts(testkit.Echo) != 0 {
				t.Errorf("got %s %+v", a.Body, record)
			}
			if log := f.log.String(); !strings.Contains(log, "closed") {
				t.Errorf("no cause in the log: %s", log)
			}
		})
	}
}

// A server that refuses a token of the gateway's own, though it is new, refuses the gateway: in no contract is that a person's
// matter, and nobody is asked to connect anything.
func TestOwnTokenRefused(t *testing.T) {
	t.Parallel()
	for _, name := range contract.Builtin().Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := testkit.NewServer(t)
			f := startWithAccounts(t, srv, "client_credentials", "", "contract: "+name)
			srv.Always(testkit.Echo, faults.Unauthorized())
			client := testkit.NewClient(t, f.url+"/farm/mcp", testkit.Modern)
			client.Header = http.Header{"Dev-Id": {"d"}, "X-Api-Key": {"k"}} // terra requires them
			a, err := client.Call(t.Context(), testkit.Echo, `{"message":"m"}`)
			if err != nil {
				t.Fatal(err)
			}
			e := gatewaytest.Record(t, a)
			if e.Kind != recourse.KindPermissionDenied || e.Origin != recourse.OriginGateway || e.RetryAdvice() != recourse.RetryAfterSetup {
				t.Errorf("got %+v", e)
			}
			said := string(a.Body)
			if !strings.Contains(said, "refused the gateway's own credentials") && !strings.Contains(said, "something went wrong") { // terra's word
				t.Errorf("got %s", said)
			}
			if strings.Contains(said, "/connect/") || strings.Contains(said, "farmer") {
				t.Errorf("a person is asked: %s", said)
			}
			if f.issued.Load() != 2 || srv.Attempts(testkit.Echo) != 2 {
				t.Errorf("got %d tokens, %d attempts", f.issued.Load(), srv.Attempts(testkit.Echo))
			}
		})
	}
}
