package connection_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/connection"
	"github.com/recoursehq/recourse/internal/policy/auth"
)

// exchanging is a provider that exchanges callers' tokens.
var exchanging = &connection.Provider{
	Name: "login", Title: "Login", Flow: connection.TokenExchange, TokenURL: "https://provider.test/token", ClientID: "recourse",
	ClientSecret: "hunter2", Scopes: []string{"orders"}, Params: map[string]string{"audience": "orders"}, Header: "Authorization", Prefix: "Bearer ",
}

// subject is the token of a caller.
func subject(token string, lives time.Duration) connection.Subject {
	return connection.Subject{Token: token, Expires: time.Now().Add(lives)}
}

// A token is exchanged once, however many calls come with it, and the new one is used until shortly before it expires, but no longer than
// the caller's own. Nothing is stored.
func TestExchange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(10 * time.Minute)
		i.slow = func() time.Duration { return time.Second }
		m := manager(t, nil, i)
		ada := subject("ada", time.Hour)
		want := func(of connection.Subject, p *connection.Provider, value string) {
			t.Helper()
			if c, err := m.Exchange(t.Context(), p, of, 0); err != nil || c.Header != "Authorization" || c.Value != "Bearer access-for-"+value {
				t.Errorf("got %+v, %v; want %s", c, err, value)
			}
		}
		var calls sync.WaitGroup
		for range 50 {
			calls.Go(func() { want(ada, exchanging, "ada-1") })
		}
		calls.Wait()
		time.Sleep(9 * time.Minute)
		want(ada, exchanging, "ada-1")
		time.Sleep(time.Minute)
		want(ada, exchanging, "ada-2")
		want(subject("bob", 30*time.Second), exchanging, "bob-3")
		want(subject("bob", 30*time.Second), exchanging, "bob-3")
		time.Sleep(25 * time.Second)
		want(subject("bob", 5*time.Second), exchanging, "bob-4")
		changed := *exchanging
		changed.Scopes = []string{"orders", "more"}
		want(ada, &changed, "ada-5")
		if i.asked() != 5 {
			t.Errorf("%d exchanges", i.asked())
		}
	})
}

// A token that the server refuses is exchanged once more. If the new one is refused as well, that is the operator's matter.
func TestExchangeRefusedByTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(time.Hour)
		i.slow = func() time.Duration { return time.Second }
		m := manager(t, nil, i)
		ada := subject("ada", time.Hour)
		first, err := m.Exchange(t.Context(), exchanging, ada, 0)
		if err != nil {
			t.Fatal(err)
		}
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				if c, err := m.Exchange(t.Context(), exchanging, ada, first.Version); err != nil || c.Value != "Bearer access-for-ada-2" {
					t.Errorf("got %+v, %v", c, err)
				}
			})
		}
		calls.Wait()
		second, err := m.Exchange(t.Context(), exchanging, ada, 0)
		if err != nil || i.asked() != 2 {
			t.Fatalf("%v after %d exchanges", err, i.asked())
		}
		_, err = m.Exchange(t.Context(), exchanging, ada, second.Version)
		wantKind(t, err, recourse.KindPermissionDenied)
		if e := recourse.From(err); e.RetryAdvice() != recourse.RetryAfterSetup || e.Origin != recourse.OriginGateway {
			t.Errorf("got %+v", e)
		}
	})
}

