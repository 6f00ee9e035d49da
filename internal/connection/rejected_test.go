package connection_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoursehq/recourse"
	"github.com/recoursehq/recourse/internal/connection"
)

// A token that a server refuses and that cannot be refreshed ends the connection, for the reason that the provider
// gives.
func TestRejectedForGood(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]recourse.Kind{"invalid_grant": recourse.KindTokenRevoked, "expired_token": recourse.KindTokenExpired} {
		synctest.Test(t, func(t *testing.T) {
			i := newIssuer(time.Hour)
			m := manager(t, open(t, t.TempDir()), i)
			connect(t, m, i, "ada")
			c, err := m.Credential(t.Context(), deere, "ada")
			if err != nil {
				t.Fatal(err)
			}
			i.fails(func(int) (int, string) { return http.StatusBadRequest, `{"error":"` + code + `"}` })
			wantKind(t, m.Rejected(t.Context(), deere, "ada", c.Version), want)
		})
	}
}

// A token that a server refuses is refreshed once; a new token is not.
func TestRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(time.Hour)
		m := manager(t, open(t, t.TempDir()), i)
		connect(t, m, i, "ada")
		time.Sleep(10 * time.Minute)
		c, err := m.Credential(t.Context(), deere, "ada")
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Rejected(t.Context(), deere, "ada", c.Version); err != nil {
			t.Fatal(err)
		}
		if err := m.Rejected(t.Context(), deere, "ada", c.Version); err != nil { // another caller with the old token
			t.Fatal(err)
		}
		c, err = m.Credential(t.Context(), deere, "ada")
		if err != nil || c.Value != "Bearer access-ada-2" {
			t.Fatalf("%+v, %v", c, err)
		}
		wantKind(t, m.Rejected(t.Context(), deere, "ada", c.Version), recourse.KindTokenExpired)
		if i.asked() != 1 {
			t.Errorf("%d refreshes", i.asked())
		}
		connect(t, m, i, "ada") // a new account is refreshed once, too
		if c, err = m.Credential(t.Context(), deere, "ada"); err != nil {
			t.Fatal(err)
		}
		if err := m.Rejected(t.Context(), deere, "ada", c.Version); err != nil || i.asked() != 2 {
			t.Errorf("%d refreshes, %v", i.asked(), err)
		}
	})
}

// Calls that are refused at the same time share one refresh, and all of them can be repeated.
func TestRejectedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(time.Hour)
		m := manager(t, open(t, t.TempDir()), i)
		connect(t, m, i, "ada")
		c, err := m.Credential(t.Context(), deere, "ada")
		if err != nil {
			t.Fatal(err)
		}
		i.slow = func() time.Duration { return time.Second }
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				if err := m.Rejected(t.Context(), deere, "ada", c.Version); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if i.asked() != 1 {
			t.Errorf("%d refreshes", i.asked())
		}
	})
}

// While the provider refreshes nothing, for whatever reason, that is what is told, however often; once it does again, the call goes on.
func TestRejectedWhileNothingIsRefreshed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		status     int
		kind       recourse.Kind
		retry      recourse.Retry
	}{
		{"down", "", http.StatusServiceUnavailable, recourse.KindUnavailable, recourse.RetrySameCall},
		{"in trouble for now", `{"error":"temporarily_unavailable"}`, http.StatusBadRequest, recourse.KindUnavailable, recourse.RetrySameCall},
		{"a wrong client secret", `{"error":"invalid_client"}`, http.StatusUnauthorized, recourse.KindPermissionDenied, recourse.RetryAfterSetup},
		{"a wrong request", `{"error":"invalid_request"}`, http.StatusBadRequest, recourse.KindPermissionDenied, recourse.RetryAfterSetup},
	} {
		synctest.Test(t, func(t *testing.T) {
			i := newIssuer(time.Hour)
			m := manager(t, open(t, t.TempDir()), i)
			connect(t, m, i, "ada")
			c, err := m.Credential(t.Context(), deere, "ada")
			if err != nil {
				t.Fatal(err)
			}
			i.fails(func(int) (int, string) { return tt.status, tt.body })
			for range 4 {
				err := m.Rejected(t.Context(), deere, "ada", c.Version)
				wantKind(t, err, tt.kind)
				if e := recourse.From(err); e.RetryAdvice() != tt.retry {
					t.Errorf("%s: got %s, want %s", tt.name, e.RetryAdvice(), tt.retry)
				}
				time.Sleep(4 * time.Second)
			}
			i.fails(nil)
			time.Sleep(20 * time.Second)
			if err := m.Rejected(t.Context(), deere, "ada", c.Version); err != nil {
				t.Errorf("%s: the token is refreshed: %v", tt.name, err)
			}
		})
	}
}

// No person can renew what the gateway itself presents: the refusal is the operator's matter.
func TestRejectedOwnCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(time.Hour)
		m := manager(t, open(t, t.TempDir()), i)
		own := *deere
		own.Name, own.Flow = "own", connection.ClientCredentials
		c, err := m.Credential(t.Context(), &own, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Rejected(t.Context(), &own, "", c.Version); err != nil {
			t.Fatal(err)
		}
		if c, err = m.Credential(t.Context(), &own, ""); err != nil {
			t.Fatal(err)
		}
		err = m.Rejected(t.Context(), &own, "", c.Version)
		wantKind(t, err, recourse.KindPermissionDenied)
		if e := recourse.From(err); e.RetryAdvice() != recourse.RetryAfterSetup || e.Origin != recourse.OriginGateway || e.Upstream.Status != http.StatusUnauthorized {
			t.Errorf("got %+v", e)
		}
	})
}