// What the caller can mend is told to the caller, who has to bring another token; what the operator has to mend is never worth a repeat; and
// a provider in trouble has changed nothing. The descriptions are those of real providers. No failure shows a token.
func TestNotExchanged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status     int
		code, more string
		kind       recourse.Kind
		retry      recourse.Retry
		ofCaller   bool
	}{
		{400, "invalid_grant", "", recourse.KindUnauthenticated, recourse.RetryAfterAuth, true},
		{400, "invalid_request", "Invalid token", recourse.KindUnauthenticated, recourse.RetryAfterAuth, true}, // Keycloak
		{400, "invalid_request", "subject_token is invalid", recourse.KindUnauthenticated, recourse.RetryAfterAuth, true},
		{403, "insufficient_scope", "", recourse.KindMissingScope, recourse.RetryAfterAuth, true},
		{400, "invalid_request", "Requested audience not available: orders", recourse.KindPermissionDenied, recourse.RetryAfterSetup, false},
		{400, "invalid_request", "Parameter 'subject_token' supports access tokens only", recourse.KindPermissionDenied, recourse.RetryAfterSetup, false},
		{400, "invalid_request", "requested_token_type is invalid", recourse.KindPermissionDenied, recourse.RetryAfterSetup, false},
		{400, "invalid_target", "", recourse.KindPermissionDenied, recourse.RetryAfterSetup, false},
		{400, "invalid_scope", "", recourse.KindPermissionDenied, recourse.RetryAfterSetup, false},
		{401, "unauthorized_client", "", recourse.KindPermissionDenied, recourse.RetryAfterSetup, false},
		{401, "invalid_client", "Invalid client or token", recourse.KindPermissionDenied, recourse.RetryAfterSetup, false},
		{403, "access_denied", "Client is not within the token audience", recourse.KindPermissionDenied, recourse.RetryAfterSetup, false},
		{503, "", "", recourse.KindUnavailable, recourse.RetrySameCall, false},
		{500, "server_error", "", recourse.KindServerError, recourse.RetrySameCall, false},
		{0, "", "", recourse.KindTimeout, recourse.RetrySameCall, false},
	} {
		t.Run(tt.code+" "+tt.more, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				i := newIssuer(time.Hour)
				if i.slow = nil; tt.status == 0 {
					i.slow = func() time.Duration { return time.Hour }
				}
				i.fails(func(int) (int, string) {
					return tt.status, `{"error":"` + tt.code + `","error_description":"` + tt.more + `"}`
				})
				_, err := manager(t, nil, i).Exchange(t.Context(), exchanging, subject("canary", time.Hour), 0)
				_, ofCaller := errors.AsType[*auth.Refusal](err)
				e := recourse.From(err)
				if e.Kind != tt.kind || e.RetryAdvice() != tt.retry || e.Effect != recourse.EffectNone && !ofCaller || ofCaller != tt.ofCaller ||
					!ofCaller && !strings.Contains(e.Message, "Login") {
					t.Errorf("got %+v, %t", e, ofCaller)
				}
				if said := fmt.Sprint(e.Message, err, e.Cause()); strings.Contains(said, "canary") || strings.Contains(said, "hunter2") {
					t.Errorf("a secret is shown: %s", said)
				}
			})
		})
	}
}

// A call without a token is not made: nobody stands behind it.
func TestExchangeOfNothing(t *testing.T) {
	t.Parallel()
	_, err := manager(t, nil, newIssuer(time.Hour)).Exchange(t.Context(), exchanging, connection.Subject{}, 0)
	wantKind(t, err, recourse.KindUnauthenticated)
}

// A real provider exchanges a token that it has issued, and refuses any other.
func TestExchangeAtARealProvider(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.provider.ClientID = "agent"
	b := s.browser()
	link := s.invite(s.provider, ada)
	b.submit(link, "step", "enter", "key", "ada's key")
	b.signIn(b.submit(link)).wants(t, http.StatusOK, "John Deere is connected")
	own, err := s.Credential(t.Context(), s.provider, "ada")
	if err != nil {
		t.Fatal(err)
	}
	p := *s.provider
	p.Flow, p.ClientID, p.Scopes = connection.TokenExchange, "recourse", []string{"openid"}
	brought := strings.TrimPrefix(own.Value, "Bearer ")
	c, err := s.Exchange(t.Context(), &p, subject(brought, time.Hour), 0)
	if err != nil || len(c.Value) < 40 || c.Value == own.Value {
		t.Errorf("got %+v, %v", c, err)
	}
	_, err = s.Exchange(t.Context(), &p, subject("made-up", time.Hour), 0)
	wantKind(t, err, recourse.KindUnauthenticated)
}
